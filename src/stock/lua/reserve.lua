-- Reserves units of one sale for a batch of users. Everything is checked before the first write.
-- KEYS 1 sale hash, 2 holders hash, 3 outbox stream, 4 start flag, 5 access counter
-- ARGV 1 "claim", or "keep" to repeat what was granted before this master forgot it; then per user: user id, order id,
--      quantity
-- Returns {} when the sale is not loaded; otherwise {epoch, now in ms, then per user:
--      1 granted, 0 sold out, -1 over the limit, -2 not open, -3 ended, or "order id:quantity" of the hold there is}
-- A kept promise is granted whatever the stock and the window say: the database has the last word on it.
local sale = redis.call('HMGET', KEYS[1], 'State', 'Opens', 'Closes', 'Total', 'Booked', 'Limit', 'Epoch')
if not sale[1] then
  return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local keep = ARGV[1] == 'keep'

local closed
if not keep then
  if sale[1] == 'ended' or (sale[3] ~= '' and now >= tonumber(sale[3])) then
    closed = -3
  elseif sale[1] ~= 'live' or redis.call('GET', KEYS[4]) ~= '1' or (sale[2] ~= '' and now < tonumber(sale[2])) then
    closed = -2
  end
end

local users = {}
for i = 2, #ARGV, 3 do
  users[#users + 1] = ARGV[i]
end
local held = redis.call('HMGET', KEYS[2], unpack(users))

local left = sale[4] - sale[5]
local limit = tonumber(sale[6])
local granted, holders, entry, units = {}, {}, {}, 0
local answer = { tonumber(sale[7]), now }
for n = 1, #users do
  local user, order, quantity = ARGV[3 * n - 1], ARGV[3 * n], tonumber(ARGV[3 * n + 1])
  local hold = held[n] or granted[user]
  local decision
  if hold then
    decision = hold
  elseif closed then
    decision = closed
  elseif quantity > limit and not keep then
    decision = -1
  elseif quantity > left - units and not keep then
    decision = 0
  else
    decision = 1
    units = units + quantity
    granted[user] = order .. ':' .. quantity
    holders[#holders + 1] = user
    holders[#holders + 1] = granted[user]
    entry[#entry + 1] = user .. ' ' .. order .. ' ' .. quantity
  end
  answer[n + 2] = decision
end

if units > 0 then
  redis.call('HSET', KEYS[2], unpack(holders))
  redis.call('HINCRBY', KEYS[1], 'Booked', units)
  redis.call('HINCRBY', KEYS[1], 'Granted', units)
  redis.call('XADD', KEYS[3], '*', 'at', string.format('%.0f', now), 'orders', table.concat(entry, '\n'))
end
if not closed then
  redis.call('INCRBY', KEYS[5], #users)
end
return answer
