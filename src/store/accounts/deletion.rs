//! Deleting an account: personal data is deleted, and the row to which its orders belong stays.

use jiff::Timestamp;

use crate::accounts::{self, sessions, tombstone};
use crate::deposits::returns;
use crate::packets::open::UNCLAIMED;
use crate::{AccountStore, Revocation, StoreError, Tx, reminders, row, wallet};
use domain::UserId;
use domain::ledger::{LedgerAccount, Transfer, TransferKind};

/// The outcome of deleting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionOutcome {
    Done(Revocation),
    /// An order is unpaid, or a refund is pending.
    OrdersOpen,
    /// The wallet has a balance, or may get back the rest of an open packet, and the owner has not given up this money.
    WalletNotEmpty,
    /// The account is of the staff. It must be dismissed first.
    IsStaff,
    Gone,
}

impl AccountStore<'_> {
    /// Deletes all personal data of an account and keeps the row to which its orders belong. With `give_up` the balance
    /// of the wallet goes to the shop, and so does money that returns later from open packets ([`wallet`]).
    pub async fn delete_account(
        self,
        id: UserId,
        give_up: bool,
        now: Timestamp,
    ) -> Result<DeletionOutcome, StoreError> {
        let mut tx = self.begin().await?;
        let number = sessions::next_number(&mut tx).await?;
        let Some(user) = accounts::read(&mut tx, id).await?.filter(|user| user.deleted_at.is_none()) else {
            return Ok(DeletionOutcome::Gone);
        };
        if user.role.is_staff() {
            return Ok(DeletionOutcome::IsStaff);
        }
        let open = "SELECT 1 FROM orders WHERE user_id = $1 AND (status IN ('unpaid', 'refund_pending')
             OR status = 'paid' AND EXISTS (SELECT 1 FROM partial_refunds
               WHERE order_id = orders.id AND refunded_at_ms IS NULL)) LIMIT 1";
        if sqlx::query(open).bind(id.to_string()).fetch_optional(&mut *tx).await?.is_some() {
            return Ok(DeletionOutcome::OrdersOpen);
        }
        if !empty_wallet(&mut tx, id, give_up, now).await? {
            return Ok(DeletionOutcome::WalletNotEmpty);
        }
        let ended = sessions::end_all(&mut tx, number, id, now).await?;
        sqlx::query(
            "UPDATE users SET username = $2, username_key = $3, password_hash = '', second_factor = NULL,
               blocked_reason = NULL, logged_in_at_ms = NULL, deleted_at_ms = $4 WHERE id = $1",
        )
        .bind(id.to_string())
        .bind(format!("deleted-{}", &id.to_string()[28..]))
        .bind(tombstone(&user.username))
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        reminders::remove_all(&mut tx, id).await?;
        // There is one statement for each other table with personal data.
        for sql in [
            "DELETE FROM recovery_codes WHERE user_id = $1",
            "DELETE FROM passkeys WHERE user_id = $1",
            "DELETE FROM sessions WHERE user_id = $1",
            "DELETE FROM push_subscriptions WHERE user_id = $1",
            "DELETE FROM addresses WHERE user_id = $1",
            "DELETE FROM mail_addresses WHERE user_id = $1",
            "DELETE FROM mails WHERE user_id = $1",
            "DELETE FROM known_devices WHERE user_id = $1",
            "DELETE FROM sale_groups WHERE user_id = $1",
            // A used code stays used: it is revoked.
            "UPDATE invitations SET revoked_at_ms = COALESCE(revoked_at_ms, redeemed_at_ms), user_id = NULL WHERE user_id = $1",
            "DELETE FROM account_signals WHERE user_id = $1",
            "DELETE FROM saved_views WHERE user_id = $1",
            // Answered questions stay on the pages, without the account.
            "DELETE FROM questions WHERE user_id = $1 AND status <> 'answered'",
            "UPDATE questions SET user_id = NULL WHERE user_id = $1",
            "UPDATE hold_appeals SET text = '' WHERE hold_id IN (SELECT id FROM order_holds WHERE order_id IN
               (SELECT id FROM orders WHERE user_id = $1))",
            // Stored responses contain addresses and amounts.
            "DELETE FROM idempotency_keys WHERE user_id = $1",
        ] {
            sqlx::query(sql).bind(id.to_string()).execute(&mut *tx).await?;
        }
        // A paid order still has to be delivered.
        let sql = "UPDATE orders SET address = NULL WHERE user_id = $1 AND status <> 'paid' AND address IS NOT NULL";
        sqlx::query(sql).bind(id.to_string()).execute(&mut *tx).await?;
        // Cached pages of the orders show the name of their owner.
        let sql = "SELECT id FROM orders WHERE user_id = $1";
        for order in sqlx::query(sql).bind(id.to_string()).fetch_all(&mut *tx).await? {
            tx.changes.edited(row::parsed(&order, "id")?);
        }
        tx.commit().await?;
        Ok(DeletionOutcome::Done(ended))
    }
}

/// Empties the wallet. Returns `false` if it has a balance, or money in open packets, that is not given up. Packets are
/// funded from the balance, so they are read once it is locked.
async fn empty_wallet(tx: &mut Tx, id: UserId, give_up: bool, now: Timestamp) -> Result<bool, sqlx::Error> {
    let account = LedgerAccount::User(id);
    let deposits = returns::of_user(tx, id).await?;
    returns::mark_returned(tx, &deposits).await?;
    let mut accounts = vec![account.to_string()];
    if !deposits.is_empty() {
        accounts.insert(0, LedgerAccount::Deposit(id).to_string());
    }
    // Deposits come back in the same call, so their money counts as well.
    let balance: i64 = wallet::lock(tx, &accounts).await?.into_values().sum();
    let in_packets = sqlx::query(UNCLAIMED).bind(id.to_string()).fetch_one(&mut **tx).await?;
    let mut transfers = returns::transfers(&deposits);
    if balance > 0 && give_up {
        transfers.push(Transfer::simple(TransferKind::GiveUp, id, balance, account, LedgerAccount::Shop));
    }
    wallet::post(tx, &transfers, now).await?;
    Ok(give_up || balance == 0 && row::int(&in_packets, "amount")? == 0)
}
