-- Joins of a waiting room run side by side: places are counted in several rows, and no longer refer to the queue's row, whose
-- lock each of them took.
CREATE TABLE queue_joins (
    sale_id BIGINT NOT NULL REFERENCES queues (sale_id),
    -- One of a few; each transaction counts in one.
    lane BIGINT NOT NULL,
    -- How often a place was taken, beside `queues.joined`.
    places BIGINT NOT NULL,
    PRIMARY KEY (sale_id, lane)
);

CREATE TABLE queue_places_alone (
    sale_id BIGINT NOT NULL,
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
INSERT INTO queue_places_alone (sale_id, user_id, entry, segment, number, joined_at_ms, called_at_ms)
    SELECT sale_id, user_id, entry, segment, number, joined_at_ms, called_at_ms FROM queue_places;
DROP TABLE queue_places;
ALTER TABLE queue_places_alone RENAME TO queue_places;
-- The order of calls.
CREATE INDEX queue_places_waiting ON queue_places (sale_id, segment, number) WHERE called_at_ms IS NULL;
-- Those who may buy now.
CREATE INDEX queue_places_called ON queue_places (sale_id, called_at_ms) WHERE called_at_ms IS NOT NULL;
