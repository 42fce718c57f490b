-- Orders and units of each sale by status, kept by the transactions that change orders. A total is the sum over the
-- shards: transactions on one sale add to different rows, and do not wait for each other.
CREATE TABLE order_totals (
    sale_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    shard BIGINT NOT NULL,
    -- May be below zero in one shard: an order may leave a status in another shard than it came.
    orders BIGINT NOT NULL,
    units BIGINT NOT NULL,
    PRIMARY KEY (sale_id, status, shard)
);
INSERT INTO order_totals (sale_id, status, shard, orders, units)
    SELECT sale_id, status, 0, COUNT(*), CAST(SUM(quantity) AS BIGINT) FROM orders GROUP BY sale_id, status;

-- Accounts that were deleted, for the audit.
CREATE INDEX users_deleted ON users (id) WHERE deleted_at_ms IS NOT NULL;

-- What came to wallets after their accounts were deleted goes to the shop, as it does from now on.
INSERT INTO wallet_transfers (id, kind, reference, at_ms)
    SELECT 'giveup:left:' || users.id, 'giveup', users.id, users.deleted_at_ms FROM users
    JOIN wallet_balances ON wallet_balances.account = 'user:' || users.id
    WHERE users.deleted_at_ms IS NOT NULL AND wallet_balances.balance > 0;
INSERT INTO wallet_entries (transfer_id, account, amount, at_ms)
    SELECT 'giveup:left:' || users.id, wallet_balances.account, -wallet_balances.balance, users.deleted_at_ms FROM users
    JOIN wallet_balances ON wallet_balances.account = 'user:' || users.id
    WHERE users.deleted_at_ms IS NOT NULL AND wallet_balances.balance > 0;
INSERT INTO wallet_entries (transfer_id, account, amount, at_ms)
    SELECT transfer_id, 'shop', -amount, at_ms FROM wallet_entries WHERE transfer_id LIKE 'giveup:left:%';
INSERT INTO wallet_balances (account, balance)
    SELECT 'shop', CAST(SUM(amount) AS BIGINT) FROM wallet_entries
    WHERE transfer_id LIKE 'giveup:left:%' AND account = 'shop' HAVING SUM(amount) > 0
    ON CONFLICT (account) DO UPDATE SET balance = wallet_balances.balance + excluded.balance;
UPDATE wallet_balances SET balance = 0 WHERE account IN (
    SELECT 'user:' || id FROM users WHERE deleted_at_ms IS NOT NULL);

-- Lists of staff, and of the audit log by what was done and by whom.
CREATE INDEX users_staff ON users (id) WHERE role <> 'user';
CREATE INDEX audit_log_by_action ON audit_log (action, id);
CREATE INDEX audit_log_by_actor ON audit_log (LOWER(actor), id);
