-- Sales whose line stands in front of another shop: where shoppers go when they are called.
CREATE TABLE sale_fronts (
    sale_id BIGINT PRIMARY KEY REFERENCES sales (id),
    -- JSON: the settings.
    front TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

-- One row per turn for which a pass was made: the pass lets its holder into the other shop once.
CREATE TABLE passes (
    sale_id BIGINT NOT NULL,
    -- The entry of the place in the waiting room.
    place TEXT NOT NULL,
    -- How many passes were made for the turn.
    made BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    -- When the other shop redeemed one of them.
    used_at_ms BIGINT,
    -- The id of that pass.
    used_by TEXT,
    PRIMARY KEY (sale_id, place)
);
CREATE INDEX passes_expired ON passes (expires_at_ms);
