//! Who may take part in a sale: the facts about an account that the rules check, the groups that accounts belong to,
//! and invitation codes ([`invitations`]).
//!
//! Only the first account of a group may take part: a group is a row, and its digest is unique in the sale. Digests are
//! deleted [`KEEP_GROUPS`] after the sale's end.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::audit_log::log;
use crate::{EligibilityStore, StoreError, Tx, for_rows, int, list, row, text};
use domain::{AuditAction, GroupKind, InvitationCode, SaleId, UserId};

/// How long groups are kept after the end of their sale: orders are delivered and questions answered by then.
pub const KEEP_GROUPS: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Rows per statement of a purge.
const PURGE_ROWS: i64 = 1_000;

/// The facts about one account that the rules of a sale check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applicant {
    pub registered_at: Timestamp,
    /// The verified mail address. For a customer of another shop, a text that is no address: that shop has verified how
    /// it reaches its customer, and has one customer of this id.
    pub contact: Option<String>,
    pub has_invitation: bool,
}

/// A group that an account belongs to, under one key of the shop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub kind: GroupKind,
    pub digest: String,
}

fn group(row: &AnyRow) -> Result<Group, sqlx::Error> {
    let kind: String = row.try_get("kind")?;
    Ok(Group { kind: kind.parse().map_err(|()| row::undecodable("kind"))?, digest: row.try_get("digest")? })
}

#[boxed]
impl EligibilityStore<'_> {
    /// The facts about an account; `None` if there is no such account.
    pub async fn applicant(self, sale: SaleId, user: UserId) -> Result<Option<Applicant>, StoreError> {
        let sql = "SELECT created_at_ms,
               COALESCE(address, CASE WHEN external_verified = 1 THEN 'external ' || external_id END) AS contact,
               (SELECT COUNT(*) FROM invitations WHERE invitations.user_id = users.id AND sale_id = $2
                  AND revoked_at_ms IS NULL) AS invitations
             FROM users LEFT JOIN mail_addresses ON mail_addresses.user_id = users.id
             WHERE users.id = $1 AND deleted_at_ms IS NULL";
        let read = |row: &AnyRow| {
            Ok(Applicant {
                registered_at: row::time(row, "created_at_ms")?,
                contact: row.try_get("contact")?,
                has_invitation: row::int(row, "invitations")? > 0,
            })
        };
        self.optional(sqlx::query(sql).bind(user.to_string()).bind(sale.0), read).await
    }

    /// The groups with which an account takes part in a sale.
    pub async fn groups_of(self, sale: SaleId, user: UserId) -> Result<Vec<Group>, StoreError> {
        let sql = "SELECT kind, digest FROM sale_groups WHERE user_id = $1 AND sale_id = $2 ORDER BY kind, digest";
        self.all(sqlx::query(sql).bind(user.to_string()).bind(sale.0), group).await
    }

    /// The groups of an account in all sales, for its export.
    pub(crate) async fn all_groups_of(self, user: UserId) -> Result<Vec<(SaleId, Group, Timestamp)>, StoreError> {
        let sql = "SELECT sale_id, kind, digest, claimed_at_ms FROM sale_groups WHERE user_id = $1
             ORDER BY sale_id, kind, digest";
        let read =
            |row: &AnyRow| Ok((SaleId(row::int(row, "sale_id")?), group(row)?, row::time(row, "claimed_at_ms")?));
        self.all(sqlx::query(sql).bind(user.to_string()), read).await
    }

    /// The first kind of groups with which another account takes part already.
    pub async fn group_of_another(
        self,
        sale: SaleId,
        user: UserId,
        groups: &[Group],
    ) -> Result<Option<GroupKind>, StoreError> {
        if groups.is_empty() {
            return Ok(None);
        }
        let sql = format!(
            "SELECT kind, digest FROM sale_groups WHERE sale_id = $1 AND user_id <> $2 AND kind IN ('contact', 'address')
               AND digest IN {} ORDER BY kind DESC LIMIT 1",
            list(groups.len(), 2)
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(sale.0).bind(user.to_string());
        let query = groups.iter().fold(query, |query, group| query.bind(&group.digest));
        Ok(self.optional(query, group).await?.map(|group| group.kind))
    }

    /// Lets an account take part with these groups, with all or with none. A kind that the account takes part with
    /// already is left out. Returns the kind that another account has taken, if any. If several accounts ask at once,
    /// one of them is the first.
    pub async fn claim_groups(
        self,
        sale: SaleId,
        user: UserId,
        groups: &[Group],
    ) -> Result<Option<GroupKind>, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let sql = "SELECT kind, digest FROM sale_groups WHERE user_id = $1 AND sale_id = $2";
        let known = sqlx::query(sql).bind(user.to_string()).bind(sale.0).fetch_all(&mut *tx).await?;
        let known = known.iter().map(group).collect::<Result<Vec<_>, _>>()?;
        let is_new = |claim: &&Group| !known.iter().any(|known| known.kind == claim.kind);
        let mut new: Vec<&Group> = groups.iter().filter(is_new).collect();
        // Every transaction takes the groups in this order, so two transactions cannot deadlock.
        new.sort();
        let now = tx.now.as_millisecond();
        for Group { kind, digest } in new {
            let sql =
                "INSERT INTO sale_groups (sale_id, kind, digest, user_id, claimed_at_ms) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT DO NOTHING";
            let query = sqlx::query(sql).bind(sale.0).bind(kind.as_str()).bind(digest);
            if query.bind(user.to_string()).bind(now).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(Some(*kind));
            }
        }
        tx.commit().await?;
        Ok(None)
    }

    /// Deletes groups of sales that ended long ago, a bounded number of them. Returns whether there may be more.
    pub async fn purge_groups(self) -> Result<bool, StoreError> {
        let before = (self.now().await? - KEEP_GROUPS).as_millisecond();
        let sql =
            "DELETE FROM sale_groups WHERE (sale_id, kind, digest) IN (SELECT sale_id, kind, digest FROM sale_groups
               WHERE sale_id IN (SELECT id FROM sales WHERE state = 'ended' AND closes_at_ms < $1) LIMIT $2)";
        let deleted = sqlx::query(sql).bind(before).bind(PURGE_ROWS).execute(&self.pool).await?.rows_affected();
        Ok(deleted as i64 == PURGE_ROWS)
    }
}

