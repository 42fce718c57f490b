-- Identifies the history of the server that has a packet's keys.
-- KEYS 1 packet hash
-- ARGV none
-- Returns the replication id
return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
