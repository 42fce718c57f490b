-- Packets from the shop's purse beyond what one person may give alone wait for a second person, as refunds do.
CREATE TABLE staff_refunds_2 (
    -- Also the id of the partial refund.
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('order', 'part', 'case', 'packet')),
    -- What the audit log calls it: an order, the payment of a case, or a packet.
    subject TEXT NOT NULL,
    -- NULL: the payment is for no order. No reference, because orders of rehearsals are deleted.
    order_id TEXT,
    case_id TEXT,
    amount BIGINT NOT NULL CHECK (amount >= 0),
    currency TEXT NOT NULL,
    -- Where the money goes: `payer` or `wallet`.
    target TEXT NOT NULL,
    -- The account and the name of the member of the staff who asked, the reason, and what the owner of the order is told.
    requested_by TEXT NOT NULL,
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    message TEXT,
    requested_at_ms BIGINT NOT NULL,
    -- `not_needed`: it was carried out at once.
    approval TEXT NOT NULL CHECK (approval IN ('not_needed', 'pending', 'approved', 'declined', 'expired', 'void')),
    expires_at_ms BIGINT NOT NULL,
    decided_at_ms BIGINT,
    decided_by TEXT,
    decision_note TEXT,
    -- The packet that is given when it is approved: its id, the idempotency key, and the request as JSON.
    packet_id BIGINT,
    packet_key TEXT,
    packet TEXT
);
INSERT INTO staff_refunds_2 (id, kind, subject, order_id, case_id, amount, currency, target, requested_by, actor, note,
        message, requested_at_ms, approval, expires_at_ms, decided_at_ms, decided_by, decision_note)
    SELECT id, kind, subject, order_id, case_id, amount, currency, target, requested_by, actor, note, message,
        requested_at_ms, approval, expires_at_ms, decided_at_ms, decided_by, decision_note FROM staff_refunds;
DROP TABLE staff_refunds;
ALTER TABLE staff_refunds_2 RENAME TO staff_refunds;
-- One request at a time waits for each order or payment.
CREATE UNIQUE INDEX staff_refunds_pending ON staff_refunds (subject) WHERE approval = 'pending';
CREATE INDEX staff_refunds_open ON staff_refunds (id) WHERE approval = 'pending';
CREATE INDEX staff_refunds_asked ON staff_refunds (id) WHERE approval <> 'not_needed';
CREATE INDEX staff_refunds_by_order ON staff_refunds (order_id, id) WHERE approval <> 'not_needed';
-- What one person refunded alone of late.
CREATE INDEX staff_refunds_alone ON staff_refunds (requested_by, requested_at_ms) WHERE approval = 'not_needed';
-- A request that is sent again finds the one that waits.
CREATE UNIQUE INDEX staff_refunds_packet_key ON staff_refunds (packet_key) WHERE approval = 'pending';

-- The account of the second person. NULL: none was needed.
ALTER TABLE packets ADD COLUMN approved_by TEXT;

-- Accounts that have something in common with one account, in whatever sale.
CREATE INDEX account_signals_alike ON account_signals (digest, user_id);
