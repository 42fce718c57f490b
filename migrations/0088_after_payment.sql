-- Refunds that failed. One that had counted as made before does not any more: its money came back to the shop.
CREATE TABLE failed_refunds (
    -- The partial refund, or the payment of which all that was left went back.
    refund_id TEXT NOT NULL,
    -- How often the refund had failed before.
    attempt BIGINT NOT NULL,
    payment_id TEXT NOT NULL,
    -- NULL: the payment was a top-up.
    order_id TEXT,
    -- Whose money it is in the books: `shop` or `held`.
    account TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    -- When it had counted as made. NULL: it failed before, and the books never had it.
    made_at_ms BIGINT,
    failed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (refund_id, attempt)
);
CREATE INDEX failed_refunds_by_order ON failed_refunds (order_id);
CREATE INDEX failed_refunds_made ON failed_refunds (made_at_ms, refund_id) WHERE made_at_ms IS NOT NULL;
CREATE INDEX failed_refunds_came_back ON failed_refunds (failed_at_ms, refund_id) WHERE made_at_ms IS NOT NULL;

-- The provider's own name of a dispute, and how far it is: `open`, `won` or `lost`. NULL: an older version opened the case,
-- or the provider does not tell.
ALTER TABLE payment_cases ADD COLUMN dispute_id TEXT;
ALTER TABLE payment_cases ADD COLUMN dispute_state TEXT;
-- Until when the provider takes an answer to it.
ALTER TABLE payment_cases ADD COLUMN respond_by_ms BIGINT;
CREATE INDEX payment_cases_by_payment ON payment_cases (payment_id);
-- Those about which the provider is asked each day.
CREATE INDEX payment_cases_in_dispute ON payment_cases (id) WHERE dispute_state = 'open';

-- When the parcel was last handed to its carrier. NULL: it was not, or a process of an older version did it.
ALTER TABLE orders ADD COLUMN shipped_at_ms BIGINT;
UPDATE orders SET shipped_at_ms = (SELECT MAX(at_ms) FROM parcel_steps WHERE order_id = orders.id AND state = 'shipped')
    WHERE parcel = 'shipped';
-- Parcels that count as delivered some days later.
CREATE INDEX orders_on_their_way ON orders (shipped_at_ms, id) WHERE parcel = 'shipped' AND status = 'paid';
