-- Categories of goods, by which shoppers filter the list of sales.
CREATE TABLE categories (
    id BIGINT PRIMARY KEY,
    name_zh TEXT NOT NULL,
    name_en TEXT NOT NULL,
    -- Categories are shown in the order of their places.
    place BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
ALTER TABLE catalogue ADD COLUMN last_category_id BIGINT NOT NULL DEFAULT 0;

ALTER TABLE goods ADD COLUMN category_id BIGINT REFERENCES categories (id);
CREATE INDEX goods_by_category ON goods (category_id) WHERE category_id IS NOT NULL;
