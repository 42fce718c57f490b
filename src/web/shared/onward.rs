//! Sales that a page leads on to, from what the catalogue lists. These pages are rendered for one visitor, so they
//! leave out sold-out sales.

use std::sync::Arc;

use domain::{Demand, Locale};
use engine::catalogue::{Catalogue, CatalogueEntry};
use pages::onward::{OnwardSale, current, onward};

/// The sales to go on to from a sale.
pub fn onward_from(catalogue: &Catalogue, locale: Locale, from: &CatalogueEntry) -> Vec<OnwardSale> {
    let others = available(catalogue);
    onward(locale, (&from.sale, &from.goods), others.iter().map(|other| (&other.sale, &other.goods)))
}

/// The sales to go on to from a page that belongs to no sale.
pub fn current_sales(catalogue: &Catalogue, locale: Locale) -> Vec<OnwardSale> {
    current(locale, available(catalogue).iter().map(|entry| (&entry.sale, &entry.goods)))
}

fn available(catalogue: &Catalogue) -> Vec<Arc<CatalogueEntry>> {
    let mut listed = catalogue.listed();
    listed.retain(|entry| entry.sale.demand() != Demand::Gone);
    listed
}
