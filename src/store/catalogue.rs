//! Goods, and the catalogue's revision.

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

pub(super) use super::audit::log;
use super::{Store, StoreError, Tx, row};
use crate::domain::{Bilingual, Goods, GoodsId};

/// What an administrator enters about goods; `None` keeps what is there.
#[derive(Debug, Clone, Default)]
pub struct GoodsDraft {
    pub name: Option<Bilingual>,
    pub description: Option<Bilingual>,
    pub image: Option<String>,
}

macro_rules! columns {
    () => {
        "id, name_zh, name_en, description_zh, description_en, image, updated_at_ms"
    };
}

fn goods(row: &AnyRow) -> Result<Goods, sqlx::Error> {
    Ok(Goods {
        id: GoodsId(row::int(row, "id")?),
        name: Bilingual::new(row::text(row, "name_zh")?, row::text(row, "name_en")?),
        description: Bilingual::new(row::text(row, "description_zh")?, row::text(row, "description_en")?),
        image: row::text(row, "image")?,
        updated_at: row::time(row, "updated_at_ms")?,
    })
}

/// Raises the revision; the catalogue's row stays locked, so changes happen one after the other.
pub(super) async fn touch(tx: &mut Tx) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE catalogue SET revision = revision + 1 WHERE id = 1").execute(&mut **tx).await?;
    Ok(())
}

/// As `touch`, and takes the next number of a counter.
pub(super) async fn next_id(tx: &mut Tx, counter: &'static str) -> Result<i64, sqlx::Error> {
    let sql =
        format!("UPDATE catalogue SET revision = revision + 1, {counter} = {counter} + 1 RETURNING {counter} AS id");
    sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut **tx).await?.try_get("id")
}

impl Store {
    /// Rises with every change of goods or sales.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT revision FROM catalogue WHERE id = 1").fetch_one(&self.pool).await?;
        Ok(row::int(&row, "revision")?)
    }

    pub async fn all_goods(&self) -> Result<Vec<Goods>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM goods ORDER BY id");
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(goods).collect::<Result<_, _>>()?)
    }

    pub async fn goods(&self, id: GoodsId) -> Result<Option<Goods>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM goods WHERE id = $1");
        let row = sqlx::query(sql).bind(id.0).fetch_optional(&self.pool).await?;
        Ok(row.as_ref().map(goods).transpose()?)
    }

    /// Creates goods (`id` is `None`) or changes them; `None` when there are no such goods.
    pub async fn put_goods(
        &self,
        id: Option<GoodsId>,
        draft: GoodsDraft,
        actor: &str,
        now: Timestamp,
    ) -> Result<Option<Goods>, StoreError> {
        let mut tx = self.begin().await?;
        let (id, before) = match id {
            None => (GoodsId(next_id(&mut tx, "last_goods_id").await?), None),
            Some(id) => {
                touch(&mut tx).await?;
                let sql = concat!("SELECT ", columns!(), " FROM goods WHERE id = $1");
                let Some(row) = sqlx::query(sql).bind(id.0).fetch_optional(&mut *tx).await? else { return Ok(None) };
                (id, Some(goods(&row)?))
            }
        };
        let empty = || Bilingual::new("", "");
        let after = Goods {
            id,
            name: draft.name.or_else(|| before.as_ref().map(|g| g.name.clone())).unwrap_or_else(empty),
            description: draft
                .description
                .or_else(|| before.as_ref().map(|g| g.description.clone()))
                .unwrap_or_else(empty),
            image: draft.image.or_else(|| before.as_ref().map(|g| g.image.clone())).unwrap_or_default(),
            updated_at: now,
        };
        write_goods(&mut tx, &after).await?;
        let action = if before.is_some() { "edit" } else { "create" };
        log(&mut tx, actor, action, &format!("goods {id}"), before.as_ref(), Some(&after), now).await?;
        tx.commit().await?;
        Ok(Some(after))
    }
}

async fn write_goods(tx: &mut Tx, goods: &Goods) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, image, updated_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (id) DO UPDATE SET name_zh = excluded.name_zh, name_en = excluded.name_en,
           description_zh = excluded.description_zh, description_en = excluded.description_en,
           image = excluded.image, updated_at_ms = excluded.updated_at_ms",
    )
    .bind(goods.id.0)
    .bind(&goods.name.zh)
    .bind(&goods.name.en)
    .bind(&goods.description.zh)
    .bind(&goods.description.en)
    .bind(&goods.image)
    .bind(goods.updated_at.as_millisecond())
    .execute(&mut **tx)
    .await?;
    Ok(())
}
