-- What is looked at again and again is found without reading everything that ever was.

-- Data control looks at packets that are over or were never loaded, and at a few of the others.
CREATE INDEX packets_open_ids ON packets (id) WHERE state = 'open';
CREATE INDEX packets_claimed_up ON packets (id) WHERE state = 'open' AND claimed >= count;
CREATE INDEX packets_unloaded ON packets (id) WHERE state = 'open' AND epoch = 0;
-- The bound of open packets of one giver.
CREATE INDEX packets_open_by_giver ON packets (giver) WHERE state = 'open';
-- Lists, newest first.
CREATE INDEX packets_by_time ON packets (created_at_ms, id);
CREATE INDEX audit_log_by_subject ON audit_log (subject, id);

-- Rows that are deleted when they are old.
CREATE INDEX webhook_events_by_age ON webhook_events (received_at_ms);
CREATE INDEX sandbox_payments_unused ON sandbox_payments (id) WHERE status <> 'captured';
