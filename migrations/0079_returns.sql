-- Returns of delivered orders. The state stands in the order, so that a step of a return, a refund and a step of the parcel
-- exclude each other. NULL: no return was asked for. Processes of older versions leave it as it is.
ALTER TABLE orders ADD COLUMN return_state TEXT;
-- What waits for staff, and for goods.
CREATE INDEX orders_by_return ON orders (return_state, id) WHERE return_state IS NOT NULL;

-- What the owner of the order asked for, what staff answered, and the arrival of the goods. No reference, because orders of
-- rehearsals are deleted.
CREATE TABLE goods_returns (
    order_id TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    note TEXT NOT NULL,
    asked_at_ms BIGINT NOT NULL,
    answer TEXT,
    answered_by TEXT,
    answered_at_ms BIGINT,
    -- Who carries the goods back: the code of a known carrier, or the name of another one.
    carrier TEXT,
    number TEXT,
    received_by TEXT,
    received_at_ms BIGINT,
    -- 1: the units went back on sale.
    restocked BIGINT,
    -- The partial refund, or the payment of which all that was left went back.
    refund_id TEXT,
    CHECK ((received_at_ms IS NULL) = (refund_id IS NULL)),
    CHECK ((received_at_ms IS NULL) = (restocked IS NULL))
);

-- For a refund of goods that came back: 1 if their units go back on sale, otherwise 0. NULL: for any other refund.
ALTER TABLE staff_refunds ADD COLUMN restock BIGINT;
