//! What staff keep: saved filters of lists for themselves, and for the shop its texts, its settings, and the table of
//! what shipping costs.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::pool::Connection;
use crate::sales::changes::touch;
use crate::{
    SavedViewStore, ShippingStore, ShopPageStore, ShopSettingsStore, StoreResult, column, is_outdated, next_version,
    row,
};
use domain::staff::{ConsoleList, SavedView, ShopPage, ShopPageName};
use domain::{AuditAction, Bilingual, Locale, Order, SaleId, ShippingTable, ShopSettings, UserId};

/// The outcome of saving or renaming a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveViewOutcome {
    Saved,
    /// The member of the staff has [`SavedView::MAX_PER_LIST`] views of the list.
    TooMany,
    /// Another view of the list has the name.
    NameTaken,
    NoSuchView,
}

column_list!(columns: "id, list, name, query");

fn view(row: &AnyRow) -> sqlx::Result<SavedView> {
    read!(row => SavedView { id, list, name, query })
}

#[boxed]
impl SavedViewStore<'_> {
    /// The views that a member of the staff has of a list, by name.
    pub async fn list(self, owner: UserId, list: ConsoleList) -> StoreResult<Vec<SavedView>> {
        let sql = select!(columns, "FROM saved_views WHERE user_id = $1 AND list = $2 ORDER BY name");
        self.all(query!(sql; owner, list), view).await
    }

    /// All views of a member of the staff.
    pub(super) async fn views_for_export(self, owner: UserId) -> StoreResult<Vec<SavedView>> {
        let sql = select!(columns, "FROM saved_views WHERE user_id = $1 ORDER BY list, name");
        self.all(query!(sql; owner), view).await
    }

    pub async fn get(self, owner: UserId, id: Uuid) -> StoreResult<Option<SavedView>> {
        let sql = select!(columns, "FROM saved_views WHERE id = $1 AND user_id = $2");
        self.optional(query!(sql; id, owner), view).await
    }

    /// Saves a new view. If the list has a view with the same name, it gets the new query.
    pub async fn save(self, owner: UserId, new: &SavedView, now: Timestamp) -> StoreResult<SaveViewOutcome> {
        let mut tx = self.begin().await?;
        // Serializes views of one person, so that they are counted correctly.
        tx.lock_user(owner).await?;
        let sql = "SELECT COUNT(*) AS n FROM saved_views WHERE user_id = $1 AND list = $2 AND name <> $3";
        let others: i64 = tx.one(query!(sql; owner, new.list, &new.name), column("n")).await?;
        if others >= SavedView::MAX_PER_LIST as i64 {
            return Ok(SaveViewOutcome::TooMany);
        }
        let sql =
            "INSERT INTO saved_views (id, user_id, list, name, query, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, list, name) DO UPDATE SET query = excluded.query";
        tx.run(query!(sql; new.id, owner, new.list, &new.name, &new.query, now)).await?;
        tx.commit_and(SaveViewOutcome::Saved).await
    }

    pub async fn rename(self, owner: UserId, id: Uuid, name: &str) -> StoreResult<SaveViewOutcome> {
        let mut tx = self.begin().await?;
        tx.lock_user(owner).await?;
        let taken = "SELECT 1 FROM saved_views WHERE user_id = $1 AND name = $2 AND id <> $3
             AND list = (SELECT list FROM saved_views WHERE id = $3)";
        if tx.exists(query!(taken; owner, name, id)).await? {
            return Ok(SaveViewOutcome::NameTaken);
        }
        let query = query!("UPDATE saved_views SET name = $3 WHERE id = $1 AND user_id = $2"; id, owner, name);
        if tx.changed(query).await? == 0 {
            return Ok(SaveViewOutcome::NoSuchView);
        }
        tx.commit_and(SaveViewOutcome::Saved).await
    }

    /// Deletes a view if it belongs to the owner.
    pub async fn delete(self, owner: UserId, id: Uuid) -> StoreResult<()> {
        self.run(query!("DELETE FROM saved_views WHERE id = $1 AND user_id = $2"; id, owner)).await
    }
}

// Texts about the whole shop.

