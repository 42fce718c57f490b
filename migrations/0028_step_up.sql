-- When the holder of a session last entered the password, and the code if the account has a second factor, in the
-- database's time; 0 for sessions of earlier versions and for those that a password without its code opened.
ALTER TABLE sessions ADD COLUMN proved_at_ms BIGINT NOT NULL DEFAULT 0;
