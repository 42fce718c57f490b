-- Sets one field of a loaded packet.
-- KEYS 1 packet hash
-- ARGV 1 epoch that the caller read, 2 field, 3 value
-- Returns 0 when the packet is not loaded or has another epoch, otherwise 1
if redis.call('HGET', KEYS[1], 'Epoch') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1
