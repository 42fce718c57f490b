-- Names the server process that has a packet's keys.
-- KEYS 1 packet hash
-- Returns its run id
return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
