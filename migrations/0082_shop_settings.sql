-- The merchant's own name, looks and habits: one row, which staff replace as a whole. No row: those of the program.
CREATE TABLE shop_settings (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    -- JSON: the settings.
    settings TEXT NOT NULL,
    -- The name of the logo's picture, which is kept as long as it stands here.
    logo TEXT,
    updated_at_ms BIGINT NOT NULL
);
