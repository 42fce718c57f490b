//! Categories of goods. The catalogue's lock serializes changes of categories and of goods.

use std::collections::HashMap;

use boxed::boxed;
use jiff::Timestamp;
use serde_json::json;
use sqlx::any::AnyRow;

use super::{CategoryStore, RequestId, StoreError, StoreResult, Tx, expect_version, next_version, row};
use crate::idempotency::{made_before, record_made};
use crate::pool::Connection;
use crate::sales::changes::{next_id, touch};
use domain::{AuditAction, Bilingual, Category, CategoryId, Locale, MAX_CATEGORIES};

/// The name of a new category, or a new name for an existing one.
#[derive(Debug, Clone)]
pub struct CategoryDraft {
    pub name: Bilingual,
    /// The id of the request. All attempts of one request create only one category.
    pub request: Option<RequestId>,
    /// The category must be in one of these versions; `None` for any.
    pub versions: Option<Vec<i64>>,
}

/// Why a change to categories is refused.
#[derive(Debug, thiserror::Error)]
pub enum CategoryRefusal {
    #[error("there is no such category")]
    NoSuchCategory,
    #[error("the category is of another version")]
    ChangedMeanwhile,
    #[error("another category has this name in {0}")]
    NameTaken(Locale),
    #[error("the shop has the maximum number of categories")]
    TooMany,
    #[error("these are not the shop's categories, each once")]
    OtherCategories,
    /// The category has this many goods.
    #[error("{0} goods are in the category")]
    InUse(usize),
    #[error(transparent)]
    Store(#[from] StoreError),
}

const ALL: &str = "SELECT id, name_zh, name_en, updated_at_ms FROM categories ORDER BY place, id";

fn category(row: &AnyRow) -> sqlx::Result<Category> {
    read!(row => Category { id, name, updated_at: "updated_at_ms" })
}

async fn read_all(connection: &mut Connection) -> sqlx::Result<Vec<Category>> {
    connection.all(query!(ALL), category).await
}

/// Reads the categories and locks the catalogue until the end of the transaction.
async fn lock(tx: &mut Tx) -> sqlx::Result<Vec<Category>> {
    touch(tx).await?;
    read_all(tx).await
}

fn find(all: &[Category], id: CategoryId) -> Result<Category, CategoryRefusal> {
    all.iter().find(|category| category.id == id).cloned().ok_or(CategoryRefusal::NoSuchCategory)
}

/// Refuses a name that another category has, because shoppers could not distinguish the two.
fn refuse_taken_name(all: &[Category], id: Option<CategoryId>, name: &Bilingual) -> Result<(), CategoryRefusal> {
    let is_same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    let mut others = all.iter().filter(|category| Some(category.id) != id);
    let taken = others
        .find_map(|other| Locale::ALL.into_iter().find(|locale| is_same(other.name.get(*locale), name.get(*locale))));
    taken.map_or(Ok(()), |locale| Err(CategoryRefusal::NameTaken(locale)))
}

/// The categories in one line, for the audit log.
fn in_order(categories: &[Category]) -> serde_json::Value {
    let names: Vec<_> = categories.iter().map(|c| format!("{} / {}", c.name.zh, c.name.en)).collect();
    json!({"order": names.join(", ")})
}

#[boxed]
impl CategoryStore<'_> {
    /// All categories in their order.
    pub async fn list(self) -> StoreResult<Vec<Category>> {
        self.all(query!(ALL), category).await
    }

    /// How many goods are in each category, archived ones too. A category without goods is absent.
    pub async fn goods_per_category(self) -> StoreResult<HashMap<CategoryId, usize>> {
        let sql = "SELECT category_id, COUNT(*) AS goods FROM goods WHERE category_id IS NOT NULL GROUP BY category_id";
        let count = |row: &AnyRow| Ok((row::get(row, "category_id")?, row::int(row, "goods")? as usize));
        Ok(self.all(query!(sql), count).await?.into_iter().collect())
    }

