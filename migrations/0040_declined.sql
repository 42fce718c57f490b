-- When the provider reported that the payer's attempt failed. The shopper reads it on the order's page.
ALTER TABLE payments ADD COLUMN declined_at_ms BIGINT;
