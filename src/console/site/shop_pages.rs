//! The form of the shop's own pages.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::site::shop_pages_view::{ShopPageNotice, ShopPagesPage};
use crate::{StaffVisit, StaffVisitTo};
use domain::Bilingual;
use domain::shop_page::{ShopPage, ShopPageName};
use web::Shop;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{LongForm, PathIds, Query};
use web::problem::Problem;
use web::shared::response::{personal, see_other};
use web::shared::validation::check_description;

#[derive(Deserialize)]
pub struct ShopPagesQuery {
    /// The page that was saved. Unknown values show nothing.
    #[serde(default)]
    saved: String,
}

#[derive(Deserialize)]
pub struct ShopPageForm {
    #[serde(default)]
    version: i64,
    #[serde(default)]
    text_zh: String,
    #[serde(default)]
    text_en: String,
}

pub async fn show(
    (State(shop), _, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<ShopPagesQuery>,
) -> Result<Response, Problem> {
    let notice = query.saved.parse().ok().map(|name| (name, ShopPageNotice::Saved));
    let pages = all_pages(&shop).await?;
    personal(StatusCode::OK, &ShopPagesPage { chrome: chrome(&visitor), pages, notice })
}

pub async fn save(
    (State(shop), staff, visitor, PathIds(name)): StaffVisitTo<ManageSales, ShopPageName>,
    LongForm(form): LongForm<ShopPageForm>,
) -> Result<Response, Problem> {
    let text = Bilingual::new(form.text_zh.trim(), form.text_en.trim());
    if !check_description(&text).is_empty() {
        return refused(&shop, &visitor, (name, ShopPageNotice::TooLong), text).await;
    }
    let before = shop.store.shop_pages().get(name).await?.unwrap_or_else(|| ShopPage::unwritten(name));
    let is_current = before.version() == form.version;
    if is_current && shop.store.shop_pages().put(&before, text.clone(), staff.actor(), shop.clock.now()).await? {
        return Ok(see_other(&format!("/admin/pages?lang={}&saved={name}#{name}", visitor.locale)));
    }
    refused(&shop, &visitor, (name, ShopPageNotice::ChangedMeanwhile), text).await
}

/// The forms again, with what was entered. The form has the current version, so sending it again replaces that.
async fn refused(
    shop: &Shop,
    visitor: &Visitor,
    notice: (ShopPageName, ShopPageNotice),
    text: Bilingual,
) -> Result<Response, Problem> {
    let mut pages = all_pages(shop).await?;
    if let Some(page) = pages.iter_mut().find(|page| page.name == notice.0) {
        page.text = text;
    }
    let status = match notice.1 {
        ShopPageNotice::ChangedMeanwhile => StatusCode::CONFLICT,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    personal(status, &ShopPagesPage { chrome: chrome(visitor), pages, notice: Some(notice) })
}

fn chrome(visitor: &Visitor) -> pages::Chrome {
    visitor.chrome_at(format!("/admin/pages?lang={}", visitor.locale))
}

async fn all_pages(shop: &Shop) -> Result<Vec<ShopPage>, Problem> {
    let written = shop.store.shop_pages().list().await?;
    let of = |name| written.iter().find(|page| page.name == name).cloned().unwrap_or_else(|| ShopPage::unwritten(name));
    Ok(ShopPageName::ALL.into_iter().map(of).collect())
}
