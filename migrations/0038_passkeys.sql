-- Passkeys of accounts: credentials of WebAuthn, with which their holders sign in without a password.
CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    -- In base64url, as is the key.
    credential_id TEXT NOT NULL UNIQUE,
    -- In COSE.
    public_key TEXT NOT NULL,
    -- The authenticator's counter at the last use; 0 where it does not count.
    sign_count BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT
);
CREATE INDEX passkeys_by_user ON passkeys (user_id, id);
