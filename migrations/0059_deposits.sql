-- Deposits: what a sale sets aside from the wallets of those who take part, and gives back in full.
-- In minor units of the currency of wallets; NULL: the sale asks for none.
ALTER TABLE sales ADD COLUMN deposit BIGINT CHECK (deposit > 0);

CREATE TABLE deposits (
    sale_id BIGINT NOT NULL REFERENCES sales (id),
    user_id TEXT NOT NULL,
    -- How often the account had one of this sale, this one included. Names its transfers.
    number BIGINT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    held_at_ms BIGINT NOT NULL,
    -- NULL: it is set aside now, on the ledger account `deposit:<user>`.
    returned_at_ms BIGINT,
    PRIMARY KEY (user_id, sale_id)
);
CREATE INDEX deposits_held ON deposits (sale_id, user_id) WHERE returned_at_ms IS NULL;

-- Two more kinds of transfers. SQLite cannot change a CHECK, and drops one along with its column.
ALTER TABLE wallet_transfers ADD COLUMN kind_2 TEXT NOT NULL DEFAULT 'topup' CHECK (kind_2 IN ('topup', 'pay', 'refund',
    'fund', 'claim', 'return', 'giveup', 'deposit', 'deposit_return'));
UPDATE wallet_transfers SET kind_2 = kind WHERE kind <> 'topup';
ALTER TABLE wallet_transfers DROP COLUMN kind;
ALTER TABLE wallet_transfers RENAME COLUMN kind_2 TO kind;
