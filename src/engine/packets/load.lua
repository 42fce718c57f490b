-- Creates a bucket of a packet from the shares and users under the loading keys.
-- KEYS 1 packet hash, 2 unclaimed list, 3 users hash, 4 loading list, 5 loading users
-- ARGV 1 epoch, 2 opens in ms, 3 expires in ms, 4 "1" if this server may grant shares at once, 5 number of staged shares,
--      6 number of staged users
-- Returns 0 when the bucket exists already, -1 when a loading key is incomplete, otherwise 1
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[4], KEYS[5])
  return 0
end
if redis.call('LLEN', KEYS[4]) ~= tonumber(ARGV[5]) or redis.call('HLEN', KEYS[5]) ~= tonumber(ARGV[6]) then
  return -1
end
redis.call('UNLINK', KEYS[2], KEYS[3])
for n = 2, 3 do
  if redis.call('EXISTS', KEYS[n + 2]) == 1 then
    redis.call('RENAME', KEYS[n + 2], KEYS[n])
    redis.call('PERSIST', KEYS[n])
  end
end
local server = ARGV[4] == '1' and string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
redis.call('HSET', KEYS[1], 'State', 'open', 'Epoch', ARGV[1], 'Opens', ARGV[2], 'Expires', ARGV[3], 'Server', server)
return 1
