-- Repairs single holds that a comparison with the database found wrong. Checks each hold again first.
-- KEYS 1 sale hash, 2 holders hash, 3 outbox stream
-- ARGV 1 epoch of the comparison; then per hold: action, user id, "order id:quantity", quantity, where action is
--      "hold" (add a hold for a live order of the database that has none) or
--      "send" (append a hold to the outbox that has neither an order nor an outbox entry) or
--      "units" (give the hold of this order this quantity); or action "recount", number of holds, units booked, sum of
--      the holds (set the units booked to this sum, if the first two are still right)
-- Returns the number of holds repaired, or -1 when the epoch has changed
if redis.call('HGET', KEYS[1], 'Epoch') ~= ARGV[1] then
  return -1
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mended = 0
for i = 2, #ARGV, 4 do
  local what, user, wish, quantity = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local hold = redis.call('HGET', KEYS[2], user)
  if what == 'hold' and not hold then
    redis.call('HSET', KEYS[2], user, wish)
    redis.call('HINCRBY', KEYS[1], 'Booked', quantity)
    redis.call('HINCRBY', KEYS[1], 'Granted', quantity)
    mended = mended + 1
  elseif what == 'send' and hold == wish then
    redis.call('XADD', KEYS[3], '*', 'at', string.format('%d', now), 'orders', user .. ' ' .. wish)
    mended = mended + 1
  elseif what == 'units' and hold then
    local order, units = string.match(hold, '^([^:]+):(%d+)$')
    if order and units ~= quantity and order == string.match(wish, '^[^:]+') then
      redis.call('HSET', KEYS[2], user, wish)
      redis.call('HINCRBY', KEYS[1], 'Booked', quantity - units)
      mended = mended + 1
    end
  elseif what == 'recount' and redis.call('HLEN', KEYS[2]) == tonumber(user) and
    redis.call('HGET', KEYS[1], 'Booked') == wish then
    redis.call('HSET', KEYS[1], 'Booked', quantity)
    mended = mended + 1
  end
end
return mended
