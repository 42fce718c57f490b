//! The shop's own pages.

use askama::Template;

use domain::shop_page::ShopPage;
use pages::filters;
use pages::onward::OnwardSale;
use web::views::Chrome;

/// The pages that are written, one below the other.
#[derive(Debug, Template)]
#[template(path = "site/about.html")]
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
