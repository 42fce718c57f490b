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
