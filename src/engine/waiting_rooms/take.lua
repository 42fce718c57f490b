-- Gives places in a waiting room to a batch of accounts, one to each. Every check precedes the first write.
-- KEYS 1 hash of the list, 2 places by account, 3 stream of places that are not in the database yet
-- ARGV per account: account id, entry
-- Returns {} if there is no list, or if this server may have lost places. {epoch, replication id, time in ms} if all
--      places are new. Otherwise these three and per account: "entry:time" of the place that it has already, 1 for a new
--      place, 0 if the list opens later, or -1 if it is closed
local list = redis.call('HMGET', KEYS[1], 'Epoch', 'Server', 'Opens', 'Closes', 'Closed')
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if list[2] ~= server and list[5] ~= server then
  return {}
end
-- The answer to an account without a place.
local otherwise = 1
if list[2] ~= server or now >= tonumber(list[4]) then
  otherwise = -1
elseif now < tonumber(list[3]) then
  otherwise = 0
end
local users = {}
for i = 1, #ARGV, 2 do
  users[#users + 1] = ARGV[i]
end
local known = redis.call('HMGET', KEYS[2], unpack(users))
local joined_at = string.format(':%d', now)
-- `given` is account, place, account, place, … of the new places. The second claim of an account in a batch finds the
-- place of the first.
local answer, given, of_user = { tonumber(list[1]), server, now }, {}, {}
for n, user in ipairs(users) do
  local place = known[n] or of_user[user]
  if not place and otherwise == 1 then
    of_user[user] = ARGV[2 * n] .. joined_at
    given[#given + 1] = user
    given[#given + 1] = of_user[user]
  end
  answer[n + 3] = place or otherwise
end
if #given > 0 then
  redis.call('HSET', KEYS[2], unpack(given))
  redis.call('XADD', KEYS[3], '*', 'places', table.concat(given, ' '))
end
if #given == #ARGV then
  return { answer[1], server, now }
end
return answer
