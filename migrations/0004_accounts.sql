-- Sessions that can be ended, blocked and deleted accounts, a second factor.
ALTER TABLE users ADD COLUMN blocked_at_ms BIGINT;
ALTER TABLE users ADD COLUMN blocked_reason TEXT;
-- A deleted account stays as a nameless row, because orders point at it.
ALTER TABLE users ADD COLUMN deleted_at_ms BIGINT;
ALTER TABLE users ADD COLUMN logged_in_at_ms BIGINT;
-- 1 while the password is one that somebody else has seen.
ALTER TABLE users ADD COLUMN must_change_password BIGINT NOT NULL DEFAULT 0;
-- The secret of the authenticator, encrypted; no code of a step up to this one is taken again.
ALTER TABLE users ADD COLUMN second_factor TEXT;
ALTER TABLE users ADD COLUMN second_factor_step BIGINT NOT NULL DEFAULT 0;

CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- For people to look at; who is signed in is decided by cookie and revocations.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_expired ON sessions (expires_at_ms);

-- Of a user or a session: every cookie issued up to this moment is dead. A row goes once no cookie can be so old.
CREATE TABLE revocations (
    subject TEXT PRIMARY KEY,
    dead_until_ms BIGINT NOT NULL,
    number BIGINT NOT NULL
);
CREATE UNIQUE INDEX revocations_by_number ON revocations (number);

-- One row. Whoever revokes or appoints locks it first: so the numbers become visible in their order, and two changes of
-- staff never pass each other.
CREATE TABLE revocation_count (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    last BIGINT NOT NULL
);
INSERT INTO revocation_count (id, last) VALUES (1, 0);
