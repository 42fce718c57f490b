//! The page of a sale whose figures are being computed.

use askama::Template;

use crate::Chrome;
use domain::SaleId;
use pages::filters;

#[derive(Debug, Template)]
#[template(path = "report/computing.html")]
pub struct ComputingPage {
    pub chrome: Chrome,
    pub sale: SaleId,
    pub goods_name: String,
    /// What is being computed.
    pub title: &'static str,
    /// The page that led here: its path, and the words of the link.
    pub back: (String, String),
}
