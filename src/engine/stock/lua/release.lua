-- Releases holds that still belong to the given orders, and resets the access counter so that the gate admits more
-- requests. Releasing a hold twice changes nothing.
-- KEYS 1 sale hash, 2 holders hash, 3 access counter
-- ARGV per hold: user id, order id
-- Returns the units released, or -1 when the sale is not loaded
if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
local units = 0
for i = 1, #ARGV, 2 do
  local hold = redis.call('HGET', KEYS[2], ARGV[i])
  if hold then
    local order, quantity = string.match(hold, '^([^:]+):(%d+)$')
    if order == ARGV[i + 1] then
      redis.call('HDEL', KEYS[2], ARGV[i])
      units = units + quantity
    end
  end
end
if units > 0 then
  redis.call('SET', KEYS[3], redis.call('HINCRBY', KEYS[1], 'Booked', -units))
end
return units
