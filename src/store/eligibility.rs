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
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::{Bound, EligibilityStore, StoreResult, Tx, bound, column, for_rows, list, pair, row};
use domain::{AuditAction, GroupKind, InvitationCode, SaleId, UserId};

/// How long groups are kept after the end of their sale: orders are delivered and questions answered by then.
pub const KEEP_GROUPS: SignedDuration = SignedDuration::from_hours(30 * 24);

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

fn group(row: &AnyRow) -> sqlx::Result<Group> {
    read!(row => Group { kind, digest })
}

#[boxed]
impl EligibilityStore<'_> {
    /// The facts about an account; `None` if there is no such account.
    pub async fn applicant(self, sale: SaleId, user: UserId) -> StoreResult<Option<Applicant>> {
        let sql = "SELECT created_at_ms,
               COALESCE(address, CASE WHEN external_verified = 1 THEN 'external ' || external_id END) AS contact,
               (SELECT COUNT(*) FROM invitations WHERE invitations.user_id = users.id AND sale_id = $2
                  AND revoked_at_ms IS NULL) AS invitations
             FROM users LEFT JOIN mail_addresses ON mail_addresses.user_id = users.id
             WHERE users.id = $1 AND deleted_at_ms IS NULL";
        let read = |row: &AnyRow| {
            read!(row => Applicant {
                registered_at: "created_at_ms", contact, has_invitation = row::int(row, "invitations")? > 0,
            })
        };
        self.optional(query!(sql; user, sale), read).await
    }

    /// The groups with which an account takes part in a sale.
    pub async fn groups_of(self, sale: SaleId, user: UserId) -> StoreResult<Vec<Group>> {
        let sql = "SELECT kind, digest FROM sale_groups WHERE user_id = $1 AND sale_id = $2 ORDER BY kind, digest";
        self.all(query!(sql; user, sale), group).await
    }

    /// The groups of an account in all sales, for its export.
    pub(crate) async fn all_groups_of(self, user: UserId) -> StoreResult<Vec<(SaleId, Group, Timestamp)>> {
        let sql = "SELECT sale_id, kind, digest, claimed_at_ms FROM sale_groups WHERE user_id = $1
             ORDER BY sale_id, kind, digest";
        let read = |row: &AnyRow| Ok((row::get(row, "sale_id")?, group(row)?, row::get(row, "claimed_at_ms")?));
        self.all(query!(sql; user), read).await
    }

    /// The first kind of groups with which another account takes part already.
    pub async fn group_of_another(
        self,
        sale: SaleId,
        user: UserId,
        groups: &[Group],
    ) -> StoreResult<Option<GroupKind>> {
        if groups.is_empty() {
            return Ok(None);
        }
        let sql = format!(
            "SELECT kind, digest FROM sale_groups WHERE sale_id = $1 AND user_id <> $2 AND kind IN ('contact', 'address')
               AND digest IN {} ORDER BY kind DESC LIMIT 1",
            list(groups.len(), 2)
        );
        let query = bound(query!(AssertSqlSafe(sql); sale, user), groups.iter().map(|group| (&group.digest).value()));
        Ok(self.optional(query, group).await?.map(|group| group.kind))
    }

    /// Lets an account take part with these groups, with all or with none. A kind that the account takes part with
    /// already is left out. Returns the kind that another account has taken, if any. If several accounts ask at once,
    /// one of them is the first.
    pub async fn claim_groups(self, sale: SaleId, user: UserId, groups: &[Group]) -> StoreResult<Option<GroupKind>> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let sql = "SELECT kind, digest FROM sale_groups WHERE user_id = $1 AND sale_id = $2";
        let known = tx.all(query!(sql; user, sale), group).await?;
        let is_new = |claim: &&Group| !known.iter().any(|known| known.kind == claim.kind);
        let mut new: Vec<&Group> = groups.iter().filter(is_new).collect();
        // Every transaction takes the groups in this order, so two transactions cannot deadlock.
        new.sort();
        for Group { kind, digest } in new {
            let sql =
                "INSERT INTO sale_groups (sale_id, kind, digest, user_id, claimed_at_ms) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT DO NOTHING";
            if tx.changed(query!(sql; sale, kind, digest, user, tx.now)).await? == 0 {
                return Ok(Some(*kind));
            }
        }
        tx.commit_and(None).await
    }

    /// Deletes groups of sales that ended long ago, a bounded number of them. Returns whether there may be more.
    pub async fn purge_groups(self) -> StoreResult<bool> {
        let ended = "sale_id IN (SELECT id FROM sales WHERE state = 'ended' AND closes_at_ms < $1)";
        let before = values![self.now().await? - KEEP_GROUPS];
        self.purge_rows(["sale_groups", "sale_id, kind, digest"], ended, before).await
    }
}

