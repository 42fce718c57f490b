-- Lets the present server grant from a bucket.
-- KEYS 1 hash of the bucket, 2 hash of announcements
-- ARGV 1 epoch and 2 replication id of the generation
-- Returns 0 when the generation is not the present one, otherwise 1
if redis.call('HGET', KEYS[1], 'Epoch') ~= ARGV[1]
  or string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'Server', ARGV[2])
redis.call('UNLINK', KEYS[2])
return 1
