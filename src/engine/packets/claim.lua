-- Gives shares of one bucket of a packet to a batch of users, one each. Everything is checked before the first write.
-- KEYS 1 packet hash, 2 unclaimed list, 3 users hash, 4 outbox stream (also the list of claimed shares)
-- ARGV 1 number of users, or 0 when a user appears twice; then user ids
-- Returns {} when the packet is not loaded or this server may not grant its shares; otherwise per user "index:amount" of a
--      share granted now, "=index:amount" of the share held before, 0 no share left, -1 not open yet, -2 expired or
--      closed; then the replication id and the epoch
local packet = redis.call('HMGET', KEYS[1], 'State', 'Opens', 'Expires', 'Epoch', 'Server')
-- A server with another history may have lost grants: it grants no share until they have been replayed.
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if not packet[1] or packet[5] ~= server then
  return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local closed
if packet[1] ~= 'open' or now >= tonumber(packet[3]) then
  closed = -2
elseif now < tonumber(packet[2]) then
  closed = -1
end
local left = redis.call('LLEN', KEYS[2])
local count = #ARGV - 1
local held = redis.call('HMGET', KEYS[3], unpack(ARGV, 2))

-- `pairs` are user, share, user, share, …
local function give(pairs)
  redis.call('HSET', KEYS[3], unpack(pairs))
  redis.call('XADD', KEYS[4], '*', 'at', string.format('%d', now), 'claims', table.concat(pairs, ' '))
end

-- The common case in a rush: no user has a share yet, and there is a share for each.
local function all_win()
  if closed or tonumber(ARGV[1]) ~= count or left < count then
    return nil
  end
  for n = 1, count do
    if held[n] then
      return nil
    end
  end
  local shares = redis.call('LPOP', KEYS[2], count)
  local pairs = {}
  for n = 1, count do
    pairs[2 * n - 1] = ARGV[n + 1]
    pairs[2 * n] = shares[n]
  end
  give(pairs)
  return shares
end

-- Decides user by user. A user who appears twice in the batch gets the first share again the second time.
local function one_by_one()
  local answer, winners, place = {}, {}, {}
  for n = 1, count do
    local user = ARGV[n + 1]
    if held[n] then
      answer[n] = '=' .. held[n]
    elseif place[user] then
      answer[n] = place[user]
    elseif #winners >= left then
      answer[n] = 0
    elseif closed then
      answer[n] = closed
    else
      winners[#winners + 1] = n
      place[user] = n
    end
  end
  if #winners > 0 then
    local shares = redis.call('LPOP', KEYS[2], #winners)
    local pairs = {}
    for i, n in ipairs(winners) do
      answer[n] = shares[i]
      pairs[2 * i - 1] = ARGV[n + 1]
      pairs[2 * i] = shares[i]
    end
    for n = 1, count do
      local first = place[ARGV[n + 1]]
      if first and first ~= n then
        answer[n] = '=' .. answer[first]
      end
    end
    give(pairs)
  end
  return answer
end

local answer = all_win() or one_by_one()
answer[count + 1] = server
answer[count + 2] = tonumber(packet[4])
return answer