/// Deletes what belongs to a draft that is deleted.
pub(super) async fn delete(tx: &mut Tx, sale: SaleId) -> sqlx::Result<()> {
    for sql in [
        "DELETE FROM sale_groups WHERE sale_id = $1",
        "DELETE FROM invitations WHERE sale_id = $1",
        "DELETE FROM invitation_batches WHERE sale_id = $1",
    ] {
        tx.run(query!(sql; sale)).await?;
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
    pub async fn make_invitations(self, sale: SaleId, codes: &[InvitationCode], actor: &str) -> StoreResult<bool> {
        let mut tx = self.begin().await?;
        lock_codes(&mut tx, sale).await?;
        if let Some(first) = codes.first() {
            let sql = "SELECT 1 FROM invitations WHERE sale_id = $1 AND hash = $2";
            if tx.exists(query!(sql; sale, first.hash(sale))).await? {
                return Ok(true);
            }
        }
        let counts = "SELECT COUNT(*) AS n FROM invitations WHERE sale_id = $1";
        let known: i64 = tx.one(query!(counts; sale), column("n")).await?;
        if known + codes.len() as i64 > MAX_INVITATIONS_PER_SALE {
            return Ok(false);
        }
        let sql = "INSERT INTO invitation_batches (sale_id, batch, made_by, made_at_ms)
             VALUES ($1, (SELECT COALESCE(MAX(batch), 0) + 1 FROM invitation_batches WHERE sale_id = $1), $2, $3)
             RETURNING batch";
        let batch: i64 = tx.one(query!(sql; sale, actor, tx.now), column("batch")).await?;
        let sql = "INSERT INTO invitations (sale_id, hash, batch) VALUES $rows";
        tx.run_all(for_rows(sql, codes, |code| values![sale, code.hash(sale), batch])).await?;
        let made = json!({"batch": batch, "invitations": codes.len()});
        tx.log(actor, AuditAction::MakeInvitations, &format!("sale {sale}"), None, Some(&made), tx.now).await?;
        tx.commit_and(true).await
    }

    /// The batches of a sale, the newest first.
    pub async fn invitation_batches(self, sale: SaleId) -> StoreResult<Vec<InvitationBatch>> {
        let sql = "SELECT batches.batch, made_by, made_at_ms, COUNT(*) AS made,
               SUM(CASE WHEN user_id IS NOT NULL AND revoked_at_ms IS NULL THEN 1 ELSE 0 END) AS used,
               COUNT(revoked_at_ms) AS revoked
             FROM invitation_batches AS batches
             JOIN invitations ON invitations.sale_id = batches.sale_id AND invitations.batch = batches.batch
             WHERE batches.sale_id = $1 GROUP BY batches.batch, made_by, made_at_ms ORDER BY batches.batch DESC";
        let read =
            |row: &AnyRow| read!(row => InvitationBatch { batch, made_by, made_at: "made_at_ms", made, used, revoked });
        self.all(query!(sql; sale), read).await
    }

    /// Redeems a code for an account. An account redeems one code per sale, and codes that it sends later change
    /// nothing. If several accounts send the same code at once, the first one gets it.
    pub async fn redeem_invitation(
        self,
        sale: SaleId,
        user: UserId,
        code: InvitationCode,
    ) -> StoreResult<RedeemOutcome> {
        let mut tx = self.begin().await?;
        tx.lock_user(user).await?;
        let own = "SELECT 1 FROM invitations WHERE user_id = $1 AND sale_id = $2 AND revoked_at_ms IS NULL";
        if tx.exists(query!(own; user, sale)).await? {
            return Ok(RedeemOutcome::Redeemed);
        }
        let sql = "UPDATE invitations SET user_id = $3, redeemed_at_ms = $4
             WHERE sale_id = $1 AND hash = $2 AND user_id IS NULL AND revoked_at_ms IS NULL";
        if tx.changed(query!(sql; sale, code.hash(sale), user, tx.now)).await? == 0 {
            return Ok(RedeemOutcome::Refused);
        }
        tx.commit_and(RedeemOutcome::Redeemed).await
    }

    /// Revokes codes, with a line in the audit log. An account that has redeemed a revoked code may not take part any
    /// more, but keeps what it already has. Returns how many were revoked.
    pub async fn revoke_invitations(self, sale: SaleId, which: &Revocable, actor: &str) -> StoreResult<u64> {
        let mut tx = self.begin().await?;
        let sql = match which {
            Revocable::One(_) => "hash = $3",
            Revocable::UnusedOf(_) => "batch = $3 AND user_id IS NULL",
        };
        let sql =
            format!("UPDATE invitations SET revoked_at_ms = $2 WHERE sale_id = $1 AND revoked_at_ms IS NULL AND {sql}");
        let which_value = match which {
            Revocable::One(code) => code.hash(sale).value(),
            Revocable::UnusedOf(batch) => batch.value(),
        };
        let revoked = tx.changed(bound(query!(AssertSqlSafe(sql); sale, tx.now), [which_value])).await?;
        if revoked > 0 {
            let batch = match which {
                Revocable::One(_) => None,
                Revocable::UnusedOf(batch) => Some(*batch),
            };
            let facts = json!({"batch": batch, "invitations": revoked});
            tx.log(actor, AuditAction::RevokeInvitations, &format!("sale {sale}"), None, Some(&facts), tx.now).await?;
        }
        tx.commit_and(revoked).await
    }

    /// When an account redeemed codes, for its export.
    pub(crate) async fn invitations_of(self, user: UserId) -> StoreResult<Vec<(SaleId, Option<Timestamp>)>> {
        let sql = "SELECT sale_id, redeemed_at_ms FROM invitations WHERE user_id = $1 ORDER BY sale_id, redeemed_at_ms";
        self.all(query!(sql; user), pair("sale_id", "redeemed_at_ms")).await
    }
}

/// Serializes the making of batches of a sale.
async fn lock_codes(tx: &mut Tx, sale: SaleId) -> sqlx::Result<()> {
    tx.run(query!("UPDATE sales SET sold = sold WHERE id = $1"; sale)).await
}
