//! Digests of things that accounts may have in common ([`LinkDigest`]), for finding linked accounts. They are written
//! at a registration, when an order gets its address and when it is paid, but never while units are sold. Digests of a
//! registration are copied to each sale in which the account has an order with an address, so that the digests of a
//! sale are complete and can be deleted together.

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use super::{LinkedAccountStore, StoreResult, Tx, column, for_rows, pair, row};
use domain::{AccountLink, LinkDigest, PaymentId, SaleId, UserId};

/// How long the digests of a sale are stored after its end.
const KEEP_SALE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the digests of a registration are stored. Accounts for a sale are often registered weeks before it.
const KEEP_REGISTRATION: Duration = Duration::from_secs(90 * 24 * 3600);
/// Accounts per statement of a purge.
const PURGE_SIZE: i64 = 1000;
/// Rows per statement that reads.
const PART_SIZE: i64 = 4_000;
/// The sale id of digests that were written with a registration.
const REGISTRATION: SaleId = SaleId(0);

fn account_link(row: &AnyRow) -> sqlx::Result<AccountLink> {
    let link = LinkDigest { kind: row::get(row, "kind")?, digest: row::text(row, "digest")? };
    Ok(AccountLink { user: row::get(row, "user_id")?, link, at: row::get(row, "at_ms")? })
}

/// Writes the digests of a registration.
pub(super) async fn note_registration(
    tx: &mut Tx,
    user: UserId,
    links: &[LinkDigest],
    at: Timestamp,
) -> sqlx::Result<()> {
    insert(tx, user, REGISTRATION, links, at).await
}

/// Writes the digests of an order that gets its address. They replace the digests of an earlier address. The digests of
/// the registration are copied to the sale.
pub(super) async fn note_order(tx: &mut Tx, (sale, user): (SaleId, UserId), links: &[LinkDigest]) -> sqlx::Result<()> {
    let old =
        "DELETE FROM account_signals WHERE user_id = $1 AND sale_id = $2 AND kind IN ('address', 'street', 'contact')";
    tx.run(query!(old; user, sale)).await?;
    let now = tx.now;
    insert(tx, user, sale, links, now).await?;
    let copy = "INSERT INTO account_signals (user_id, sale_id, kind, digest, at_ms)
         SELECT user_id, CAST($2 AS BIGINT), kind, digest, at_ms FROM account_signals WHERE user_id = $1 AND sale_id = 0
         ON CONFLICT DO NOTHING";
    tx.run(query!(copy; user, sale)).await
}

async fn insert(tx: &mut Tx, user: UserId, sale: SaleId, links: &[LinkDigest], at: Timestamp) -> sqlx::Result<()> {
    let sql = "INSERT INTO account_signals (user_id, sale_id, kind, digest, at_ms) VALUES $rows ON CONFLICT DO NOTHING";
    tx.run_all(for_rows(sql, links, |link| values![user, sale, link.kind, &link.digest, at])).await
}

