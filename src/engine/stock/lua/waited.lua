-- Marks whether accounts wait for units of a bucket. If so, reserve.lua grants units to these accounts only.
-- KEYS 1 sale hash
-- ARGV 1 "wait", or "none" if no account waits; for "none": 2 the mark as it was read before the database was asked
-- Returns 1 if the mark was set or removed; 0 if the bucket is not loaded, or if it was marked again since the mark was
--      read
-- Every "wait" makes a new mark, so a "none" that is based on an older answer of the database changes nothing.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
if ARGV[1] == 'wait' then
  redis.call('HINCRBY', KEYS[1], 'Waits', 1)
  redis.call('HSET', KEYS[1], 'Waited', '1')
  return 1
end
local mark = redis.call('HMGET', KEYS[1], 'Epoch', 'Waits')
if mark[1] .. ':' .. (mark[2] or '0') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'Waited', '0')
return 1
