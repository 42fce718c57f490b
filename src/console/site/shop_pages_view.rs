//! The forms of the shop's own pages.

use askama::Template;
use domain::shop_page::{ShopPage, ShopPageName};
use pages::filters;
use web::views::Chrome;

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
pub struct ShopPagesPage {
    pub chrome: Chrome,
    /// In the order of [`ShopPageName::ALL`], written or not.
    pub pages: Vec<ShopPage>,
    pub notice: Option<(ShopPageName, ShopPageNotice)>,
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
