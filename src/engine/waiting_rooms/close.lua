-- Closes the list of a waiting room, and deletes its keys once the database has every place.
-- KEYS 1 hash of the list, 2 places by account, 3 stream of places that are not in the database yet
-- ARGV none
-- Returns {entries left in the stream, 1 if no place is missing, otherwise 0}. No place is missing if the server that
--      opened the list also closed it and still has it.
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
local list = redis.call('HMGET', KEYS[1], 'Server', 'Closed')
if list[1] == server then
  redis.call('HSET', KEYS[1], 'Closed', server)
end
redis.call('HDEL', KEYS[1], 'Server')
local left = redis.call('XLEN', KEYS[3])
if left == 0 then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
end
return { left, (list[1] == server or list[2] == server) and 1 or 0 }
