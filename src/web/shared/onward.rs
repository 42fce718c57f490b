//! Where a page leads on to, of what the catalogue lists.

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::domain::Locale;
use crate::pages::onward::{OnwardSale, current, onward};

/// The sales to go on to from a sale.
pub fn onward_from(catalogue: &Catalogue, locale: Locale, from: &CatalogueEntry) -> Vec<OnwardSale> {
    let listed = catalogue.listed();
    onward(locale, (&from.sale, &from.goods), listed.iter().map(|other| (&other.sale, &other.goods)))
}

/// The sales to go on to from a page that belongs to none.
pub fn current_sales(catalogue: &Catalogue, locale: Locale) -> Vec<OnwardSale> {
    current(locale, catalogue.listed().iter().map(|entry| (&entry.sale, &entry.goods)))
}
