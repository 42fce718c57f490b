//! Goods as the lists of orders and sales name them.

use domain::{Locale, Picture};
use engine::catalogue::CatalogueEntry;

/// Name and cover picture; both empty for a sale that is not in the catalogue.
pub fn goods_name_and_cover(entry: Option<&CatalogueEntry>, locale: Locale) -> (String, Option<Picture>) {
    entry.map(|e| (e.goods.name.get(locale).to_owned(), e.goods.cover().cloned())).unwrap_or_default()
}
