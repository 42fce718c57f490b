-- Money that the shop keeps for people, in double-entry books. The accounts are `user:<id>`, `packet:<id>`, `shop` and
-- `provider`; all of it is CNY, in minor units.

-- One movement of money, known by a name of its own: under one name it happens once.
CREATE TABLE wallet_transfers (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('topup', 'pay', 'refund', 'fund', 'claim', 'return', 'giveup')),
    -- What it is about: a payment, an order or a packet.
    reference TEXT NOT NULL,
    at_ms BIGINT NOT NULL
);

-- What a transfer takes from an account (below zero) or brings to it; the entries of a transfer sum to zero.
CREATE TABLE wallet_entries (
    transfer_id TEXT NOT NULL REFERENCES wallet_transfers (id),
    account TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount <> 0),
    -- The transfer's time again, so that one account can be read page by page along one index.
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (transfer_id, account)
);
CREATE INDEX wallet_entries_by_account ON wallet_entries (account, at_ms, transfer_id);

-- The sum of each account's entries. The last line of defence: people and packets never owe anything.
CREATE TABLE wallet_balances (
    account TEXT PRIMARY KEY,
    balance BIGINT NOT NULL,
    CHECK (balance >= 0 OR account IN ('shop', 'provider'))
);

-- A payment is for an order or for somebody's wallet. SQLite cannot take a NOT NULL away, so the table is made anew.
CREATE TABLE payments_2 (
    id TEXT PRIMARY KEY,
    order_id TEXT REFERENCES orders (id),
    -- Whose wallet it fills.
    user_id TEXT,
    provider TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('created', 'captured', 'refund_pending', 'refunded')),
    created_at_ms BIGINT NOT NULL,
    captured_at_ms BIGINT,
    refunded_at_ms BIGINT,
    CHECK ((order_id IS NULL) <> (user_id IS NULL))
);
INSERT INTO payments_2 (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms, refunded_at_ms)
    SELECT id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms, refunded_at_ms FROM payments;
DROP TABLE payments;
ALTER TABLE payments_2 RENAME TO payments;
CREATE INDEX payments_by_order ON payments (order_id);
CREATE INDEX payments_by_user ON payments (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX payments_refunds ON payments (id) WHERE status = 'refund_pending';
