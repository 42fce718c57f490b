-- Sets the share of a bucket of a split sale, and whether other buckets or the pool have units.
-- KEYS 1 bucket hash, 2 count
-- ARGV 1 fence, 2 share, 3 "1" when there are units elsewhere, otherwise "0"
-- Returns {} when the bucket is not loaded, otherwise {share, booked, fence} after the call
-- An older fence changes nothing. The share never falls below what is booked.
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
