-- Goods that are variants of others: the same product in another colour or size, with sales and stock of their own.
ALTER TABLE goods ADD COLUMN variant_of BIGINT REFERENCES goods (id);
-- What tells it from the other variants.
ALTER TABLE goods ADD COLUMN variant_zh TEXT NOT NULL DEFAULT '';
ALTER TABLE goods ADD COLUMN variant_en TEXT NOT NULL DEFAULT '';
CREATE INDEX goods_by_product ON goods (variant_of) WHERE variant_of IS NOT NULL;
