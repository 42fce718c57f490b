-- Identifies the server process that has a packet's keys.
-- KEYS 1 packet hash
-- ARGV none
-- Returns the run id of the process
return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
