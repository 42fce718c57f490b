-- What the report of a sale has from its orders, places and entries. Written once, when nothing of the sale is under way any
-- more, so that it stays whatever becomes of those rows.
CREATE TABLE sale_reports (
    sale_id BIGINT PRIMARY KEY REFERENCES sales (id),
    at_ms BIGINT NOT NULL,
    -- JSON.
    digest TEXT NOT NULL
);
