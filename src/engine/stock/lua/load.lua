-- Loads a sale with the holders that were staged under the loading key.
-- KEYS 1 sale hash, 2 holders hash, 3 loading hash, 4 start flag, 5 count, 6 access counter
-- ARGV 1 epoch, 2 version, 3 state, 4 opens in ms or "", 5 closes in ms or "", 6 total, 7 limit, 8 booked,
--      9 start flag (0 or 1), 10 "open", or "closed" until grants have been replayed, 11 number of staged holders,
--      12 units that are kept for accounts on the waitlist; for a bucket of a split sale, where 6 is its share: 13 fence,
--      14 total of the sale
-- Returns 0 when the sale is already loaded, -1 when the loading hash is incomplete, otherwise 1
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[3])
  return 0
end
if redis.call('HLEN', KEYS[3]) ~= tonumber(ARGV[11]) then
  return -1
end
redis.call('UNLINK', KEYS[2])
if redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('RENAME', KEYS[3], KEYS[2])
  -- The staging key expires; the holders must not.
  redis.call('PERSIST', KEYS[2])
end
local server = ARGV[10] == 'open' and string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
redis.call('HSET', KEYS[1], 'Server', server, 'Epoch', ARGV[1], 'Version', ARGV[2], 'State', ARGV[3], 'Opens', ARGV[4],
  'Closes', ARGV[5], 'Total', ARGV[6], 'Limit', ARGV[7], 'Booked', ARGV[8], 'Waited', ARGV[12],
  -- Higher than in any earlier epoch, so that lists of winners from before the load count as stale.
  -- A double is exact up to 2^53: nine million epochs of up to 10^9 grants each.
  'Granted', string.format('%d', ARGV[1] * 1e9 + ARGV[8]))
if ARGV[13] then
  redis.call('HSET', KEYS[1], 'Fence', ARGV[13], 'Whole', ARGV[14], 'More', '1')
end
redis.call('SET', KEYS[4], ARGV[9])
redis.call('SET', KEYS[5], ARGV[6])
redis.call('SET', KEYS[6], ARGV[8])
return 1
