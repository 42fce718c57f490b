-- Applies a definition to a loaded sale if it is newer than the present one.
-- KEYS 1 sale hash, 2 start flag, 3 count
-- ARGV 1 version, 2 state, 3 opens in ms or "", 4 closes in ms or "", 5 total, 6 limit, 7 start flag (0 or 1),
--      8 "part" for a bucket of a split sale, whose share only allot.lua changes, otherwise "whole"
-- Returns 0 when the sale is not loaded, otherwise 1
local version = redis.call('HGET', KEYS[1], 'Version')
if not version then
  return 0
end
if tonumber(version) < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'Version', ARGV[1], 'State', ARGV[2], 'Opens', ARGV[3], 'Closes', ARGV[4],
    'Limit', ARGV[6])
  redis.call('SET', KEYS[2], ARGV[7])
  if ARGV[8] == 'part' then
    redis.call('HSET', KEYS[1], 'Whole', ARGV[5])
  else
    redis.call('HSET', KEYS[1], 'Total', ARGV[5])
    redis.call('SET', KEYS[3], ARGV[5])
  end
end
return 1
