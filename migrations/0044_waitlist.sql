-- Waitlists of sold-out rushes: who waits for units that come back, and the order in which they are offered.
CREATE TABLE waitlists (
    sale_id BIGINT PRIMARY KEY REFERENCES sales (id),
    -- 32 random bytes in hexadecimal digits: shuffles those who joined within the same few seconds.
    seed TEXT NOT NULL
);

CREATE TABLE waiters (
    sale_id BIGINT NOT NULL REFERENCES waitlists (sale_id),
    user_id TEXT NOT NULL,
    -- The most units that the account wants.
    quantity BIGINT NOT NULL CHECK (quantity > 0),
    joined_at_ms BIGINT NOT NULL,
    -- Since when it waits for its turn: later than the joining after an offer that came to nothing.
    since_ms BIGINT NOT NULL,
    -- Segment and shuffle; the lowest has its turn first.
    place BIGINT NOT NULL,
    state TEXT NOT NULL,
    -- Its turn has come: the order that it is to get.
    called_at_ms BIGINT,
    order_id TEXT,
    PRIMARY KEY (sale_id, user_id)
);
CREATE INDEX waiters_in_line ON waiters (sale_id, place, user_id) WHERE state = 'waiting';
-- Few of many: their orders are on the way.
CREATE INDEX waiters_called ON waiters (sale_id) WHERE state = 'waiting' AND order_id IS NOT NULL;
CREATE INDEX waiters_by_user ON waiters (user_id);
-- Offers of a moment ago, for the console.
CREATE INDEX waiters_offered ON waiters (sale_id, called_at_ms) WHERE state = 'offered';
