//! The page that the service worker shows without a connection.

use askama::Template;

use super::Chrome;
use pages::filters;

#[derive(Debug, Template)]
#[template(path = "offline.html")]
pub struct OfflinePage {
    pub chrome: Chrome,
}
