-- More than one kind of staff. SQLite cannot change a CHECK, so the table is made anew.
CREATE TABLE users_2 (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL,
    -- The name folded to lower case: names that differ only in case are one name.
    username_key TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'admin', 'operator', 'support', 'viewer')),
    created_at_ms BIGINT NOT NULL
);
INSERT INTO users_2 (id, username, username_key, password_hash, role, created_at_ms)
    SELECT id, username, username_key, password_hash, role, created_at_ms FROM users;
DROP TABLE users;
ALTER TABLE users_2 RENAME TO users;
