-- Several payment providers: what each calls a payment, until when a QR code can be scanned, and when the shop asks the
-- provider about a payment whose notice has not come. Processes of older versions leave all three empty.
ALTER TABLE payments ADD COLUMN reference TEXT;
ALTER TABLE payments ADD COLUMN scan_until_ms BIGINT;
ALTER TABLE payments ADD COLUMN ask_at_ms BIGINT;
CREATE INDEX payments_to_ask ON payments (ask_at_ms, id) WHERE close_at_ms IS NOT NULL;
