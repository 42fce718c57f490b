-- Sales with a waiting room: who waits, in which order they are called, and how far the calls are.
-- A column of its own, because SQLite changes no CHECK of a column that exists.
ALTER TABLE sales ADD COLUMN mode_name TEXT NOT NULL DEFAULT 'rush' CHECK (mode_name IN ('rush', 'queue', 'draw'));
UPDATE sales SET mode_name = mode;
ALTER TABLE sales DROP COLUMN mode;
ALTER TABLE sales RENAME COLUMN mode_name TO mode;
-- Of a waiting room, in seconds: how long before the opening shoppers may join, how long after it the list is locked, and how
-- long a shopper who is called may buy.
ALTER TABLE sales ADD COLUMN queue_prequeue_s BIGINT;
ALTER TABLE sales ADD COLUMN queue_gather_s BIGINT;
ALTER TABLE sales ADD COLUMN queue_seat_s BIGINT;
CREATE INDEX sales_with_open_queue ON sales (id) WHERE mode = 'queue' AND state = 'live';

CREATE TABLE queues (
    sale_id BIGINT PRIMARY KEY REFERENCES sales (id),
    -- 32 random bytes in hexadecimal digits; public once the list is locked.
    seed TEXT NOT NULL,
    -- From then on shoppers join a segment of latecomers.
    locked_at_ms BIGINT,
    -- The root of the entries of segment 0.
    root TEXT,
    -- How often a place was taken, and how many of them were called.
    joined BIGINT NOT NULL DEFAULT 0,
    called BIGINT NOT NULL DEFAULT 0,
    -- The last segment of which `queue_segments` has the row, if it has places.
    closed_segment BIGINT,
    -- The last place that was called.
    serving_segment BIGINT,
    serving_number BIGINT,
    -- Staff hold the calls, or bound them to so many a minute.
    held BIGINT NOT NULL DEFAULT 0,
    per_minute BIGINT
);

-- Closed segments that have places.
CREATE TABLE queue_segments (
    sale_id BIGINT NOT NULL REFERENCES queues (sale_id),
    segment BIGINT NOT NULL,
    places BIGINT NOT NULL,
    called BIGINT NOT NULL DEFAULT 0,
    -- Numbers at evenly spaced ranks, as a JSON array.
    marks TEXT NOT NULL,
    PRIMARY KEY (sale_id, segment)
);

CREATE TABLE queue_places (
    sale_id BIGINT NOT NULL REFERENCES queues (sale_id),
    user_id TEXT NOT NULL,
    -- 16 random bytes in hexadecimal digits.
    entry TEXT NOT NULL,
    segment BIGINT NOT NULL,
    -- The first 48 bits of SHA-256(seed, entry).
    number BIGINT NOT NULL,
    joined_at_ms BIGINT NOT NULL,
    called_at_ms BIGINT,
    -- In this order it also finds the places of an account; each index more makes joining slower.
    PRIMARY KEY (user_id, sale_id)
);
-- The order of calls.
CREATE INDEX queue_places_waiting ON queue_places (sale_id, segment, number) WHERE called_at_ms IS NULL;
-- Those who may buy now.
CREATE INDEX queue_places_called ON queue_places (sale_id, called_at_ms) WHERE called_at_ms IS NOT NULL;
