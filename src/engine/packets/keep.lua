-- Replays grants that this master may have lost, whether or not the packet is open.
-- KEYS 1 packet hash, 2 unclaimed list, 3 users hash, 4 outbox stream
-- ARGV per user: user id, "index:amount" of their share
-- Returns {} when the packet is not loaded, otherwise {epoch, replication id, number of lost grants that were restored}
local epoch = redis.call('HGET', KEYS[1], 'Epoch')
if not epoch then
  return {}
end
local function index(share)
  return tonumber(string.match(share, '^%d+'))
end
local pairs = {}
for i = 1, #ARGV, 2 do
  local user, share = ARGV[i], ARGV[i + 1]
  if redis.call('HSETNX', KEYS[3], user, share) == 1 then
    -- The list is sorted and shares leave it at its head: a share before the head is not in the list.
    local head = redis.call('LINDEX', KEYS[2], 0)
    if head and index(share) >= index(head) and redis.call('LREM', KEYS[2], 1, share) == 1 then
      pairs[#pairs + 1] = user
      pairs[#pairs + 1] = share
    else
      redis.call('HDEL', KEYS[3], user)
    end
  end
end
if #pairs > 0 then
  local time = redis.call('TIME')
  local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
  redis.call('XADD', KEYS[4], '*', 'at', now, 'claims', table.concat(pairs, ' '))
end
return { tonumber(epoch), string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)'), #pairs / 2 }
