//! Pages that are the same for all visitors, and what every page is made of.
//!
//! - [`assets`]: the files under `static/`, built into the program, at addresses that change with their content.
//! - [`sale_pages`]: the lists of all sales and of each category, and the page of a sale. They contain no personal and
//!   no live data, so nginx or a CDN can serve them as files. `static/shop.js` and `static/sale.js` fill in live data.
//! - `discount`: how much is taken off a list price, in the words of each language.
//! - `calendar`: the calendar files of a sale's start and of a draw's result.
//! - [`publish`]: renders these pages into memory and onto disk whenever products or sales change. `cleanup` removes
//!   old assets.
//! - [`worker`]: the service worker, which keeps pages for visitors without a connection.
//! - [`chrome`], `frame`, [`picture`], `filters`: the frame of a page, pictures, template filters. The pages of one visitor
//!   (`web::views`) use them too; their texts are in [`words`].
//!
//! Every page works without scripts: forms post, times are printed in the shop's zone, an unfinished order reloads
//! itself. The content security policy `default-src 'self'` holds on every page, so templates contain no inline scripts
//! and no style attributes.

pub mod pictures;
pub mod plot;

pub mod assets;
pub mod brand;
mod calendar;
pub mod chrome;
mod cleanup;
pub mod compression;
pub mod filters;
mod frame;
mod list_page;
pub mod markdown;
pub mod onward;
pub mod picture;
pub mod publish;
pub mod sale_pages;
pub mod worker;

pub use chrome::Chrome;
pub use publish::{PublishReport, Published, Publisher};
