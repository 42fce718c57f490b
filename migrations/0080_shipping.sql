-- What the shop takes for shipping: one row, whose table is replaced as a whole. No row: orders are sent free of charge.
CREATE TABLE shipping (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    -- JSON: the rates.
    rates TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

-- The part of an order's amount that is for shipping. Written with the address. Processes of older versions write addresses
-- without it, so fill the table once all processes run this version.
ALTER TABLE orders ADD COLUMN shipping BIGINT NOT NULL DEFAULT 0;
