-- Tokens of programs, shoppers of another shop, and orders that were paid there.
CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    -- SHA-256 of the token, in hex. The token itself is stored nowhere.
    digest TEXT NOT NULL UNIQUE,
    -- Scopes and networks, separated by spaces. Without networks the token may be used from anywhere.
    scopes TEXT NOT NULL,
    networks TEXT NOT NULL,
    -- Requests a second to one process. NULL: as many as it can answer.
    rate BIGINT CHECK (rate >= 1),
    expires_at_ms BIGINT,
    created_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT,
    revoked_at_ms BIGINT
);
-- The audit log names tokens.
CREATE UNIQUE INDEX api_tokens_by_name ON api_tokens (name) WHERE revoked_at_ms IS NULL;

-- The id that another shop gives to this customer of its own. Such an account has no password.
ALTER TABLE users ADD COLUMN external_id TEXT;
-- 1: the other shop has verified how it reaches the customer.
ALTER TABLE users ADD COLUMN external_verified BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX users_by_external_id ON users (external_id) WHERE external_id IS NOT NULL;

-- Orders that another shop confirmed: it took the money, so they have no payment here.
CREATE TABLE reservations (
    order_id TEXT PRIMARY KEY,
    -- What the other shop calls the order.
    reference TEXT NOT NULL UNIQUE,
    -- The token that confirmed it.
    token_id TEXT NOT NULL,
    confirmed_at_ms BIGINT NOT NULL
);