column_list!(page_columns: "name, text_zh, text_en, updated_at_ms");

fn page(row: &AnyRow) -> sqlx::Result<ShopPage> {
    read!(row => ShopPage { name, text, updated_at: "updated_at_ms" })
}

#[boxed]
impl ShopPageStore<'_> {
    /// The pages that are written. Those of a newer program, whose names this one does not know, are left out.
    pub async fn list(self) -> StoreResult<Vec<ShopPage>> {
        let query = query!(select!(page_columns, "FROM shop_pages ORDER BY name"));
        let known = |row: &AnyRow| row::get::<ShopPageName>(row, "name").ok().map(|_| page(row)).transpose();
        Ok(self.all(query, known).await?.into_iter().flatten().collect())
    }

    /// Which pages have a text in which language.
    pub async fn written(self) -> StoreResult<Vec<(ShopPageName, Locale)>> {
        let pages = self.list().await?;
        let of = |page: &ShopPage| Locale::ALL.map(|locale| page.is_written(locale).then_some((page.name, locale)));
        Ok(pages.iter().flat_map(of).flatten().collect())
    }

    pub async fn get(self, name: ShopPageName) -> StoreResult<Option<ShopPage>> {
        let sql = select!(page_columns, "FROM shop_pages WHERE name = $1");
        self.optional(query!(sql; name), page).await
    }

    /// Replaces the version `before` of a page by this text and logs the actor. Returns `false` if the page has another
    /// version by now. Every page links to those that are written, so pages are rendered again.
    pub async fn put(self, before: &ShopPage, text: Bilingual, actor: &str, now: Timestamp) -> StoreResult<bool> {
        let after = ShopPage { text, updated_at: Some(next_version(before.updated_at, now)), ..before.clone() };
        let sql = "INSERT INTO shop_pages (name, text_zh, text_en, updated_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (name) DO UPDATE SET text_zh = excluded.text_zh, text_en = excluded.text_en,
               updated_at_ms = excluded.updated_at_ms WHERE shop_pages.updated_at_ms = $5";
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let query = query!(sql; after.name, &after.text.zh, &after.text.en, after.version(), before.version());
        if tx.changed(query).await? == 0 {
            return Ok(false);
        }
        tx.log(actor, AuditAction::Edit, &format!("page {}", after.name), Some(before), Some(&after), now).await?;
        tx.commit_and(true).await
    }
}

// The shop's own name, looks and habits.

fn settings(row: &AnyRow) -> sqlx::Result<ShopSettings> {
    let saved: ShopSettings = row::json(row, "settings")?;
    Ok(ShopSettings { updated_at: row::get(row, "updated_at_ms")?, ..saved })
}

/// The settings for the audit log, with the logo's name only.
fn logged(settings: &ShopSettings) -> Value {
    let mut value = json!(settings);
    value["logo"] = json!(settings.logo.as_ref().map(|logo| &logo.name));
    value
}

#[boxed]
impl ShopSettingsStore<'_> {
    pub async fn get(self) -> StoreResult<ShopSettings> {
        let query = query!("SELECT settings, updated_at_ms FROM shop_settings");
        Ok(self.optional(query, settings).await?.unwrap_or_else(|| {
            let time_zone = self.default_zone.iana_name().unwrap_or("UTC").to_owned();
            ShopSettings { time_zone, ..ShopSettings::default() }
        }))
    }

    /// Replaces the settings if they have the version that `after` was made of, and logs the actor. Returns the saved
    /// settings, or `None` if they were changed since. The catalogue has them, so pages are rendered again.
    pub async fn put(self, after: ShopSettings, actor: &str, now: Timestamp) -> StoreResult<Option<ShopSettings>> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let query = query!("SELECT settings, updated_at_ms FROM shop_settings");
        let before = tx.optional(query, settings).await?.unwrap_or_default();
        if before.version() != after.version() {
            return Ok(None);
        }
        let after = ShopSettings { updated_at: next_version(Some(before.updated_at), now), ..after };
        let text = serde_json::to_string(&after).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let logo = |settings: &ShopSettings| settings.logo.as_ref().map(|logo| logo.name.clone());
        let sql = "INSERT INTO shop_settings (id, settings, logo, updated_at_ms) VALUES (1, $1, $2, $3)
             ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, logo = excluded.logo,
               updated_at_ms = excluded.updated_at_ms";
        tx.run(query!(sql; text, logo(&after), after.version())).await?;
        if let Some(old) = logo(&before).filter(|old| Some(old) != logo(&after).as_ref()) {
            // Open pages still show it.
            tx.run(query!("UPDATE pictures SET touched_at_ms = $1 WHERE name = $2"; now, old)).await?;
        }
        let (old, new) = (logged(&before), logged(&after));
        tx.log(actor, AuditAction::Edit, "shop", Some(&old), Some(&new), now).await?;
        tx.commit_and(Some(after)).await
    }
}

