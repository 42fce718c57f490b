//! Who may take part in a sale: the facts about an account that the rules check, the groups that accounts belong to,
//! and invitation codes ([`invitations`]).
//!
//! Only the first account of a group may take part: a group is a row, and its digest is unique in the sale. Digests are
//! deleted [`KEEP_GROUPS`] after the sale's end.

pub(super) mod invitations;

use jiff::{SignedDuration, Timestamp};
use sqlx::AssertSqlSafe;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{EligibilityStore, StoreError, Tx, list, row};
use domain::{GroupKind, SaleId, UserId};

/// How long groups are kept after the end of their sale: orders are delivered and questions answered by then.
pub const KEEP_GROUPS: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Rows per statement of a purge.
const PURGE_ROWS: i64 = 1_000;

/// The facts about one account that the rules of a sale check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applicant {
    pub registered_at: Timestamp,
    /// The verified mail address.
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

impl EligibilityStore<'_> {
    /// The facts about an account; `None` if there is no such account.
    pub async fn applicant(self, sale: SaleId, user: UserId) -> Result<Option<Applicant>, StoreError> {
        let sql = "SELECT created_at_ms, address,
               (SELECT COUNT(*) FROM invitations WHERE invitations.user_id = users.id AND sale_id = $2
                  AND revoked_at_ms IS NULL) AS invitations
             FROM users LEFT JOIN mail_addresses ON mail_addresses.user_id = users.id
             WHERE users.id = $1 AND deleted_at_ms IS NULL";
        let read = |row: &AnyRow| {
            Ok(Applicant {
                registered_at: row::time(row, "created_at_ms")?,
                contact: row.try_get("address")?,
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
    pub async fn all_groups_of(self, user: UserId) -> Result<Vec<(SaleId, Group, Timestamp)>, StoreError> {
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
        let query = groups.iter().fold(query, |query, group| query.bind(group.digest.clone()));
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
            let query = sqlx::query(sql).bind(sale.0).bind(kind.as_str()).bind(digest.clone());
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
