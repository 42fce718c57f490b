-- A hot sale may be split over several buckets in Redis, which get their units all at once (lot 0) or a lot at a time;
-- the browsers that wait for it spread themselves over so many milliseconds after its opening.
ALTER TABLE sales ADD COLUMN buckets BIGINT NOT NULL DEFAULT 1 CHECK (buckets BETWEEN 1 AND 64);
ALTER TABLE sales ADD COLUMN lot BIGINT NOT NULL DEFAULT 0 CHECK (lot >= 0);
ALTER TABLE sales ADD COLUMN spread_ms BIGINT NOT NULL DEFAULT 600 CHECK (spread_ms BETWEEN 0 AND 60000);

-- What of a split sale's total each bucket may sell; the rest is the pool.
CREATE TABLE sale_buckets (
    sale_id BIGINT NOT NULL,
    bucket BIGINT NOT NULL CHECK (bucket >= 0),
    -- An upper bound of what the bucket in Redis may believe to have.
    allotted BIGINT NOT NULL CHECK (allotted >= 0),
    -- What the bucket is told to have. Lower than `allotted` until Redis has said what it could let go of.
    target BIGINT NOT NULL CHECK (target >= 0),
    -- Rises with every new target, so that an older word never follows a newer one.
    fence BIGINT NOT NULL,
    PRIMARY KEY (sale_id, bucket),
    CHECK (target <= allotted)
);
