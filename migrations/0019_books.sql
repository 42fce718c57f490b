-- What the owner of a payment reads about it, and books by period.

-- When the provider stops taking the payment, and where it is made until then. NULL: from a wallet, or of an older version.
ALTER TABLE payments ADD COLUMN expires_at_ms BIGINT;
ALTER TABLE payments ADD COLUMN checkout_url TEXT;

-- Cases that were settled, newest first.
CREATE INDEX payment_cases_settled ON payment_cases (id) WHERE settled_at_ms IS NOT NULL;
