-- A report of the right amount came after one of a wrong amount: the wrong one was a mistake, and its money is not held any
-- more.
ALTER TABLE payments ADD COLUMN unheld_at_ms BIGINT;
CREATE INDEX payments_unheld ON payments (unheld_at_ms, id) WHERE unheld_at_ms IS NOT NULL;
-- Whether a payment was ever disputed.
CREATE INDEX payment_cases_disputed ON payment_cases (payment_id) WHERE kind = 'disputed';
