-- Guesses at passwords and codes, counted by all processes together.
CREATE TABLE guesses (
    -- A keyed digest of what the guesses have in common, such as a user name: names that people type may be passwords.
    key TEXT PRIMARY KEY,
    -- When the full allowance is available again.
    restored_at_ms BIGINT NOT NULL
);
