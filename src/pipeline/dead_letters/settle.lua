-- Deals with one entry of a stream of the dead.
-- KEYS: 1 the stream of the dead, 2 the outbox
-- ARGV: 1 the entry's id, 2 'replay' to move it back into the outbox, anything else to drop it
-- Returns 1, or 0 when there is no such entry.
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
if #found == 0 then return 0 end
if ARGV[2] == 'replay' then redis.call('XADD', KEYS[2], '*', unpack(found[1][2])) end
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
