-- A draw that was called off: when, why (in the words of the staff; NULL if the sale ended early), and the last entry whose
-- owner was told. It is '' before the first one, and NULL once all were told.
ALTER TABLE draws ADD COLUMN called_off_at_ms BIGINT;
ALTER TABLE draws ADD COLUMN called_off_reason TEXT;
ALTER TABLE draws ADD COLUMN told_until TEXT;
