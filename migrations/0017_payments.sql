-- Payments end with their orders, and what a provider reports against all expectation is kept for staff.

-- When the shop asks the provider to close the payment, or asks again. NULL: it is captured or closed, or an older version
-- began it.
ALTER TABLE payments ADD COLUMN close_at_ms BIGINT;
-- Since then the provider takes no money for it.
ALTER TABLE payments ADD COLUMN closed_at_ms BIGINT;
-- The provider captured another amount than it was asked for. Its money pays for nothing.
ALTER TABLE payments ADD COLUMN mismatched_at_ms BIGINT;
CREATE INDEX payments_to_close ON payments (close_at_ms, id) WHERE close_at_ms IS NOT NULL;

-- From then on the sandbox takes no money for the payment. NULL: of an older version, without an end.
ALTER TABLE sandbox_payments ADD COLUMN expires_at_ms BIGINT;

-- What a provider reports and the shop cannot settle by itself.
CREATE TABLE payment_cases (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    -- As reported; it need not exist.
    payment_id TEXT NOT NULL,
    -- The reported amount.
    amount BIGINT,
    currency TEXT,
    -- The event, and what the provider says about it.
    details TEXT NOT NULL,
    opened_at_ms BIGINT NOT NULL,
    settled_at_ms BIGINT,
    -- The member of the staff; empty when the money was refunded.
    settled_by TEXT,
    note TEXT
);
-- A report that is repeated opens no second case.
CREATE UNIQUE INDEX payment_cases_one ON payment_cases (payment_id, kind, details) WHERE settled_at_ms IS NULL;
CREATE INDEX payment_cases_open ON payment_cases (id) WHERE settled_at_ms IS NULL;
