-- Challenges of registrations that paid for an account, so that none pays twice.
CREATE TABLE spent_proofs (
    id TEXT PRIMARY KEY,
    -- From then on the challenge is refused in any case.
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX spent_proofs_by_time ON spent_proofs (expires_at_ms);
