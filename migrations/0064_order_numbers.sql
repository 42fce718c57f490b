-- Finds an order by the short number that shoppers and staff see, the end of its id.
CREATE INDEX orders_by_number ON orders (substr(id, 25), id);
