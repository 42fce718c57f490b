-- Numbers of orders for people: the day, and a count of that day. Older processes insert orders without one; data control
-- gives them theirs. The column is not called `number`, because older processes join orders with deposits, which have one.
ALTER TABLE orders ADD COLUMN day_number BIGINT;
CREATE UNIQUE INDEX orders_by_day_number ON orders (day_number);
-- Almost always empty.
CREATE INDEX orders_without_number ON orders (id) WHERE day_number IS NULL;

-- How many numbers of a day were taken.
CREATE TABLE order_days (
    -- Such as 20261128.
    day BIGINT PRIMARY KEY,
    taken BIGINT NOT NULL
);
