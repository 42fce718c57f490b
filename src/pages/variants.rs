//! The variants of the goods on a sale's page, each with the sale in which it is sold.
//!
//! As in [`onward`](super::onward), a sale that opens must not change this.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::onward::is_ahead;
use domain::{Goods, Locale, Money, Picture, Sale, SaleId};

/// A variant that shoppers can choose.
#[derive(Debug, PartialEq, Eq)]
pub struct VariantSale {
    pub sale: SaleId,
    pub name: String,
    pub picture: Option<Picture>,
    /// `None` if the price is the same as on this page.
    pub price: Option<Money>,
    /// `None` if the sale starts at the same time as this page's sale, or has no start.
    pub opens_at: Option<Timestamp>,
    /// Whether this is the variant of this page.
    pub is_here: bool,
}

/// The variants that are on sale or will be, including the page's own. If a variant has several sales, the one most
/// like the page's sale is taken: with the same mode and time, otherwise the next one. Empty if there is nothing to
/// choose.
pub fn variants<'a>(
    locale: Locale,
    (from, of): (&'a Sale, &'a Goods),
    all: impl Iterator<Item = (&'a Sale, &'a Goods)>,
) -> Vec<VariantSale> {
    let likeness = |sale: &Sale| {
        let opens_at = sale.window.opens_at;
        (sale.mode.name() != from.mode.name(), opens_at != from.window.opens_at, opens_at.is_none(), opens_at, sale.id)
    };
    // Keyed so that the goods of which the others are variants come first.
    let mut chosen = BTreeMap::from([((of.variant_of.is_some(), of.id), (from, of))]);
    for (sale, goods) in
        all.filter(|(sale, goods)| goods.product() == of.product() && goods.id != of.id && is_ahead(sale))
    {
        let best = chosen.entry((goods.variant_of.is_some(), goods.id)).or_insert((sale, goods));
        if likeness(sale) < likeness(best.0) {
            *best = (sale, goods);
        }
    }
    if chosen.len() == 1 {
        return Vec::new();
    }
    let shown = chosen.into_values().map(|(sale, goods)| VariantSale {
        sale: sale.id,
        name: goods.variant_name(locale).to_owned(),
        picture: goods.cover().cloned(),
        price: Some(sale.price).filter(|price| *price != from.price),
        opens_at: sale.window.opens_at.filter(|at| Some(*at) != from.window.opens_at),
        is_here: sale.id == from.id,
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Bilingual, GoodsId, SaleState};
    use testing::samples::{at, sample};

    /// A sale of a variant of goods 1.
    fn variant(id: i64, goods: i64, name: &str) -> (Sale, Goods) {
        let mut variant = sample(id, "Phone");
        variant.0.goods_id = GoodsId(goods);
        variant.1.id = GoodsId(goods);
        variant.1.variant_of = Some(GoodsId(1)).filter(|product| product.0 != goods);
        variant.1.variant = Bilingual::new(name, name);
        variant
    }

    fn chosen(here: &(Sale, Goods), all: &[&(Sale, Goods)]) -> Vec<(i64, String, bool)> {
        let all = all.iter().map(|(sale, goods)| (sale, goods));
        let found = variants(Locale::En, (&here.0, &here.1), all).into_iter();
        found.map(|variant| (variant.sale.0, variant.name, variant.is_here)).collect()
    }

    #[test]
    fn each_variant_is_shown_once_with_the_sale_of_this_session() {
        let (blue, black, other) = (variant(5, 1, "Blue"), variant(6, 2, "Black"), sample(9, "Radio"));
        let mut evening = variant(4, 2, "Black");
        evening.0.window.opens_at = Some(at("2026-11-21T20:00:00Z"));
        let mut unnamed = variant(7, 3, "");
        unnamed.0.window.opens_at = Some(at("2026-11-22T12:00:00Z"));
        let mut ended = variant(8, 4, "Red");
        ended.0.state = SaleState::Ended;
        let all = [&evening, &unnamed, &black, &other, &ended, &blue];
        let expected = [(5, "Blue".to_owned(), true), (6, "Black".to_owned(), false), (7, "Phone".to_owned(), false)];
        assert_eq!(chosen(&blue, &all), expected);
        let from_black = chosen(&black, &all);
        assert_eq!(from_black[1], (6, "Black".to_owned(), true));
        assert_eq!(chosen(&evening, &all)[1], (4, "Black".to_owned(), true), "the page of another of its sales");
        assert_eq!(
            chosen(&ended, &all).last(),
            Some(&(8, "Red".to_owned(), true)),
            "an ended sale leads to the others"
        );
        assert!(chosen(&other, &all).is_empty());
        assert!(chosen(&blue, &[&blue, &ended]).is_empty(), "nothing to choose");
    }

    #[test]
    fn price_and_start_are_shown_where_they_differ() {
        let (blue, mut black) = (variant(5, 1, "Blue"), variant(6, 2, "Black"));
        let found = |black: &(Sale, Goods)| {
            let all = [(&blue.0, &blue.1), (&black.0, &black.1)].into_iter();
            variants(Locale::En, (&blue.0, &blue.1), all).remove(1)
        };
        assert_eq!((found(&black).price, found(&black).opens_at), (None, None));
        black.0.price.amount += 100;
        black.0.window.opens_at = Some(at("2026-11-21T20:00:00Z"));
        assert_eq!(found(&black).price, Some(black.0.price));
        assert_eq!(found(&black).opens_at, black.0.window.opens_at);
    }

    #[test]
    fn opening_of_a_sale_changes_no_other_page() {
        let (blue, mut black) = (variant(5, 1, "Blue"), variant(6, 2, "Black"));
        let before = chosen(&blue, &[&blue, &black]);
        black.0.state = SaleState::Live;
        assert_eq!(chosen(&blue, &[&blue, &black]), before);
    }
}
