-- Notes whether accounts wait for units of a bucket. While they do, reserve.lua grants units to them only.
-- KEYS 1 sale hash
-- ARGV 1 "wait", or "none" when no account waits; for "none": 2 the mark as it was read before the database was asked
-- Returns 1 when it is noted, otherwise 0: the bucket is not loaded, or accounts were noted to wait since the mark was read
-- Every "wait" makes a new mark, so that an answer of the database that is older than the last of them changes nothing.
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