/// Deletes what belongs to a draft that is deleted.
pub(super) async fn delete(tx: &mut Tx, sale: SaleId) -> Result<(), sqlx::Error> {
    for sql in [
        "DELETE FROM sale_groups WHERE sale_id = $1",
        "DELETE FROM invitations WHERE sale_id = $1",
        "DELETE FROM invitation_batches WHERE sale_id = $1",
    ] {
        sqlx::query(sql).bind(sale.0).execute(&mut **tx).await?;
    }
    Ok(())
}

// Invitation codes of a sale: made in batches, redeemed by one account each, and revoked.

/// Codes that one sale may have. With so few, counting all of them stays cheap.
pub const MAX_INVITATIONS_PER_SALE: i64 = 100_000;

/// Codes that were made together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InvitationBatch {
    pub batch: i64,
    pub made_by: String,
    pub made_at: Timestamp,
    pub made: i64,
    /// Codes that were redeemed and not revoked since.
    pub used: i64,
    pub revoked: i64,
}

impl InvitationBatch {
    pub fn unused(&self) -> i64 {
        self.made - self.used - self.revoked
    }
}

/// The outcome of redeeming a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedeemOutcome {
    /// The account has redeemed a code of the sale, now or before.
    Redeemed,
    /// The sale has no such code, another account has redeemed it, or it was revoked.
    Refused,
}

/// Codes that staff revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revocable {
    One(InvitationCode),
    /// The codes of a batch that no account has redeemed.
    UnusedOf(i64),
}