    /// Creates a category (`id` is `None`), which becomes the last one, or renames one.
    pub async fn put(
        self,
        id: Option<CategoryId>,
        draft: CategoryDraft,
        actor: &str,
        now: Timestamp,
    ) -> Result<Category, CategoryRefusal> {
        let mut tx = self.begin().await?;
        let made = made_before(&mut tx, draft.request).await?;
        let all = lock(&mut tx).await?;
        if let Some(made) = made {
            return find(&all, made.parse().map_err(|_| row::undecodable("made"))?);
        }
        let before = id.map(|id| find(&all, id)).transpose()?;
        if let Some(before) = &before {
            expect_version(before.version(), draft.versions.as_deref(), CategoryRefusal::ChangedMeanwhile)?;
        } else if all.len() >= MAX_CATEGORIES {
            return Err(CategoryRefusal::TooMany);
        }
        refuse_taken_name(&all, id, &draft.name)?;
        let updated_at = next_version(before.as_ref().map(|before| before.updated_at), now);
        let id = match id {
            Some(id) => id,
            None => CategoryId(next_id(&mut tx, "last_category_id").await?),
        };
        let after = Category { id, name: draft.name, updated_at };
        record_made(&mut tx, draft.request, &id.to_string()).await?;
        write(&mut tx, &after).await?;
        let action = if before.is_some() { AuditAction::Edit } else { AuditAction::Create };
        tx.log(actor, action, &format!("category {id}"), before.as_ref(), Some(&after), now).await?;
        tx.commit_and(after).await
    }

    /// Puts the categories in this order. `ids` must name each of them once.
    pub async fn reorder(
        self,
        ids: &[CategoryId],
        actor: &str,
        now: Timestamp,
    ) -> Result<Vec<Category>, CategoryRefusal> {
        let mut tx = self.begin().await?;
        let before = lock(&mut tx).await?;
        let after: Vec<Category> =
            ids.iter().filter_map(|id| before.iter().find(|category| category.id == *id).cloned()).collect();
        let mut named = ids.to_vec();
        named.sort_unstable();
        named.dedup();
        if named.len() != ids.len() || after.len() != ids.len() || after.len() != before.len() {
            return Err(CategoryRefusal::OtherCategories);
        }
        if after == before {
            return Ok(after);
        }
        for (place, category) in (1_i64..).zip(&after) {
            tx.run(query!("UPDATE categories SET place = $2 WHERE id = $1"; category.id, place)).await?;
        }
        let (old, new) = (in_order(&before), in_order(&after));
        tx.log(actor, AuditAction::Edit, "categories", Some(&old), Some(&new), now).await?;
        tx.commit_and(after).await
    }

    /// Deletes a category. Its goods stay, without a category. With `only_unused` a category with goods is not deleted.
    pub async fn delete(
        self,
        id: CategoryId,
        versions: Option<&[i64]>,
        only_unused: bool,
        actor: &str,
        now: Timestamp,
    ) -> Result<(), CategoryRefusal> {
        let mut tx = self.begin().await?;
        let before = find(&lock(&mut tx).await?, id)?;
        expect_version(before.version(), versions, CategoryRefusal::ChangedMeanwhile)?;
        // The goods get a new version too, so that a form that still names the category cannot bring it back.
        let sql = "UPDATE goods SET category_id = NULL,
               updated_at_ms = CASE WHEN updated_at_ms < $2 THEN $2 ELSE updated_at_ms + 1 END
             WHERE category_id = $1";
        let goods = tx.changed(query!(sql; id, now)).await? as usize;
        if only_unused && goods > 0 {
            return Err(CategoryRefusal::InUse(goods));
        }
        tx.run(query!("DELETE FROM categories WHERE id = $1"; id)).await?;
        let details = json!({"name": before.name, "goods": goods});
        tx.log(actor, AuditAction::Delete, &format!("category {id}"), Some(&details), None, now).await?;
        Ok(tx.commit().await?)
    }
}

/// Writes a category. A new one becomes the last.
async fn write(tx: &mut Tx, category: &Category) -> sqlx::Result<()> {
    let sql = "INSERT INTO categories (id, name_zh, name_en, updated_at_ms, place)
         VALUES ($1, $2, $3, $4, (SELECT COALESCE(MAX(place), 0) + 1 FROM categories))
         ON CONFLICT (id) DO UPDATE SET name_zh = excluded.name_zh, name_en = excluded.name_en,
           updated_at_ms = excluded.updated_at_ms";
    tx.run(query!(sql; category.id, &category.name.zh, &category.name.en, category.version())).await
}
