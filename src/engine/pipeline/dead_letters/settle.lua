-- Replays or discards one entry of a dead-letter stream.
-- KEYS 1 dead-letter stream, 2 outbox
-- ARGV 1 entry id, 2 "replay" to move the entry back into the outbox, anything else to discard it
-- Returns 1, or 0 when there is no such entry
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
if #found == 0 then return 0 end
if ARGV[2] == 'replay' then redis.call('XADD', KEYS[2], '*', unpack(found[1][2])) end
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
