-- Gives places of a waiting room to a batch of accounts, one to each. Every check precedes the first write.
-- KEYS 1 hash of the list, 2 places by account, 3 stream of places that are not in the database yet
-- ARGV 1 "take", or "keep" to repeat places that this master may have forgotten; then per account: account id, and the entry,
--      of a repeated place "entry:time"
-- Returns {} when no places are given here: the list is not open, or this server may have lost places; otherwise {epoch,
--      replication id, time in ms} when all places are new, otherwise also per account 1, or "entry:time" of the place
--      that it has
local FIRST = 2
local list = redis.call('HMGET', KEYS[1], 'Epoch', 'Server', 'Opens', 'Closes')
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if list[2] ~= server then
  return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] == 'take' and (now < tonumber(list[3]) or now >= tonumber(list[4])) then
  return {}
end
local users = {}
for i = FIRST, #ARGV, 2 do
  users[#users + 1] = ARGV[i]
end
local known = redis.call('HMGET', KEYS[2], unpack(users))
local suffix = ARGV[1] == 'take' and string.format(':%d', now) or ''
-- `given` is account, entry, account, entry, … of the new places. The second claim of an account in a batch finds the first.
local answer, given, of_user = { tonumber(list[1]), server, now }, {}, {}
for n, user in ipairs(users) do
  local entry = known[n] or of_user[user]
  if not entry then
    of_user[user] = ARGV[FIRST + 2 * n - 1] .. suffix
    given[#given + 1] = user
    given[#given + 1] = of_user[user]
  end
  answer[n + 3] = entry or 1
end
if #given > 0 then
  redis.call('HSET', KEYS[2], unpack(given))
  redis.call('XADD', KEYS[3], '*', 'places', table.concat(given, ' '))
end
if #given == 2 * #users then
  return { answer[1], server, now }
end
return answer
