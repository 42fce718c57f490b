-- Parcels of paid orders. The state stands in the order, so that a step of a parcel and a refund of its order exclude each other.
-- NULL: nothing was packed. Processes of older versions leave it empty.
ALTER TABLE orders ADD COLUMN parcel TEXT;
-- What is to be packed, and where parcels are.
CREATE INDEX orders_to_pack ON orders (status, id) WHERE status = 'paid' AND parcel IS NULL;
CREATE INDEX orders_by_parcel ON orders (parcel, id) WHERE parcel IS NOT NULL;

-- Every step of a parcel and every correction of its label, counted from 1. The last one says where the parcel is. No
-- reference, because orders of rehearsals are deleted.
CREATE TABLE parcel_steps (
    order_id TEXT NOT NULL,
    step BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('packed', 'shipped', 'delivered', 'lost', 'returned')),
    -- The code of a known carrier, or the name of another one.
    carrier TEXT,
    number TEXT,
    at_ms BIGINT NOT NULL,
    -- NULL: the owner of the order confirmed the receipt.
    actor TEXT,
    PRIMARY KEY (order_id, step)
);
