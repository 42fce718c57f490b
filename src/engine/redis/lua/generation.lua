-- Reads the generation of a bucket.
-- KEYS 1 hash of the bucket
-- ARGV none
-- Returns {} when the bucket is not loaded, otherwise {epoch, replication id that may grant or "", own replication id}
local loaded = redis.call('HMGET', KEYS[1], 'Epoch', 'Server')
if not loaded[1] then
  return {}
end
return { loaded[1], loaded[2] or '', string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') }
