//! The shop's own pages, and the console's form of them.

use askama::Template;

use super::Chrome;
use domain::shop_page::{ShopPage, ShopPageName};
use pages::filters;
use pages::onward::OnwardSale;

/// The pages that are written, one below the other.
#[derive(Debug, Template)]
#[template(path = "about.html")]
pub struct AboutPage {
    pub chrome: Chrome,
    /// In the order of [`ShopPageName::ALL`].
    pub pages: Vec<ShopPage>,
    /// How long an order waits for its payment, in minutes. `None` for a time of other parts.
    pub payment_minutes: Option<u64>,
    pub onward: Vec<OnwardSale>,
}

impl AboutPage {
    fn title(&self, page: &ShopPage) -> &'static str {
        self.chrome.text().about.title_of(page.name)
    }
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
#[template(path = "admin/shop_pages.html")]
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
