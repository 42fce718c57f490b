-- Sales by draw: what is announced, who entered, and the order in which entries win.
ALTER TABLE sales ADD COLUMN mode TEXT NOT NULL DEFAULT 'rush' CHECK (mode IN ('rush', 'draw'));
-- Of a draw: how long winners have to pay, how long entries are reviewed after the closing, and where the public randomness
-- comes from; NULL: the shop's secret alone decides.
ALTER TABLE sales ADD COLUMN draw_window_s BIGINT;
ALTER TABLE sales ADD COLUMN draw_review_s BIGINT;
ALTER TABLE sales ADD COLUMN draw_beacon TEXT;

CREATE TABLE draws (
    sale_id BIGINT PRIMARY KEY REFERENCES sales (id),
    state TEXT NOT NULL,
    -- 32 random bytes in hexadecimal digits; public once the draw was held.
    secret TEXT NOT NULL,
    -- As announced: these bytes go into the seed.
    rules TEXT NOT NULL,
    -- When the list of entries is locked.
    lock_at_ms BIGINT NOT NULL,
    locked_at_ms BIGINT,
    -- The root of the locked list, and its length.
    root TEXT,
    entries BIGINT,
    -- Of the public round, in hexadecimal digits; NULL until it is known.
    signature TEXT,
    drawn_at_ms BIGINT,
    -- The public document that proves the draw, as JSON.
    proof TEXT,
    -- The first rank that was offered nothing yet.
    next_rank BIGINT NOT NULL DEFAULT 0
);
-- Draws with work to do.
CREATE INDEX draws_unsettled ON draws (sale_id) WHERE state IN ('announced', 'locked', 'drawn');

CREATE TABLE draw_entries (
    sale_id BIGINT NOT NULL REFERENCES draws (sale_id),
    user_id TEXT NOT NULL,
    -- 16 random bytes in hexadecimal digits: the entry's name in the public list.
    entry TEXT NOT NULL,
    entered_at_ms BIGINT NOT NULL,
    state TEXT NOT NULL,
    -- Why it was excluded or passed over; its owner reads it.
    reason TEXT,
    rank BIGINT,
    order_id TEXT,
    PRIMARY KEY (sale_id, user_id)
);
CREATE UNIQUE INDEX draw_entries_list ON draw_entries (sale_id, entry);
CREATE INDEX draw_entries_by_rank ON draw_entries (sale_id, rank) WHERE rank IS NOT NULL;
CREATE INDEX draw_entries_by_user ON draw_entries (user_id);
-- Few of many: they are counted for the public.
CREATE INDEX draw_entries_excluded ON draw_entries (sale_id, reason) WHERE state = 'excluded';
