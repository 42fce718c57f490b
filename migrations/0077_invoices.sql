-- Invoices (发票) that buyers ask for. The tax office's service issues them; the shop collects titles and marks what was issued.
-- No reference, because orders of rehearsals are deleted.
CREATE TABLE invoices (
    order_id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    -- NULL: for a person.
    tax_number TEXT,
    asked_at_ms BIGINT NOT NULL,
    issued_at_ms BIGINT,
    -- The member of the staff who marked it as issued.
    issued_by TEXT,
    CHECK ((issued_at_ms IS NULL) = (issued_by IS NULL))
);
CREATE INDEX invoices_to_issue ON invoices (order_id) WHERE issued_at_ms IS NULL;
CREATE INDEX invoices_issued ON invoices (order_id) WHERE issued_at_ms IS NOT NULL;
