-- Where shoppers want their orders delivered: several addresses each, one of them the default.
CREATE TABLE addresses (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    phone TEXT NOT NULL,
    country TEXT NOT NULL,
    region TEXT NOT NULL,
    city TEXT NOT NULL,
    line1 TEXT NOT NULL,
    line2 TEXT NOT NULL,
    postal_code TEXT NOT NULL,
    is_default BIGINT NOT NULL CHECK (is_default IN (0, 1)),
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX addresses_by_user ON addresses (user_id, id);
CREATE UNIQUE INDEX addresses_one_default ON addresses (user_id) WHERE is_default = 1;

-- A copy, as JSON: what becomes of the shopper's address later does not change the order. Empty until it is given.
ALTER TABLE orders ADD COLUMN address TEXT;
-- What the shop told the owner when it cancelled or refunded.
ALTER TABLE orders ADD COLUMN message TEXT;
-- Keyset pages of one sale or status, for those who help shoppers. The ids sort by time.
CREATE INDEX orders_by_sale ON orders (sale_id, id);
CREATE INDEX orders_by_status ON orders (status, id);

-- Who of the staff did it, and why; empty for what owners, providers and the clock do.
ALTER TABLE order_events ADD COLUMN actor TEXT;
ALTER TABLE order_events ADD COLUMN note TEXT;

ALTER TABLE payments ADD COLUMN captured_at_ms BIGINT;
ALTER TABLE payments ADD COLUMN refunded_at_ms BIGINT;
ALTER TABLE webhook_events ADD COLUMN payment_id TEXT;
CREATE INDEX webhook_events_by_payment ON webhook_events (payment_id);
