//! Everything that a browser is shown.
//!
//! - `text`: every word, in both languages.
//! - `assets`: what lies under `static/`, built into the program, at addresses that change with the content.
//! - `shop`: the list and the page of a sale. They carry no personal and no live data, are the same bytes for
//!   everybody, and can therefore be files that nginx or a CDN answers. `static/shop.js` fills in what is live.
//! - `calendar`: the reminder of a sale's start, a file as those are.
//! - `publish`: renders those into memory and onto disk, whenever goods or sales change.
//! - `views`: the pages that are made for one visitor, each a struct that handlers fill and render.
//!
//! Every page works without scripts: forms post, times are printed in UTC, an unfinished order reloads itself. The
//! policy `default-src 'self'` without exceptions for inline code holds everywhere, so templates carry neither style
//! attributes nor script.

mod cleanup;
pub(crate) mod compression;
mod reminder;
pub mod sale_pages;

pub mod assets;
pub mod chrome;

pub mod publish;

pub(crate) mod filters;
pub mod picture;

pub use chrome::Chrome;
pub use publish::{PublishReport, Published, Publisher};