#[boxed]
impl EligibilityStore<'_> {
    /// Stores new codes of a sale; repeating it with the same codes changes nothing. Returns `false` if the sale would
    /// have more than [`MAX_INVITATIONS_PER_SALE`].
    pub async fn make_invitations(
        self,
        sale: SaleId,
        codes: &[InvitationCode],
        actor: &str,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        lock_codes(&mut tx, sale).await?;
        if let Some(first) = codes.first() {
            let sql = "SELECT 1 FROM invitations WHERE sale_id = $1 AND hash = $2";
            let query = sqlx::query(sql).bind(sale.0).bind(first.hash(sale));
            if query.fetch_optional(&mut *tx).await?.is_some() {
                return Ok(true);
            }
        }
        let counts = "SELECT COUNT(*) AS n FROM invitations WHERE sale_id = $1";
        let known = row::int(&sqlx::query(counts).bind(sale.0).fetch_one(&mut *tx).await?, "n")?;
        if known + codes.len() as i64 > MAX_INVITATIONS_PER_SALE {
            return Ok(false);
        }
        let sql = "INSERT INTO invitation_batches (sale_id, batch, made_by, made_at_ms)
             VALUES ($1, (SELECT COALESCE(MAX(batch), 0) + 1 FROM invitation_batches WHERE sale_id = $1), $2, $3)
             RETURNING batch";
        let now = tx.now;
        let query = sqlx::query(sql).bind(sale.0).bind(actor).bind(now.as_millisecond());
        let batch = row::int(&query.fetch_one(&mut *tx).await?, "batch")?;
        let sql = "INSERT INTO invitations (sale_id, hash, batch) VALUES $rows";
        for query in for_rows(sql, codes, |code| [int(sale.0), text(code.hash(sale)), int(batch)]) {
            query.execute(&mut *tx).await?;
        }
        let made = json!({"batch": batch, "invitations": codes.len()});
        log(&mut tx, actor, AuditAction::MakeInvitations, &format!("sale {sale}"), None, Some(&made), now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The batches of a sale, the newest first.
    pub async fn invitation_batches(self, sale: SaleId) -> Result<Vec<InvitationBatch>, StoreError> {
        let sql = "SELECT batches.batch, made_by, made_at_ms, COUNT(*) AS made,
               SUM(CASE WHEN user_id IS NOT NULL AND revoked_at_ms IS NULL THEN 1 ELSE 0 END) AS used,
               COUNT(revoked_at_ms) AS revoked
             FROM invitation_batches AS batches
             JOIN invitations ON invitations.sale_id = batches.sale_id AND invitations.batch = batches.batch
             WHERE batches.sale_id = $1 GROUP BY batches.batch, made_by, made_at_ms ORDER BY batches.batch DESC";
        let read = |row: &AnyRow| {
            Ok(InvitationBatch {
                batch: row::int(row, "batch")?,
                made_by: row::text(row, "made_by")?,
                made_at: row::time(row, "made_at_ms")?,
                made: row::int(row, "made")?,
                used: row::int(row, "used")?,
                revoked: row::int(row, "revoked")?,
            })
        };
        self.all(sqlx::query(sql).bind(sale.0), read).await
    }

    /// Redeems a code for an account. An account redeems one code per sale, and codes that it sends later change
    /// nothing. If several accounts send the same code at once, the first one gets it.
    pub async fn redeem_invitation(
        self,
        sale: SaleId,
        user: UserId,
        code: InvitationCode,
    ) -> Result<RedeemOutcome, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let own = "SELECT 1 FROM invitations WHERE user_id = $1 AND sale_id = $2 AND revoked_at_ms IS NULL";
        let own = sqlx::query(own).bind(user.to_string()).bind(sale.0);
        if own.fetch_optional(&mut *tx).await?.is_some() {
            return Ok(RedeemOutcome::Redeemed);
        }
        let sql = "UPDATE invitations SET user_id = $3, redeemed_at_ms = $4
             WHERE sale_id = $1 AND hash = $2 AND user_id IS NULL AND revoked_at_ms IS NULL";
        let query = sqlx::query(sql).bind(sale.0).bind(code.hash(sale)).bind(user.to_string());
        if query.bind(tx.now.as_millisecond()).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(RedeemOutcome::Refused);
        }
        tx.commit().await?;
        Ok(RedeemOutcome::Redeemed)
    }

    /// Revokes codes, with a line in the audit log. An account that has redeemed a revoked code may not take part any
    /// more, but keeps what it already has. Returns how many were revoked.
    pub async fn revoke_invitations(self, sale: SaleId, which: &Revocable, actor: &str) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let sql = match which {
            Revocable::One(_) => "hash = $3",
            Revocable::UnusedOf(_) => "batch = $3 AND user_id IS NULL",
        };
        let sql =
            format!("UPDATE invitations SET revoked_at_ms = $2 WHERE sale_id = $1 AND revoked_at_ms IS NULL AND {sql}");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(sale.0).bind(now.as_millisecond());
        let query = match which {
            Revocable::One(code) => query.bind(code.hash(sale)),
            Revocable::UnusedOf(batch) => query.bind(*batch),
        };
        let revoked = query.execute(&mut *tx).await?.rows_affected();
        if revoked > 0 {
            let batch = match which {
                Revocable::One(_) => None,
                Revocable::UnusedOf(batch) => Some(*batch),
            };
            let facts = json!({"batch": batch, "invitations": revoked});
            log(&mut tx, actor, AuditAction::RevokeInvitations, &format!("sale {sale}"), None, Some(&facts), now)
                .await?;
        }
        tx.commit().await?;
        Ok(revoked)
    }

    /// When an account redeemed codes, for its export.
    pub(crate) async fn invitations_of(self, user: UserId) -> Result<Vec<(SaleId, Option<Timestamp>)>, StoreError> {
        let sql = "SELECT sale_id, redeemed_at_ms FROM invitations WHERE user_id = $1 ORDER BY sale_id, redeemed_at_ms";
        let read = |row: &AnyRow| Ok((SaleId(row::int(row, "sale_id")?), row::optional_time(row, "redeemed_at_ms")?));
        self.all(sqlx::query(sql).bind(user.to_string()), read).await
    }
}

/// Serializes the making of batches of a sale.
async fn lock_codes(tx: &mut Tx, sale: SaleId) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE sales SET sold = sold WHERE id = $1").bind(sale.0).execute(&mut **tx).await?;
    Ok(())
}