#[boxed]
impl LinkedAccountStore<'_> {
    /// Writes the digests of a captured payment's instrument, with the sale of its order. Does nothing for a top-up,
    /// whose money belongs to no sale. May be repeated.
    pub async fn note_payment(self, payment: PaymentId, links: &[LinkDigest]) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        // The lock excludes a concurrent deletion of the account, which deletes digests too.
        let sql =
            "UPDATE users SET role = role WHERE deleted_at_ms IS NULL AND id = (SELECT orders.user_id FROM payments
               JOIN orders ON orders.id = payments.order_id WHERE payments.id = $1 AND payments.status = 'captured')
             RETURNING id, (SELECT orders.sale_id FROM payments JOIN orders ON orders.id = payments.order_id
               WHERE payments.id = $1) AS sale_id";
        let Some((user, sale)) = tx.optional(query!(sql; payment), pair("id", "sale_id")).await? else { return Ok(()) };
        let now = tx.now;
        insert(&mut tx, user, sale, links, now).await?;
        Ok(tx.commit().await?)
    }

    /// The digests in a sale that more than one account has. All digests are read along their index, in parts, because
    /// reading a large sale takes longer than a statement may.
    pub async fn shared_links(self, sale: SaleId) -> StoreResult<Vec<AccountLink>> {
        let sql = "SELECT user_id, kind, digest, at_ms FROM account_signals
             WHERE sale_id = $1 AND (kind, digest, user_id) > ($2, $3, $4) ORDER BY kind, digest, user_id LIMIT $5";
        let mut shared = Vec::new();
        // The last digest, as long as no second account has it.
        let mut single: Option<AccountLink> = None;
        let mut after = [String::new(), String::new(), String::new()];
        loop {
            let [kind, digest, user] = &after;
            let part = self.all(query!(sql; sale, kind, digest, user, PART_SIZE), account_link).await?;
            let is_last = (part.len() as i64) < PART_SIZE;
            if let Some(AccountLink { user, link, .. }) = part.last() {
                after = [link.kind.to_string(), link.digest.clone(), user.to_string()];
            }
            for noted in part {
                let is_like = |other: &AccountLink| other.link == noted.link;
                if single.as_ref().is_some_and(is_like) {
                    shared.extend(single.take());
                    shared.push(noted);
                } else if shared.last().is_some_and(is_like) {
                    shared.push(noted);
                } else {
                    single = Some(noted);
                }
            }
            if is_last {
                return Ok(shared);
            }
        }
    }

    /// All digests of the account and of accounts that share a digest with it, in whatever sale. Networks alone are no
    /// reason to look at an account.
    pub(super) async fn links_near(self, user: UserId) -> StoreResult<Vec<AccountLink>> {
        let sql = "SELECT user_id, kind, digest, at_ms FROM account_signals WHERE user_id = $1 OR user_id IN (
               SELECT other.user_id FROM account_signals own JOIN account_signals other ON other.digest = own.digest
               WHERE own.user_id = $1 AND own.kind NOT IN ('host', 'site'))";
        self.all(query!(sql; user), account_link).await
    }

    /// The digests of one account, for its export, with the sale if they belong to one.
    pub async fn links_of(self, user: UserId) -> StoreResult<Vec<(Option<SaleId>, AccountLink)>> {
        let sql = "SELECT user_id, sale_id, kind, digest, at_ms FROM account_signals WHERE user_id = $1
             ORDER BY sale_id, kind, digest";
        let read = |row: &AnyRow| {
            let sale = row::get(row, "sale_id")?;
            Ok((Some(sale).filter(|sale| *sale != REGISTRATION), account_link(row)?))
        };
        self.all(query!(sql; user), read).await
    }

    /// Deletes a bounded number of digests 30 days after their sale, or 90 days after the registration. Returns whether
    /// there may be more.
    pub async fn purge_links(self) -> StoreResult<bool> {
        let now = self.now().await?;
        let old = "DELETE FROM account_signals WHERE sale_id = 0 AND user_id IN (SELECT user_id FROM account_signals
               WHERE sale_id = 0 AND at_ms < $1 ORDER BY at_ms LIMIT $2)";
        let deleted = self.changed(query!(old; now - KEEP_REGISTRATION, PURGE_SIZE)).await?;
        let ended = "SELECT id FROM sales WHERE state = 'ended' AND COALESCE(retired_at_ms, closes_at_ms) < $1
               AND EXISTS (SELECT 1 FROM account_signals WHERE sale_id = sales.id) ORDER BY id LIMIT 1";
        let sale: Option<SaleId> = self.optional(query!(ended; now - KEEP_SALE), column("id")).await?;
        let Some(sale) = sale else { return Ok(deleted > 0) };
        let sql = "DELETE FROM account_signals WHERE sale_id = $1 AND user_id IN (SELECT user_id FROM account_signals
               WHERE sale_id = $1 ORDER BY kind, digest, user_id LIMIT $2)";
        self.run(query!(sql; sale, PURGE_SIZE)).await?;
        Ok(true)
    }
}
