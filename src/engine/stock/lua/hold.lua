-- Reads the hold of one user.
-- KEYS 1 sale hash, 2 holders hash
-- ARGV 1 user id
-- Returns {} when the sale is not loaded, otherwise {1 when this server has all grants or 0 when some may have to be
--      replayed, "order id:quantity" or nil}
local server = redis.call('HGET', KEYS[1], 'Server')
if not server and redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local present = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
return { server == present and 1 or 0, redis.call('HGET', KEYS[2], ARGV[1]) }
