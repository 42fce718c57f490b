//! The page that the service worker shows without a connection.

use askama::Template;

use pages::filters;
use web::views::Chrome;

#[derive(Debug, Template)]
#[template(path = "site/offline.html")]
pub struct OfflinePage {
    pub chrome: Chrome,
}
