-- A fingerprint of the secret (SECKILL_SECRET) with which a process was started last, so that one with another secret is found.
-- Nothing else can be computed from it.
CREATE TABLE shop_secret (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    fingerprint TEXT NOT NULL
);
