//! Packets that are not settled. There may be a hundred thousand of them, so no periodic reader should read all of
//! them.

use super::*;
use crate::PacketStore;

/// The unclaimed money in open packets of the giver `$1`.
pub(crate) const UNCLAIMED: &str = "SELECT CAST(COALESCE(SUM(total - claimed_amount), 0) AS BIGINT) AS amount
     FROM packets WHERE state = 'open' AND giver = $1";

impl PacketStore<'_> {
    /// The unclaimed money in a user's open packets, in minor units.
    pub async fn unclaimed_money(self, giver: UserId) -> Result<i64, StoreError> {
        Ok(row::int(&sqlx::query(UNCLAIMED).bind(giver.to_string()).fetch_one(&self.pool).await?, "amount")?)
    }

    /// Every packet that is not settled.
    pub async fn open(self) -> Result<Vec<Packet>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM packets WHERE state = 'open' ORDER BY id");
        self.all(sqlx::query(sql), packet).await
    }

    /// Packets that are not settled, and whose time is over at `now` or whose shares all have a claim in the database.
    pub async fn over(self, now: Timestamp) -> Result<Vec<Packet>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM packets WHERE state = 'open' AND expires_at_ms <= $1 UNION SELECT ",
            columns!(),
            " FROM packets WHERE state = 'open' AND claimed >= count ORDER BY id"
        );
        self.all(sqlx::query(sql).bind(now.as_millisecond()), packet).await
    }

    /// Packets that are not settled and were never loaded into Redis.
    pub async fn unloaded_packets(self) -> Result<Vec<Packet>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM packets WHERE state = 'open' AND epoch = 0 ORDER BY id");
        self.all(sqlx::query(sql), packet).await
    }

    /// Packets that grant nothing until every `serve` process has replayed its grants.
    pub async fn recovering_packets(self) -> Result<Vec<Packet>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM packets WHERE recovering = 1 ORDER BY id");
        self.all(sqlx::query(sql), packet).await
    }

    /// Records that packets wait for the replay of grants, or do not wait any more.
    pub async fn set_recovering(self, ids: &[PacketId], recovering: bool) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let sql = format!("UPDATE packets SET recovering = $1 WHERE id IN {}", list(ids.len(), 1));
        let query = sqlx::query(AssertSqlSafe(sql)).bind(i64::from(recovering));
        ids.iter().fold(query, |query, id| query.bind(id.0)).execute(&self.pool).await?;
        Ok(())
    }

    /// Packets that are not settled, by id, after `after`.
    pub async fn open_after(self, after: PacketId, limit: i64) -> Result<Vec<Packet>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM packets WHERE state = 'open' AND id > $1 ORDER BY id LIMIT $2");
        self.all(sqlx::query(sql).bind(after.0).bind(limit), packet).await
    }

    /// Packets that were given or settled at `since` or later.
    pub async fn changed_since(self, since: Timestamp) -> Result<Vec<Packet>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM packets WHERE created_at_ms >= $1 UNION SELECT ",
            columns!(),
            " FROM packets WHERE settled_at_ms >= $1"
        );
        self.all(sqlx::query(sql).bind(since.as_millisecond()), packet).await
    }
}

/// The number of a giver's packets that are not settled.
pub(super) async fn count_open(tx: &mut Tx, giver: Giver) -> Result<i64, sqlx::Error> {
    let query = match giver {
        Giver::User(user) => {
            sqlx::query("SELECT COUNT(*) AS n FROM packets WHERE state = 'open' AND giver = $1").bind(user.to_string())
        }
        Giver::Shop => sqlx::query("SELECT COUNT(*) AS n FROM packets WHERE state = 'open' AND giver IS NULL"),
    };
    row::int(&query.fetch_one(&mut **tx).await?, "n")
}
