-- Records that a process has replayed its grants to the present generation of a bucket.
-- KEYS 1 hash of the bucket, 2 hash of announcements
-- ARGV 1 epoch and 2 replication id of the generation, 3 name of the process
-- Returns 0 when the generation is not the present one, otherwise 1
if redis.call('HGET', KEYS[1], 'Epoch') ~= ARGV[1]
  or string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1] .. ':' .. ARGV[2])
-- Announcements matter for seconds. The time is long enough for an operator to look at them.
redis.call('EXPIRE', KEYS[2], 600)
return 1
