-- Opens the list of a waiting room ahead of its time, or updates the times of an open list when the sale's plan has
-- changed.
-- KEYS 1 hash of the list, 2 places by account, 3 stream of places that are not in the database yet
-- ARGV 1 the time from which places are given, 2 the time until which they are, 3 the time when the keys expire, all in
--      ms; 4 the epoch to begin with, or an empty string if the database has places that these keys lack
-- Returns 1 if the list is open; 0 if it is not, or if this server may have lost places
-- Once shoppers may join, the database may have given places. So a list that is not open by then stays closed.
local MARGIN_MS = 1000
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
local list = redis.call('HMGET', KEYS[1], 'Epoch', 'Server')
if not list[1] then
  local time = redis.call('TIME')
  if ARGV[4] == '' or time[1] * 1000 + time[2] / 1000 > ARGV[1] - MARGIN_MS then
    return 0
  end
  redis.call('HSET', KEYS[1], 'Epoch', ARGV[4], 'Server', server)
elseif list[2] ~= server then
  return 0
end
redis.call('HSET', KEYS[1], 'Opens', ARGV[1], 'Closes', ARGV[2])
for n = 1, 3 do
  redis.call('PEXPIREAT', KEYS[n], ARGV[3])
end
return 1
