-- What could not be done is tried again later and later, so that it stands in the way of nothing else: the number of failed
-- attempts, and when the next one is due.
ALTER TABLE releases ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE releases ADD COLUMN next_attempt_at_ms BIGINT NOT NULL DEFAULT 0;
CREATE INDEX releases_due ON releases (next_attempt_at_ms, order_id);

ALTER TABLE payments ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN next_attempt_at_ms BIGINT NOT NULL DEFAULT 0;
DROP INDEX payments_refunds;
CREATE INDEX payments_refunds ON payments (next_attempt_at_ms, id) WHERE status = 'refund_pending';
