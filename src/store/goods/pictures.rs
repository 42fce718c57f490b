//! Pictures, and the galleries that show them.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::pool::Connection;
use crate::{GoodsStore, MAX_ROWS, StoreError, Tx, list, row};
use domain::{GoodsId, Picture};

macro_rules! columns {
    () => {
        "name, width, height, placeholder"
    };
}

fn picture(row: &AnyRow) -> Result<Picture, sqlx::Error> {
    Ok(Picture {
        name: row::text(row, "name")?,
        width: pixels(row, "width")?,
        height: pixels(row, "height")?,
        placeholder: row::text(row, "placeholder")?,
    })
}

fn pixels(row: &AnyRow, column: &str) -> Result<u32, sqlx::Error> {
    u32::try_from(row::int(row, column)?).map_err(|_| row::undecodable(column))
}

impl GoodsStore<'_> {
    /// Saves a picture. Saving it again restarts the time after which an unused picture is deleted.
    pub async fn put_picture(self, picture: &Picture, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO pictures (name, width, height, placeholder, touched_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO UPDATE SET touched_at_ms = excluded.touched_at_ms",
        )
        .bind(&picture.name)
        .bind(i64::from(picture.width))
        .bind(i64::from(picture.height))
        .bind(&picture.placeholder)
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    /// The pictures with these names, in the same order. Unknown names are skipped.
    pub async fn pictures(self, names: &[String]) -> Result<Vec<Picture>, StoreError> {
        let mut found = HashMap::new();
        for names in names.chunks(MAX_ROWS) {
            let sql = format!(concat!("SELECT ", columns!(), " FROM pictures WHERE name IN {}"), list(names.len(), 0));
            let query = names.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, name| query.bind(name));
            for row in query.fetch_all(&self.pool).await? {
                let picture = picture(&row)?;
                found.insert(picture.name.clone(), picture);
            }
        }
        Ok(names.iter().filter_map(|name| found.remove(name)).collect())
    }

    /// The names of all pictures.
    pub async fn picture_names(self) -> Result<HashSet<String>, StoreError> {
        Ok(self
            .all(sqlx::query("SELECT name FROM pictures"), |row| row::text(row, "name"))
            .await?
            .into_iter()
            .collect())
    }

    /// Deletes pictures that are in no gallery and were last used before `since`. Returns their number.
    pub async fn delete_unused_pictures(self, since: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "DELETE FROM pictures WHERE touched_at_ms < $1
             AND NOT EXISTS (SELECT 1 FROM goods_pictures WHERE goods_pictures.picture = pictures.name)",
        )
        .bind(since.as_millisecond())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }
}

/// All galleries, by the id of their goods.
pub(super) async fn galleries(connection: &mut Connection) -> Result<HashMap<i64, Vec<Picture>>, sqlx::Error> {
    let sql = concat!(
        "SELECT goods_id, ",
        columns!(),
        " FROM goods_pictures JOIN pictures ON name = picture ORDER BY goods_id, place"
    );
    let mut galleries: HashMap<i64, Vec<Picture>> = HashMap::new();
    for row in sqlx::query(sql).fetch_all(connection).await? {
        galleries.entry(row::int(&row, "goods_id")?).or_default().push(picture(&row)?);
    }
    Ok(galleries)
}

/// The gallery of one catalogue item.
pub(super) async fn gallery(connection: &mut Connection, id: GoodsId) -> Result<Vec<Picture>, sqlx::Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM goods_pictures JOIN pictures ON name = picture WHERE goods_id = $1 ORDER BY place"
    );
    sqlx::query(sql).bind(id.0).fetch_all(connection).await?.iter().map(picture).collect()
}

/// Replaces a gallery. Removed pictures get a fresh time of last use, because open pages still show them.
pub(super) async fn replace_gallery(
    tx: &mut Tx,
    id: GoodsId,
    before: &[Picture],
    after: &[Picture],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM goods_pictures WHERE goods_id = $1").bind(id.0).execute(&mut **tx).await?;
    for (place, picture) in (1_i64..).zip(after) {
        sqlx::query("INSERT INTO goods_pictures (goods_id, place, picture) VALUES ($1, $2, $3)")
            .bind(id.0)
            .bind(place)
            .bind(&picture.name)
            .execute(&mut **tx)
            .await?;
    }
    for picture in before.iter().filter(|picture| !after.iter().any(|kept| kept.name == picture.name)) {
        sqlx::query("UPDATE pictures SET touched_at_ms = $1 WHERE name = $2")
            .bind(now.as_millisecond())
            .bind(&picture.name)
            .execute(&mut **tx)
            .await?;
    }
    Ok(())
}
