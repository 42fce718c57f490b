//! Checks of the ledger. They scan all of it, so they are for the audit and not for frequent use.

use crate::store::{Store, StoreError, row};

impl Store {
    /// Describes inconsistencies of the ledger. Empty when no money was created or lost.
    pub async fn wallet_mismatches(&self) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query(
            "SELECT 'all entries together sum to ' || CAST(total AS TEXT) AS problem
               FROM (SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS total FROM wallet_entries) sums
               WHERE total <> 0
             UNION ALL
             SELECT 'transfer ' || t.id || ' sums to ' || COALESCE(CAST(s.total AS TEXT), 'nothing: it has no entries')
               FROM wallet_transfers t LEFT JOIN
                 (SELECT transfer_id, SUM(amount) AS total FROM wallet_entries GROUP BY transfer_id) s
                 ON s.transfer_id = t.id
               WHERE s.total IS NULL OR s.total <> 0
             UNION ALL
             SELECT 'account ' || b.account || ' has balance ' || CAST(b.balance AS TEXT) || ', its entries sum to '
                 || CAST(COALESCE(s.total, 0) AS TEXT)
               FROM wallet_balances b LEFT JOIN
                 (SELECT account, SUM(amount) AS total FROM wallet_entries GROUP BY account) s ON s.account = b.account
               WHERE b.balance <> COALESCE(s.total, 0)
             UNION ALL
             SELECT 'account ' || e.account || ' has entries and no balance' FROM wallet_entries e
               WHERE NOT EXISTS (SELECT 1 FROM wallet_balances b WHERE b.account = e.account) GROUP BY e.account",
        );
        self.report(query, |row| row::text(row, "problem")).await
    }

    /// Describes payments into or out of wallets without their transfer, and such transfers without their payment.
    pub async fn wallet_payment_mismatches(&self) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query(
            "SELECT 'payment ' || p.id || ' is ' || p.status || ' without the transfer ' || p.transfer AS problem
               FROM (SELECT id, status, 'topup:' || id AS transfer FROM payments
                       WHERE user_id IS NOT NULL AND status = 'captured'
                     UNION ALL SELECT id, status, 'pay:' || order_id FROM payments
                       WHERE provider = 'wallet' AND amount > 0
                     UNION ALL SELECT id, status, 'refund:' || order_id FROM payments
                       WHERE provider = 'wallet' AND status = 'refunded' AND amount > 0) p
               WHERE NOT EXISTS (SELECT 1 FROM wallet_transfers t WHERE t.id = p.transfer)
             UNION ALL
             SELECT 'transfer ' || t.id || ' has no payment' FROM wallet_transfers t
               WHERE t.kind = 'topup' AND NOT EXISTS (SELECT 1 FROM payments p
                   WHERE p.id = t.reference AND p.user_id IS NOT NULL AND p.status = 'captured')
                 OR t.kind = 'pay' AND NOT EXISTS (SELECT 1 FROM payments p
                   WHERE p.order_id = t.reference AND p.provider = 'wallet')
                 OR t.kind = 'refund' AND NOT EXISTS (SELECT 1 FROM payments p
                   WHERE p.order_id = t.reference AND p.provider = 'wallet' AND p.status = 'refunded')",
        );
        self.report(query, |row| row::text(row, "problem")).await
    }
}
