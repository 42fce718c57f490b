-- Sales of a rehearsal are real in every way but one: they are in no list. They go when the rehearsal is over.
ALTER TABLE sales ADD COLUMN shadow BIGINT NOT NULL DEFAULT 0 CHECK (shadow IN (0, 1));
CREATE INDEX sales_shadow ON sales (id) WHERE shadow = 1;

-- The sale that a simulated shopper was made for; empty for people.
ALTER TABLE users ADD COLUMN rehearsal BIGINT;
CREATE INDEX users_rehearsal ON users (rehearsal) WHERE rehearsal IS NOT NULL;
