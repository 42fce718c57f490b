//! Goods with their galleries.

use std::collections::{HashMap, HashSet};

use boxed::boxed;
use jiff::Timestamp;
use sqlx::any::AnyRow;

use crate::idempotency::{made_before, record_made};
use crate::pool::Connection;
use crate::sales::changes::{next_id, touch};
use crate::sales::drafts::create_in;
use crate::{
    Announce, GoodsStore, RequestId, SaleDraft, SaleRefusal, SaveOptions, StoreError, StoreResult, Tx, column,
    expect_version, next_version, row,
};
use domain::{AuditAction, Bilingual, CategoryId, GalleryChange, GalleryRefusal, Goods, GoodsId, Picture, SaleId};

/// The definition of new or edited goods. `None` keeps the current value.
#[derive(Debug, Clone, Default)]
pub struct GoodsDraft {
    pub name: Option<Bilingual>,
    pub description: Option<Bilingual>,
    /// `Some(None)` takes the goods out of their category.
    pub category_id: Option<Option<CategoryId>>,
    /// `Some(None)` makes the goods a product of their own.
    pub variant_of: Option<Option<GoodsId>>,
    pub variant: Option<Bilingual>,
    /// The gallery. Its pictures must be in the database.
    pub pictures: Option<Vec<Picture>>,
    /// The id of the request. All attempts of one request create goods only once.
    pub request: Option<RequestId>,
    /// The goods must be in one of these versions; `None` for any.
    pub versions: Option<Vec<i64>>,
}

