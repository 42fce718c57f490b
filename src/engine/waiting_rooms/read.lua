-- Reads the list of a waiting room.
-- KEYS 1 hash of the list, 2 places by account
-- ARGV 1 account id, or an empty string
-- Returns {} if Redis gives no places, or this server may have lost some; otherwise {number of places, "entry:time" of
--      the account's place or nil}
local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if redis.call('HGET', KEYS[1], 'Server') ~= server then
  return {}
end
return { redis.call('HLEN', KEYS[2]), redis.call('HGET', KEYS[2], ARGV[1]) }
