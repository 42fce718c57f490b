-- When the latest segment of a waitlist began: with the first account that joined after the one before was over.
ALTER TABLE waitlists ADD COLUMN segment_ms BIGINT NOT NULL DEFAULT 0;
-- 1 if the account has joined again in a later segment. Then units are kept for it only once its segment is over.
ALTER TABLE waiters ADD COLUMN rejoined BIGINT NOT NULL DEFAULT 0;
