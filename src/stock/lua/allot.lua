-- Gives a bucket of a split sale its share of the units, and says whether there are units elsewhere.
-- KEYS 1 bucket hash, 2 count
-- ARGV 1 fence, 2 share, 3 "1" when units may come from elsewhere, "0" when there are none
-- Returns {} when the bucket is not loaded, otherwise {its share, booked, fence} as they are now
-- A word with an older fence changes nothing. What is held cannot be taken away: then the share is what is held.
local sale = redis.call('HMGET', KEYS[1], 'Total', 'Booked', 'Fence')
if not sale[3] then
  return {}
end
local total, booked, fence = tonumber(sale[1]), tonumber(sale[2]), tonumber(sale[3])
if fence > tonumber(ARGV[1]) then
  return { total, booked, fence }
end
if fence < tonumber(ARGV[1]) then
  local share = math.max(tonumber(ARGV[2]), booked)
  if share > total then
    redis.call('HSET', KEYS[1], 'Missed', 0)
  end
  total, fence = share, tonumber(ARGV[1])
  redis.call('HSET', KEYS[1], 'Total', share, 'Fence', ARGV[1])
  redis.call('SET', KEYS[2], share)
end
redis.call('HSET', KEYS[1], 'More', ARGV[3])
if ARGV[3] == '0' then
  redis.call('HSET', KEYS[1], 'Missed', 0)
end
return { total, booked, fence }
