-- Lowers the total of a sale that is not split, unless more units are booked.
-- KEYS 1 sale hash, 2 count
-- ARGV 1 version, 2 total
-- Returns 1 when the total is lowered, 0 when more units are booked; -1 when the sale is not loaded, does not have the
--      version before this one, or this server may have lost grants that have not been replayed. Only 1 changes anything.
local sale = redis.call('HMGET', KEYS[1], 'Version', 'Booked', 'Server')
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if not sale[1] or sale[3] ~= server or tonumber(sale[1]) ~= ARGV[1] - 1 then
  return -1
end
if tonumber(sale[2]) > tonumber(ARGV[2]) then
  return 0
end
redis.call('HSET', KEYS[1], 'Version', ARGV[1], 'Total', ARGV[2])
redis.call('SET', KEYS[2], ARGV[2])
return 1
