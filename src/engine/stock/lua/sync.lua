-- Resets the access counter to the booked units, so that the gate admits as many requests again as there are units
-- left. It does so at most once a second by the master's clock, however many processes call it.
-- KEYS 1 sale hash, 2 access counter
-- ARGV none
-- Returns 0 when the sale is not loaded, otherwise 1
local sale = redis.call('HMGET', KEYS[1], 'Booked', 'Synced')
if not sale[1] then
  return 0
end
local second = redis.call('TIME')[1]
if sale[2] ~= second then
  redis.call('HSET', KEYS[1], 'Synced', second)
  if redis.call('GET', KEYS[2]) ~= sale[1] then
    redis.call('SET', KEYS[2], sale[1])
  end
end
return 1
