-- Replays grants that this master may have lost, whether or not the packet is open.
-- KEYS 1 packet hash, 2 unclaimed list, 3 users hash, 4 outbox stream
-- ARGV per user: user id, "index:amount" of their share
-- Returns -1 when the packet is not loaded, otherwise the number of grants that were lost and have been restored
if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
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
return #pairs / 2
