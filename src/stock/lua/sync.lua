-- Resets the access counter to what is booked, so that the gate admits as many requests again as there are units left.
-- KEYS 1 sale hash, 2 access counter
-- Returns 0 when the sale is not loaded, otherwise 1
local booked = redis.call('HGET', KEYS[1], 'Booked')
if not booked then
  return 0
end
if redis.call('GET', KEYS[2]) ~= booked then
  redis.call('SET', KEYS[2], booked)
end
return 1
