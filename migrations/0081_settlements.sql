-- A provider's list of a day, compared with the shop's books.
CREATE TABLE settlements (
    provider TEXT NOT NULL,
    -- A day of the provider's, such as 2026-11-28.
    day TEXT NOT NULL,
    -- The reading whose lines count. NULL: no comparison has succeeded yet.
    run TEXT,
    settled_at_ms BIGINT,
    -- Sums and fees, as JSON.
    sums TEXT NOT NULL DEFAULT '{}',
    -- Why the last attempt failed. NULL: it succeeded, or there was none.
    problem TEXT,
    attempts BIGINT NOT NULL DEFAULT 0,
    -- NULL: it is settled, and nobody asks for it again.
    next_attempt_at_ms BIGINT,
    PRIMARY KEY (provider, day)
);
CREATE INDEX settlements_by_day ON settlements (day, provider);
CREATE INDEX settlements_due ON settlements (next_attempt_at_ms) WHERE next_attempt_at_ms IS NOT NULL;

-- The lines of bills, so that a payment of one day that is on the bill of the day before is not missed.
CREATE TABLE bill_lines (
    run TEXT NOT NULL,
    -- The provider's own number of the line.
    line TEXT NOT NULL,
    provider TEXT NOT NULL,
    -- The shop's payment, or what the provider has in its place.
    payment_id TEXT NOT NULL,
    -- Empty: the line is a charge.
    refund_id TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    fee BIGINT NOT NULL,
    fee_currency TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (run, line)
);
CREATE INDEX bill_lines_of_run ON bill_lines (run, payment_id);
CREATE INDEX bill_lines_of_payment ON bill_lines (payment_id, refund_id);

-- What differs between a bill and the books. Each difference opened a case.
CREATE TABLE bill_differences (
    provider TEXT NOT NULL,
    day TEXT NOT NULL,
    problem TEXT NOT NULL,
    line TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    refund_id TEXT NOT NULL,
    here BIGINT,
    here_currency TEXT,
    there BIGINT,
    there_currency TEXT,
    case_id TEXT NOT NULL,
    PRIMARY KEY (provider, day, payment_id, refund_id, line, problem)
);
