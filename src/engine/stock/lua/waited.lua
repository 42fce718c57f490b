-- Sets how many units of a bucket are kept for accounts that wait for them. reserve.lua grants them to these accounts only.
-- KEYS 1 sale hash
-- ARGV 1 units; 2 "" to keep at least so many, or the mark that was read before the database was asked, to keep exactly
--      so many
-- Returns 1 if the number was set; 0 if the bucket is not loaded, or if it was marked again since the mark was read
-- Keeping more makes a new mark, so an exact number that is based on an older answer of the database changes nothing.
local sale = redis.call('HMGET', KEYS[1], 'Epoch', 'Waits', 'Waited')
if not sale[1] then
  return 0
end
if ARGV[2] ~= '' then
  if sale[1] .. ':' .. (sale[2] or '0') ~= ARGV[2] then
    return 0
  end
  redis.call('HSET', KEYS[1], 'Waited', ARGV[1])
  return 1
end
redis.call('HINCRBY', KEYS[1], 'Waits', 1)
if (tonumber(sale[3]) or 0) < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'Waited', ARGV[1])
end
return 1
