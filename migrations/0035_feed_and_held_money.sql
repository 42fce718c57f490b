-- Which orders a transaction has added or changed, for programs that follow all changes.
CREATE TABLE order_changes (
    -- A UUID of version 7 of the transaction's begin. Nothing looks for it once the row has a position.
    id TEXT NOT NULL,
    -- The place in the feed, given after the commit. NULL: nothing has followed the feed so far yet.
    position BIGINT,
    -- Ids of orders, separated by commas.
    orders TEXT NOT NULL
);
CREATE UNIQUE INDEX order_changes_unnumbered ON order_changes (id) WHERE position IS NULL;
CREATE UNIQUE INDEX order_changes_by_position ON order_changes (position) WHERE position IS NOT NULL;

-- The last position that was given, and the last that was deleted. Its lock serializes both.
CREATE TABLE order_feed (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    numbered BIGINT NOT NULL,
    purged BIGINT NOT NULL
);
INSERT INTO order_feed (id, numbered, purged) VALUES (1, 0, 0);

-- What the provider captured of a payment instead of its amount, and since when: money that the shop holds and that pays for
-- nothing. NULL: nothing was, or an older version was told.
ALTER TABLE payments ADD COLUMN held_amount BIGINT CHECK (held_amount > 0);
ALTER TABLE payments ADD COLUMN held_currency TEXT;
ALTER TABLE payments ADD COLUMN held_at_ms BIGINT;
-- When staff settled its case without a refund: the shop kept it.
ALTER TABLE payments ADD COLUMN kept_at_ms BIGINT;
CREATE INDEX payments_held ON payments (held_at_ms, id) WHERE held_at_ms IS NOT NULL;
CREATE INDEX payments_kept ON payments (kept_at_ms, id) WHERE kept_at_ms IS NOT NULL;
-- Money that is held now came to the books on the first day that is not closed, or later.
UPDATE payments SET
    held_amount = (SELECT amount FROM payment_cases WHERE payment_id = payments.id AND kind = 'mismatched'
        AND settled_at_ms IS NULL ORDER BY id LIMIT 1),
    held_currency = (SELECT currency FROM payment_cases WHERE payment_id = payments.id AND kind = 'mismatched'
        AND settled_at_ms IS NULL ORDER BY id LIMIT 1),
    held_at_ms = CASE WHEN mismatched_at_ms > (SELECT MAX(closed_before_ms) FROM books) THEN mismatched_at_ms
        ELSE (SELECT MAX(closed_before_ms) FROM books) END
    WHERE status IN ('created', 'refund_pending') AND mismatched_at_ms IS NOT NULL
      AND id IN (SELECT payment_id FROM payment_cases WHERE kind = 'mismatched' AND settled_at_ms IS NULL AND amount > 0
        AND currency IS NOT NULL);
