//! Texts about the whole shop.

use jiff::{SignedDuration, Timestamp};
use sqlx::any::AnyRow;

use super::{ShopPageStore, StoreError, row};
use crate::audit_log::log;
use domain::staff::{ShopPage, ShopPageName};
use domain::{AuditAction, Bilingual};

/// The smallest difference between two versions of a page.
const VERSION_STEP: SignedDuration = SignedDuration::from_millis(1);

macro_rules! columns {
    () => {
        "name, text_zh, text_en, updated_at_ms"
    };
}

fn page(row: &AnyRow) -> Result<ShopPage, sqlx::Error> {
    Ok(ShopPage {
        name: row::parsed(row, "name")?,
        text: Bilingual::new(row::text(row, "text_zh")?, row::text(row, "text_en")?),
        updated_at: Some(row::time(row, "updated_at_ms")?),
    })
}

impl ShopPageStore<'_> {
    /// The pages that are written.
    pub async fn list(self) -> Result<Vec<ShopPage>, StoreError> {
        self.all(sqlx::query(concat!("SELECT ", columns!(), " FROM shop_pages ORDER BY name")), page).await
    }

    pub async fn get(self, name: ShopPageName) -> Result<Option<ShopPage>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM shop_pages WHERE name = $1");
        self.optional(sqlx::query(sql).bind(name.as_str()), page).await
    }

    /// Replaces the version `before` of a page by this text and logs the actor. Returns `false` if the page has another
    /// version by now.
    pub async fn put(
        self,
        before: &ShopPage,
        text: Bilingual,
        actor: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let next = before.updated_at.map_or(now, |at| at + VERSION_STEP);
        let after = ShopPage { text, updated_at: Some(now.max(next)), ..before.clone() };
        let sql = "INSERT INTO shop_pages (name, text_zh, text_en, updated_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (name) DO UPDATE SET text_zh = excluded.text_zh, text_en = excluded.text_en,
               updated_at_ms = excluded.updated_at_ms WHERE shop_pages.updated_at_ms = $5";
        let mut tx = self.begin().await?;
        let query = sqlx::query(sql).bind(after.name.as_str()).bind(&after.text.zh).bind(&after.text.en);
        let query = query.bind(after.version()).bind(before.version());
        if query.execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        log(&mut tx, actor, AuditAction::Edit, &format!("page {}", after.name), Some(before), Some(&after), now)
            .await?;
        tx.commit().await?;
        Ok(true)
    }
}
