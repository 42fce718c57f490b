-- Until when a password that another person has set opens a session; NULL: the owner chose the password.
ALTER TABLE users ADD COLUMN password_expires_at_ms BIGINT;
-- Three days, as for new ones.
UPDATE users SET password_expires_at_ms = created_at_ms + 259200000 WHERE must_change_password = 1;
