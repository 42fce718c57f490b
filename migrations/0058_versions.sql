-- Versions for `If-Match`. Every change that staff make to an account, or to the policy, makes the next one.
ALTER TABLE users ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE staff_policy ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