/// The table as it was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedShipping {
    pub table: ShippingTable,
    /// When it was saved. It increases with every change.
    pub updated_at: Timestamp,
}

impl SavedShipping {
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

fn shipping_table(row: &AnyRow) -> sqlx::Result<ShippingTable> {
    row::json(row, "rates")
}

fn saved_shipping(row: &AnyRow) -> sqlx::Result<SavedShipping> {
    read!(row => SavedShipping { table = shipping_table(row)?, updated_at: "updated_at_ms" })
}

const SAVED_SHIPPING: &str = "SELECT rates, updated_at_ms FROM shipping";

/// The table for orders of a sale. It is empty for a rehearsal, whose shoppers have no addresses.
pub(crate) async fn shipping_of(connection: &mut Connection, sale: SaleId) -> sqlx::Result<ShippingTable> {
    let sql = "SELECT rates FROM shipping WHERE NOT EXISTS (SELECT 1 FROM sales WHERE id = $1 AND shadow = 1)";
    Ok(connection.optional(query!(sql; sale), shipping_table).await?.unwrap_or_default())
}

#[boxed]
impl ShippingStore<'_> {
    pub async fn get(self) -> StoreResult<SavedShipping> {
        Ok(self.optional(query!(SAVED_SHIPPING), saved_shipping).await?.unwrap_or_default())
    }

    /// Whether an order has to get an address before it is paid, because shipping may cost something.
    pub async fn needs_address(self, order: &Order) -> StoreResult<bool> {
        if !order.needs_address() {
            return Ok(false);
        }
        let table = shipping_of(&mut self.pool.acquire().await?, order.sale_id).await?;
        Ok(table.charges(order.amount.currency))
    }

    /// Replaces the table if it is in one of these versions (`None` for any), and logs the actor. Returns `None` if it is
    /// of another version. The catalogue has the table, so pages are rendered again.
    pub async fn put(
        self,
        table: ShippingTable,
        versions: Option<&[i64]>,
        actor: &str,
        now: Timestamp,
    ) -> StoreResult<Option<SavedShipping>> {
        let mut tx = self.begin().await?;
        touch(&mut tx).await?;
        let before = tx.optional(query!(SAVED_SHIPPING), saved_shipping).await?.unwrap_or_default();
        if is_outdated(before.version(), versions) {
            return Ok(None);
        }
        let after = SavedShipping { table, updated_at: next_version(Some(before.updated_at), now) };
        let rates = serde_json::to_string(&after.table).map_err(|e| sqlx::Error::Encode(e.into()))?;
        let sql = "INSERT INTO shipping (id, rates, updated_at_ms) VALUES (1, $1, $2)
             ON CONFLICT (id) DO UPDATE SET rates = excluded.rates, updated_at_ms = excluded.updated_at_ms";
        tx.run(query!(sql; rates, after.version())).await?;
        let (old, new) = (in_one_line(&before.table), in_one_line(&after.table));
        tx.log(actor, AuditAction::Edit, "shipping", Some(&old), Some(&new), now).await?;
        tx.commit_and(Some(after)).await
    }
}

/// The rates for the audit log.
fn in_one_line(table: &ShippingTable) -> serde_json::Value {
    let rates: Vec<String> = table.rates.iter().map(ToString::to_string).collect();
    json!({"rates": rates.join("; ")})
}
