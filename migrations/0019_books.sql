-- What the owner of a payment reads about it, and books by period.

-- When the provider stops taking the payment, and where it is made until then. NULL: from a wallet, or of an older version.
ALTER TABLE payments ADD COLUMN expires_at_ms BIGINT;
ALTER TABLE payments ADD COLUMN checkout_url TEXT;

-- Cases that were settled, newest first.
CREATE INDEX payment_cases_settled ON payment_cases (id) WHERE settled_at_ms IS NOT NULL;

-- The journal, and the sums of days.
CREATE INDEX wallet_entries_by_time ON wallet_entries (at_ms, transfer_id, account, amount);
CREATE INDEX payments_captured ON payments (captured_at_ms, id) WHERE captured_at_ms IS NOT NULL;
CREATE INDEX payments_refunded ON payments (refunded_at_ms, id) WHERE refunded_at_ms IS NOT NULL;
-- One row: all days before this time are summed up.
CREATE TABLE books (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    closed_before_ms BIGINT NOT NULL
);
INSERT INTO books (id, closed_before_ms) VALUES (1, 0);
-- What moved on each kind of accounts on a day that is over.
CREATE TABLE book_days (
    -- The beginning of the day in UTC.
    day_ms BIGINT NOT NULL,
    account TEXT NOT NULL,
    currency TEXT NOT NULL,
    debits BIGINT NOT NULL CHECK (debits >= 0),
    credits BIGINT NOT NULL CHECK (credits >= 0),
    PRIMARY KEY (day_ms, account, currency)
);
