-- Reserves units of one bucket of a sale for a batch of users. Every check precedes the first write.
-- KEYS 1 sale hash, 2 holders hash, 3 outbox stream, 4 start flag, 5 access counter
-- ARGV 1 "claim", "offer" for accounts whose turn has come on the waitlist, or "keep" to replay grants that this master may
--      have forgotten; 2 units of all claims, or 0 when a user
--      occurs twice; 3 the largest quantity of one claim; then per user: user id, "order id:quantity"
-- Returns {} when the sale is not loaded, or this server may have lost grants that have not been replayed; {epoch,
--      replication id} when every claim was granted; otherwise {epoch, replication id, then per user: 1 granted, 0 sold
--      out, -1 over the limit, -2 not open, -3 ended, -4 none left here but elsewhere, or "order id:quantity" of the user's
--      existing hold}
-- `Waited` units are kept for accounts on the waitlist: claims of other accounts are answered as sold out, if no more are
-- left. A replayed grant is granted without checking stock, limit or window. The database has the final say. If its user holds units of another order, the grant
-- goes to the outbox only, so that its order gets an end that the user can see.
local FIRST = 4
local sale = redis.call('HMGET', KEYS[1], 'State', 'Opens', 'Closes', 'Total', 'Booked', 'Limit', 'Epoch', 'More', 'Granted',
  'Server', 'Waited')
local keep = ARGV[1] == 'keep'
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if not sale[1] or (sale[10] ~= server and not keep) then
  return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local epoch, left, limit = tonumber(sale[7]), sale[4] - sale[5], tonumber(sale[6])
-- A split sale may have units in other buckets. The allotter reads from `Missed` how many claims found none here.
local none_left = sale[8] == '1' and -4 or 0
local kept = tonumber(sale[11]) or 0
if kept > 0 and ARGV[1] == 'claim' then
  left, none_left = math.max(left - kept, 0), 0
end

local closed
if not keep then
  if sale[1] == 'ended' or (sale[3] ~= '' and now >= tonumber(sale[3])) then
    closed = -3
  elseif sale[1] ~= 'live' or redis.call('GET', KEYS[4]) ~= '1' or (sale[2] ~= '' and now < tonumber(sale[2])) then
    closed = -2
  end
end

local users, count = {}, 0
for i = FIRST, #ARGV, 2 do
  count = count + 1
  users[count] = ARGV[i]
end
local held = redis.call('HMGET', KEYS[2], unpack(users))

-- `words` is a list of user, wish, user, wish, …, used from the index `from` on.
local function send(words, from)
  redis.call('XADD', KEYS[3], '*', 'at', string.format('%d', now), 'orders', table.concat(words, ' ', from))
end

local function grant(words, from, units)
  redis.call('HSET', KEYS[2], unpack(words, from))
  redis.call('HSET', KEYS[1], 'Booked', sale[5] + units, 'Granted', sale[9] + units)
  send(words, from)
end

-- Fast path: no user has a hold and the units suffice for all claims.
local function all_fit()
  local units = tonumber(ARGV[2])
  if units == 0 or not (keep or (not closed and units <= left and tonumber(ARGV[3]) <= limit)) then
    return false
  end
  for n = 1, count do
    if held[n] then
      return false
    end
  end
  grant(ARGV, FIRST, units)
  return true
end

-- Slow path: decides claim by claim. The second claim of a user in a batch finds the hold of the first.
local function one_by_one(answer)
  local granted, holders, displaced, units, missed = {}, {}, {}, 0, 0
  for n = 1, count do
    local user, wish = users[n], ARGV[FIRST + 2 * n - 1]
    local quantity = tonumber(string.match(wish, ':(%d+)$'))
    local decision = held[n] or granted[user]
    if decision and keep and decision ~= wish then
      displaced[#displaced + 1] = user
      displaced[#displaced + 1] = wish
    elseif not decision then
      if closed then
        decision = closed
      elseif quantity > limit and not keep then
        decision = -1
      elseif quantity > left - units and not keep then
        decision = none_left
        missed = missed + 1
      else
        decision = 1
        units = units + quantity
        granted[user] = wish
        holders[#holders + 1] = user
        holders[#holders + 1] = wish
      end
    end
    answer[n + 2] = decision
  end
  if units > 0 then
    grant(holders, 1, units)
  end
  if #displaced > 0 then
    send(displaced, 1)
  end
  if missed > 0 and none_left ~= 0 then
    redis.call('HINCRBY', KEYS[1], 'Missed', missed)
  end
end

local answer = { epoch, server }
if not all_fit() then
  one_by_one(answer)
end
if not closed and not keep then
  redis.call('INCRBY', KEYS[5], count)
end
return answer
