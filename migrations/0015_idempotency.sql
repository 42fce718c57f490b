-- Requests that carried an idempotency key, and their first answers. The same key with the same body gets the kept
-- answer for a day; then the row goes.
CREATE TABLE idempotency_keys (
    -- Written into what the request makes, or into `made` in the same transaction.
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    -- Method and path.
    request TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    -- SHA-256 of the body.
    body TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 1,
    -- Until then another attempt waits for the one that is under way.
    running_until_ms BIGINT NOT NULL,
    -- What an attempt made, even if its answer was lost.
    made TEXT,
    -- The kept answer: its status, its headers as JSON, its body.
    status BIGINT,
    headers TEXT,
    answer TEXT,
    created_at_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX idempotency_keys_one ON idempotency_keys (user_id, request, idempotency_key);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at_ms);
