-- What each serving process has counted about the buying requests of a sale, for the cockpit. A process writes its own
-- rows over and over; those of processes that are gone are added up under the process ''.
CREATE TABLE tallies (
    sale_id BIGINT NOT NULL,
    process TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    -- JSON.
    numbers TEXT NOT NULL,
    PRIMARY KEY (sale_id, process)
);
CREATE INDEX tallies_by_age ON tallies (at_ms);
-- Counting the orders of one sale by status without reading them.
CREATE INDEX orders_by_sale_status ON orders (sale_id, status, quantity);
