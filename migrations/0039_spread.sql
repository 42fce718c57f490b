-- The spread of a sale is enforced: its accounts draw their moments from this seed, 32 random bytes in hexadecimal digits.
ALTER TABLE sales ADD COLUMN spread_seed TEXT;

-- A spread may be ten minutes long. Neither database changes a check in the same words, so the column moves into a new one
-- of the same name.
ALTER TABLE sales ADD COLUMN wider_spread_ms BIGINT NOT NULL DEFAULT 600 CHECK (wider_spread_ms BETWEEN 0 AND 600000);
UPDATE sales SET wider_spread_ms = spread_ms;
ALTER TABLE sales DROP COLUMN spread_ms;
ALTER TABLE sales RENAME COLUMN wider_spread_ms TO spread_ms;
