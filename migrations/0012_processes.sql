-- Processes of the role `serve` that have recently reported. Data control waits for each of them before a Redis master that may
-- have lost grants sells again.
CREATE TABLE processes (
    name TEXT PRIMARY KEY,
    seen_at_ms BIGINT NOT NULL
);
