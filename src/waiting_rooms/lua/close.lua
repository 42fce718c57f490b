-- Closes the list of a waiting room, and deletes its keys once the database has every place.
-- KEYS 1 hash of the list, 2 places by account, 3 stream of places that are not in the database yet
-- ARGV none
-- Returns the entries left in the stream
redis.call('HDEL', KEYS[1], 'Server')
local left = redis.call('XLEN', KEYS[3])
if left == 0 then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
end
return left
