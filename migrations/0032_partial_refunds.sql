-- Money that goes back for a paid order while the order stays paid and its goods stay sold.
CREATE TABLE partial_refunds (
    id TEXT PRIMARY KEY,
    payment_id TEXT NOT NULL REFERENCES payments (id),
    order_id TEXT NOT NULL REFERENCES orders (id),
    -- Who moves the money: the provider of the payment, or `wallet` when it goes into the wallet of the order's owner.
    via TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    requested_at_ms BIGINT NOT NULL,
    -- The member of the staff, and the reason that only staff read.
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    -- What the shop tells the owner of the order.
    message TEXT,
    attempts BIGINT NOT NULL DEFAULT 0,
    next_attempt_at_ms BIGINT NOT NULL DEFAULT 0,
    -- NULL: it is under way.
    refunded_at_ms BIGINT
);
CREATE INDEX partial_refunds_by_order ON partial_refunds (order_id, id);
CREATE INDEX partial_refunds_by_payment ON partial_refunds (payment_id);
CREATE INDEX partial_refunds_due ON partial_refunds (next_attempt_at_ms, id) WHERE refunded_at_ms IS NULL;
CREATE INDEX partial_refunds_made ON partial_refunds (refunded_at_ms, id) WHERE refunded_at_ms IS NOT NULL;

-- The sum of the payment's partial refunds, made or under way. What is left of the amount can still be refunded.
ALTER TABLE payments ADD COLUMN refunded_in_parts BIGINT NOT NULL DEFAULT 0
    CHECK (refunded_in_parts >= 0 AND refunded_in_parts <= amount);

-- The refund that a case is about. NULL: the payment itself, or its whole refund.
ALTER TABLE payment_cases ADD COLUMN refund_id TEXT;
DROP INDEX payment_cases_one;
CREATE UNIQUE INDEX payment_cases_one ON payment_cases (payment_id, kind, details, COALESCE(refund_id, ''))
    WHERE settled_at_ms IS NULL;

-- What the sandbox gave back of a payment in refunds of an amount, and those refunds, so that none is made twice.
ALTER TABLE sandbox_payments ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
CREATE TABLE sandbox_refunds (
    id TEXT PRIMARY KEY,
    payment_id TEXT NOT NULL REFERENCES sandbox_payments (id) ON DELETE CASCADE,
    amount BIGINT NOT NULL
);
CREATE INDEX sandbox_refunds_by_payment ON sandbox_refunds (payment_id);
