-- Which form made a sale: one that is sent twice makes one.
ALTER TABLE sales ADD COLUMN form_key TEXT;
CREATE UNIQUE INDEX sales_by_form ON sales (form_key) WHERE form_key IS NOT NULL;
-- The calendar asks by time, the list of past sales by when they closed, a new window by goods.
CREATE INDEX sales_by_opening ON sales (opens_at_ms);
CREATE INDEX sales_past ON sales (closes_at_ms, id) WHERE state = 'ended';
CREATE INDEX sales_by_goods ON sales (goods_id);