/// Why a change to goods is refused.
#[derive(Debug, thiserror::Error)]
pub enum GoodsRefusal {
    #[error("there are no such goods")]
    NoSuchGoods,
    #[error("there is no such category")]
    NoSuchCategory,
    #[error("variants are of goods that are a variant of none")]
    VariantOfVariant,
    #[error("other goods are variants of these")]
    HasVariants,
    #[error("a sale of the goods is running or scheduled")]
    OnSale,
    #[error("the goods are of another version")]
    ChangedMeanwhile,
    #[error(transparent)]
    Gallery(#[from] GalleryRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The name of goods.
pub(crate) async fn name(tx: &mut Tx, id: GoodsId) -> sqlx::Result<Bilingual> {
    tx.one(query!("SELECT name_zh, name_en FROM goods WHERE id = $1"; id), column("name")).await
}

column_list!(columns: "id, name_zh, name_en, description_zh, description_en, category_id, variant_of, variant_zh,
     variant_en, updated_at_ms, archived_at_ms");

fn goods(row: &AnyRow, pictures: Vec<Picture>) -> sqlx::Result<Goods> {
    read!(row => Goods {
        id, name, description, category_id, variant_of, variant, pictures = pictures, updated_at: "updated_at_ms",
        archived_at: "archived_at_ms",
    })
}

#[boxed]
impl GoodsStore<'_> {
    /// All goods, archived ones included.
    pub async fn list(self) -> StoreResult<Vec<Goods>> {
        let mut all =
            self.all(query!(select!(columns, "FROM goods ORDER BY id")), |row| goods(row, Vec::new())).await?;
        let mut pictures = galleries(&mut self.pool.acquire().await?).await?;
        for goods in &mut all {
            goods.pictures = pictures.remove(&goods.id.0).unwrap_or_default();
        }
        Ok(all)
    }

    pub async fn get(self, id: GoodsId) -> StoreResult<Option<Goods>> {
        Ok(read(&mut self.pool.acquire().await?, id).await?)
    }

    /// Creates goods (`id` is `None`) or changes them. Returns `None` if there are no such goods.
    pub async fn put(
        self,
        id: Option<GoodsId>,
        draft: GoodsDraft,
        actor: &str,
        now: Timestamp,
    ) -> Result<Option<Goods>, GoodsRefusal> {
        let mut tx = self.begin().await?;
        let put = put_in(&mut tx, id, draft, actor, now).await?;
        tx.commit_and(put).await
    }

    /// Changes the gallery of goods. With `versions`, the goods must be in one of these versions.
    pub async fn change_gallery(
        self,
        id: GoodsId,
        versions: Option<&[i64]>,
        change: GalleryChange,
        actor: &str,
        now: Timestamp,
    ) -> Result<Goods, GoodsRefusal> {
        let mut tx = self.begin().await?;
        let before = lock(&mut tx, id).await?.ok_or(GoodsRefusal::NoSuchGoods)?;
        expect_version(before.version(), versions, GoodsRefusal::ChangedMeanwhile)?;
        let after = Goods { pictures: change.apply(before.pictures.clone())?, ..before.clone() };
        let goods = write(&mut tx, Some(before), after, AuditAction::Edit, actor, now).await?;
        tx.commit_and(goods).await
    }

    /// Archives goods or takes them out of the archive. Idempotent. Holds the catalogue's lock, so that no sale of them
    /// starts at the same time.
    pub async fn archive(self, id: GoodsId, archive: bool, actor: &str, now: Timestamp) -> Result<Goods, GoodsRefusal> {
        let mut tx = self.begin().await?;
        let before = lock(&mut tx, id).await?.ok_or(GoodsRefusal::NoSuchGoods)?;
        if before.is_archived() == archive {
            return Ok(before);
        }
        let sql = "SELECT id FROM sales WHERE goods_id = $1 AND state IN ('scheduled', 'live', 'paused') LIMIT 1";
        if archive && tx.exists(query!(sql; id)).await? {
            return Err(GoodsRefusal::OnSale);
        }
        let after = Goods { archived_at: archive.then_some(now), ..before.clone() };
        let action = if archive { AuditAction::Archive } else { AuditAction::Unarchive };
        let goods = write(&mut tx, Some(before), after, action, actor, now).await?;
        tx.commit_and(goods).await
    }

    /// Creates goods and drafts of sales from the lines of a file, all or none. An error names the line, counted from 0. If an
    /// earlier attempt of the request has carried it out, nothing is made.
    pub async fn import(
        self,
        lines: Vec<(GoodsDraft, Option<SaleDraft>)>,
        request: Option<RequestId>,
        actor: &str,
        now: Timestamp,
    ) -> Result<Vec<(GoodsId, Option<SaleId>)>, (usize, ImportRefusal)> {
        let failed = |error: StoreError| (0, ImportRefusal::Sale(error.into()));
        let mut tx = self.begin().await.map_err(failed)?;
        if made_before(&mut tx, request).await.map_err(|error| failed(error.into()))?.is_some() {
            return Ok(Vec::new());
        }
        let mut made = Vec::with_capacity(lines.len());
        for (index, (goods, sale)) in lines.into_iter().enumerate() {
            let goods = put_in(&mut tx, None, goods, actor, now).await.map_err(|refusal| (index, refusal.into()))?;
            let Some(goods) = goods else { continue };
            let sale = match sale {
                None => None,
                Some(sale) => {
                    let sale = SaleDraft { goods_id: goods.id, ..sale };
                    let options = SaveOptions { announce: Announce::Draft, ..SaveOptions::default() };
                    let created = async {
                        let id = SaleId(next_id(&mut tx, "last_sale_id").await?);
                        create_in(&mut tx, id, &sale, &options, actor, now).await
                    };
                    Some(created.await.map_err(|refusal: SaleRefusal| (index, refusal.into()))?.id)
                }
            };
            made.push((goods.id, sale));
        }
        record_made(&mut tx, request, "").await.map_err(|error| failed(error.into()))?;
        tx.commit().await.map_err(|error| failed(error.into()))?;
        Ok(made)
    }
}

/// Why a line of a file is refused.
#[derive(Debug, thiserror::Error)]
pub enum ImportRefusal {
    #[error(transparent)]
    Goods(#[from] GoodsRefusal),
    #[error(transparent)]
    Sale(#[from] SaleRefusal),
}

/// New goods without text or pictures.
fn blank(id: GoodsId, now: Timestamp) -> Goods {
    let empty = Bilingual::new("", "");
    Goods {
        id,
        name: empty.clone(),
        description: empty.clone(),
        category_id: None,
        variant_of: None,
        variant: empty,
        pictures: Vec::new(),
        updated_at: now,
        archived_at: None,
    }
}

/// Refuses a category that does not exist. The catalogue's lock keeps that true until the end of the transaction.
async fn check_category(tx: &mut Tx, id: Option<CategoryId>) -> Result<(), GoodsRefusal> {
    let Some(id) = id else { return Ok(()) };
    match tx.exists(query!("SELECT id FROM categories WHERE id = $1"; id)).await? {
        true => Ok(()),
        false => Err(GoodsRefusal::NoSuchCategory),
    }
}

/// Refuses a variant if its product does not exist or is itself a variant, or if the goods have variants. So all
/// variants of a product name the same goods.
async fn check_variant_of(tx: &mut Tx, goods: &Goods) -> Result<(), GoodsRefusal> {
    let Some(product) = goods.variant_of else { return Ok(()) };
    let sql = "SELECT id FROM goods WHERE id = $1 AND id <> $2 AND variant_of IS NULL";
    if !tx.exists(query!(sql; product, goods.id)).await? {
        return Err(GoodsRefusal::VariantOfVariant);
    }
    let sql = "SELECT id FROM goods WHERE variant_of = $1 LIMIT 1";
    if tx.exists(query!(sql; goods.id)).await? { Err(GoodsRefusal::HasVariants) } else { Ok(()) }
}

async fn read(connection: &mut Connection, id: GoodsId) -> sqlx::Result<Option<Goods>> {
    let sql = select!(columns, "FROM goods WHERE id = $1");
    let Some(row) = connection.fetch_optional(query!(sql; id)).await? else { return Ok(None) };
    Ok(Some(goods(&row, gallery(connection, id).await?)?))
}

/// Reads goods and locks the catalogue until the end of the transaction.
async fn lock(tx: &mut Tx, id: GoodsId) -> sqlx::Result<Option<Goods>> {
    touch(tx).await?;
    read(tx, id).await
}

/// As [`GoodsStore::put`], within a transaction.
async fn put_in(
    tx: &mut Tx,
    id: Option<GoodsId>,
    draft: GoodsDraft,
    actor: &str,
    now: Timestamp,
) -> Result<Option<Goods>, GoodsRefusal> {
    if let Some(made) = made_before(tx, draft.request).await? {
        let made: GoodsId = made.parse().map_err(|_| row::undecodable("made"))?;
        return Ok(read(tx, made).await?);
    }
    let before = match id {
        None => None,
        Some(id) => match lock(tx, id).await? {
            Some(goods) => Some(goods),
            None => return Ok(None),
        },
    };
    if let Some(goods) = &before {
        expect_version(goods.version(), draft.versions.as_deref(), GoodsRefusal::ChangedMeanwhile)?;
    }
    let present = match &before {
        Some(goods) => goods.clone(),
        None => blank(GoodsId(next_id(tx, "last_goods_id").await?), now),
    };
    let after = Goods {
        name: draft.name.unwrap_or(present.name),
        description: draft.description.unwrap_or(present.description),
        category_id: draft.category_id.unwrap_or(present.category_id),
        variant_of: draft.variant_of.unwrap_or(present.variant_of),
        variant: draft.variant.unwrap_or(present.variant),
        pictures: draft.pictures.unwrap_or(present.pictures),
        ..present
    };
    if after.category_id != before.as_ref().and_then(|goods| goods.category_id) {
        check_category(tx, after.category_id).await?;
    }
    if after.variant_of != before.as_ref().and_then(|goods| goods.variant_of) {
        check_variant_of(tx, &after).await?;
    }
    let action = if before.is_some() { AuditAction::Edit } else { AuditAction::Create };
    record_made(tx, draft.request, &after.id.to_string()).await?;
    Ok(Some(write(tx, before, after, action, actor, now).await?))
}

/// Writes goods and logs the actor.
async fn write(
    tx: &mut Tx,
    before: Option<Goods>,
    after: Goods,
    action: AuditAction,
    actor: &str,
    now: Timestamp,
) -> sqlx::Result<Goods> {
    let updated_at = next_version(before.as_ref().map(|before| before.updated_at), now);
    let after = Goods { updated_at, ..after };
    let sql = "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, updated_at_ms, archived_at_ms,
           category_id, variant_of, variant_zh, variant_en)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (id) DO UPDATE SET name_zh = excluded.name_zh, name_en = excluded.name_en,
           description_zh = excluded.description_zh, description_en = excluded.description_en,
           updated_at_ms = excluded.updated_at_ms, archived_at_ms = excluded.archived_at_ms,
           category_id = excluded.category_id, variant_of = excluded.variant_of,
           variant_zh = excluded.variant_zh, variant_en = excluded.variant_en";
    let query = query!(sql; after.id, &after.name.zh, &after.name.en, &after.description.zh, &after.description.en,
        after.version(), after.archived_at, after.category_id, after.variant_of, &after.variant.zh, &after.variant.en);
    tx.run(query).await?;
    let old_gallery = before.as_ref().map_or(&[][..], |goods| &goods.pictures);
    if old_gallery != after.pictures {
        replace_gallery(tx, after.id, old_gallery, &after.pictures, now).await?;
    }
    tx.log(actor, action, &format!("goods {}", after.id), before.as_ref(), Some(&after), now).await?;
    Ok(after)
}

// Pictures, and the galleries that show them.

column_list!(picture_columns: "name, width, height, placeholder");

fn picture(row: &AnyRow) -> sqlx::Result<Picture> {
    read!(row => Picture { name, width, height, placeholder })
}

#[boxed]
impl GoodsStore<'_> {
    /// Saves a picture. Saving it again restarts the time after which an unused picture is deleted.
    pub async fn put_picture(self, picture: &Picture, now: Timestamp) -> StoreResult<()> {
        let mut tx = self.begin().await?;
        let sql = "INSERT INTO pictures (name, width, height, placeholder, touched_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO UPDATE SET touched_at_ms = excluded.touched_at_ms";
        tx.run(query!(sql; &picture.name, picture.width, picture.height, &picture.placeholder, now)).await?;
        Ok(tx.commit().await?)
    }

    /// The pictures with these names, in the same order. Unknown names are skipped.
    pub async fn pictures(self, names: &[String]) -> StoreResult<Vec<Picture>> {
        let sql = select!(picture_columns, "FROM pictures WHERE name IN $ids");
        let read = |row: &AnyRow| picture(row).map(|picture| (picture.name.clone(), picture));
        let mut found: HashMap<String, Picture> = self.all_of(sql, &[], names, read).await?;
        Ok(names.iter().filter_map(|name| found.remove(name)).collect())
    }

    /// The names of all pictures.
    pub async fn picture_names(self) -> StoreResult<HashSet<String>> {
        Ok(self.all(query!("SELECT name FROM pictures"), column("name")).await?.into_iter().collect())
    }

    /// Deletes pictures that are in no gallery, are not the logo, and were last used before `since`. Returns their number.
    pub async fn delete_unused_pictures(self, since: Timestamp) -> StoreResult<u64> {
        let mut tx = self.begin().await?;
        let sql = "DELETE FROM pictures WHERE touched_at_ms < $1
             AND NOT EXISTS (SELECT 1 FROM goods_pictures WHERE goods_pictures.picture = pictures.name)
             AND NOT EXISTS (SELECT 1 FROM shop_settings WHERE logo = pictures.name)";
        let done = tx.changed(query!(sql; since)).await?;
        tx.commit_and(done).await
    }
}

/// All galleries, by the id of their goods.
async fn galleries(connection: &mut Connection) -> sqlx::Result<HashMap<i64, Vec<Picture>>> {
    let sql = concat!(
        "SELECT goods_id, ",
        picture_columns!(),
        " FROM goods_pictures JOIN pictures ON name = picture ORDER BY goods_id, place"
    );
    let mut galleries: HashMap<i64, Vec<Picture>> = HashMap::new();
    for row in connection.fetch_all(query!(sql)).await? {
        galleries.entry(row::int(&row, "goods_id")?).or_default().push(picture(&row)?);
    }
    Ok(galleries)
}

/// The gallery of one catalogue item.
async fn gallery(connection: &mut Connection, id: GoodsId) -> sqlx::Result<Vec<Picture>> {
    let sql = select!(
        picture_columns,
        "FROM goods_pictures JOIN pictures ON name = picture WHERE goods_id = $1 ORDER BY place"
    );
    connection.all(query!(sql; id), picture).await
}

/// Replaces a gallery. Removed pictures get a fresh time of last use, because open pages still show them.
async fn replace_gallery(
    tx: &mut Tx,
    id: GoodsId,
    before: &[Picture],
    after: &[Picture],
    now: Timestamp,
) -> sqlx::Result<()> {
    tx.run(query!("DELETE FROM goods_pictures WHERE goods_id = $1"; id)).await?;
    for (place, picture) in (1_i64..).zip(after) {
        let sql = "INSERT INTO goods_pictures (goods_id, place, picture) VALUES ($1, $2, $3)";
        tx.run(query!(sql; id, place, &picture.name)).await?;
    }
    for picture in before.iter().filter(|picture| !after.iter().any(|kept| kept.name == picture.name)) {
        tx.run(query!("UPDATE pictures SET touched_at_ms = $1 WHERE name = $2"; now, &picture.name)).await?;
    }
    Ok(())
}
