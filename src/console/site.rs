//! The form of the shop's own pages.

use askama::Template;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::{SavedQuery, StaffVisit, StaffVisitTo};
use domain::Bilingual;
use domain::staff::{ShopPage, ShopPageName};
use pages::{Chrome, filters};
use web::extract::{LongForm, ManageSales, PathIds, Query, State, ViewConsole, Visitor};
use web::shared::validation::check_description;
use web::{Answer, Problem, Shop, personal, see_other};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ShopPageForm {
    version: i64,
    text_zh: String,
    text_en: String,
}

pub async fn show((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<SavedQuery>) -> Answer {
    let notice = query.saved.parse().ok().map(|name| (name, ShopPageNotice::Saved));
    let pages = all_pages(&shop).await?;
    personal(StatusCode::OK, &ShopPagesPage { chrome: chrome(&visitor), pages, notice })
}

pub async fn save(
    (State(shop), staff, visitor, PathIds(name)): StaffVisitTo<ManageSales, ShopPageName>,
    LongForm(form): LongForm<ShopPageForm>,
) -> Answer {
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
async fn refused(shop: &Shop, visitor: &Visitor, notice: (ShopPageName, ShopPageNotice), text: Bilingual) -> Answer {
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

/// What the form says above one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShopPageNotice {
    Saved,
    ChangedMeanwhile,
    TooLong,
}

/// The forms of all pages.
#[derive(Debug, Template)]
#[template(path = "site/console_shop_pages.html")]
struct ShopPagesPage {
    chrome: Chrome,
    /// In the order of [`ShopPageName::ALL`], written or not.
    pages: Vec<ShopPage>,
    notice: Option<(ShopPageName, ShopPageNotice)>,
}

impl ShopPagesPage {
    fn title(&self, page: &ShopPage) -> &'static str {
        self.chrome.text().about.title_of(page.name)
    }

    fn notice_of(&self, page: &ShopPage) -> Option<ShopPageNotice> {
        self.notice.filter(|(name, _)| *name == page.name).map(|(_, notice)| notice)
    }

    fn is_saved(&self, notice: &ShopPageNotice) -> bool {
        *notice == ShopPageNotice::Saved
    }

    fn words(&self, notice: &ShopPageNotice) -> &'static str {
        let t = &self.chrome.text().about;
        match notice {
            ShopPageNotice::Saved => t.saved,
            ShopPageNotice::ChangedMeanwhile => t.changed,
            ShopPageNotice::TooLong => t.too_long,
        }
    }
}
