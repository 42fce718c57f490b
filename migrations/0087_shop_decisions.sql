-- Shadow mode: what another shop, which decides for itself, has decided about the units of a sale.
CREATE TABLE shop_decisions (
    sale_id BIGINT NOT NULL,
    -- The other shop's own id of the decision.
    id TEXT NOT NULL,
    -- The other shop's own id of the customer.
    shopper TEXT NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity >= 1),
    decided TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    -- What the other shop calls the order.
    reference TEXT,
    received_at_ms BIGINT NOT NULL,
    PRIMARY KEY (sale_id, id)
);
CREATE INDEX shop_decisions_by_time ON shop_decisions (sale_id, at_ms, id);
CREATE INDEX shop_decisions_received ON shop_decisions (received_at_ms);
