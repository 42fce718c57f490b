//! Where a shopper goes on from a sale: the next sale of the same goods, and other sales.
//!
//! Pages that any cache may keep show it. That a sale opens changes nothing here: at that moment the pages of all other sales
//! would be rendered again.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::domain::{Goods, Locale, ModeName, Money, Picture, Sale, SaleId, SaleState};
use crate::i18n::OutcomeText;

/// Other sales below one sale, one per goods.
const MAX_OTHERS: usize = 3;

/// A sale to go on to.
#[derive(Debug)]
pub struct OnwardSale {
    pub sale: SaleId,
    pub goods_name: String,
    pub picture: Option<Picture>,
    pub price: Money,
    pub opens_at: Option<Timestamp>,
    pub mode: ModeName,
    /// Whether it sells the same goods.
    pub is_again: bool,
}

impl OnwardSale {
    fn new(locale: Locale, sale: &Sale, goods: &Goods, is_again: bool) -> OnwardSale {
        OnwardSale {
            sale: sale.id,
            goods_name: goods.name.get(locale).to_owned(),
            picture: goods.cover().cloned(),
            price: sale.price,
            opens_at: sale.window.opens_at,
            mode: sale.mode.name(),
            is_again,
        }
    }

    /// Why it is here.
    pub fn label(&self, t: &OutcomeText) -> &'static str {
        if self.is_again { t.again } else { t.mode(self.mode) }
    }
}

/// The sales to go on to from one sale: another one of the same goods first, then those of goods of the same category, then
/// the others, each in the order of their start.
pub fn onward<'a>(
    locale: Locale,
    (from, of): (&Sale, &Goods),
    all: impl Iterator<Item = (&'a Sale, &'a Goods)>,
) -> Vec<OnwardSale> {
    let mut ahead: Vec<_> = all.filter(|(sale, _)| sale.id != from.id && is_ahead(sale)).collect();
    let is_similar = |goods: &Goods| of.category_id.is_some() && goods.category_id == of.category_id;
    ahead.sort_by_key(|(sale, goods)| {
        let opens_at = sale.window.opens_at;
        (sale.goods_id != from.goods_id, !is_similar(goods), opens_at.is_none(), opens_at, sale.id)
    });
    let mut seen = HashSet::new();
    ahead.retain(|(sale, _)| seen.insert(sale.goods_id));
    let has_again = ahead.first().is_some_and(|(sale, _)| sale.goods_id == from.goods_id);
    let shown = ahead.into_iter().take(MAX_OTHERS + usize::from(has_again));
    shown.map(|(sale, goods)| OnwardSale::new(locale, sale, goods, sale.goods_id == from.goods_id)).collect()
}

/// The sales to go on to from a page that belongs to none, in the order of their start.
pub fn current<'a>(locale: Locale, all: impl Iterator<Item = (&'a Sale, &'a Goods)>) -> Vec<OnwardSale> {
    let mut ahead: Vec<_> = all.filter(|(sale, _)| is_ahead(sale)).collect();
    ahead.sort_by_key(|(sale, _)| (sale.window.opens_at.is_none(), sale.window.opens_at, sale.id));
    let mut seen = HashSet::new();
    ahead.retain(|(sale, _)| seen.insert(sale.goods_id));
    ahead.into_iter().take(MAX_OTHERS).map(|(sale, goods)| OnwardSale::new(locale, sale, goods, false)).collect()
}

/// Whether the sale is on, or is to come, for all to see.
fn is_ahead(sale: &Sale) -> bool {
    !matches!(sale.state, SaleState::Draft | SaleState::Ended) && !sale.shadow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CategoryId, GoodsId};
    use crate::pages::sale_pages::tests::{at, sample};

    #[test]
    fn same_goods_come_first_and_each_goods_once() {
        let here = sample(1, "Phone");
        let mut again = sample(2, "Phone");
        again.0.goods_id = GoodsId(1);
        let mut live = sample(3, "Radio");
        live.0.state = SaleState::Live;
        let mut repeated = sample(4, "Radio");
        repeated.0.goods_id = GoodsId(3);
        let mut ended = sample(5, "Old");
        ended.0.state = SaleState::Ended;
        let mut rehearsed = sample(6, "Rehearsed");
        rehearsed.0.shadow = true;
        let mut sooner = sample(7, "Sooner");
        sooner.0.window.opens_at = Some(at("2026-11-20T12:00:00Z"));
        let later = sample(8, "Later");
        let all = [&here, &later, &sooner, &rehearsed, &ended, &repeated, &live, &again];
        let found = onward(Locale::En, (&here.0, &here.1), all.into_iter().map(|(sale, goods)| (sale, goods)));
        let ids: Vec<_> = found.iter().map(|sale| sale.sale.0).collect();
        assert_eq!(ids, [2, 7, 3, 8]);
        assert!(found[0].is_again && !found[1].is_again);
    }

    #[test]
    fn goods_of_the_same_category_come_before_others() {
        let (mut here, mut similar, mut again) = (sample(1, "Phone"), sample(2, "Tablet"), sample(3, "Phone"));
        let (mut sooner, mut elsewhere) = (sample(4, "Lamp"), sample(5, "Chair"));
        again.0.goods_id = GoodsId(1);
        for (sale, category) in [(&mut here, 7), (&mut similar, 7), (&mut again, 7), (&mut elsewhere, 8)] {
            sale.1.category_id = Some(CategoryId(category));
        }
        for sale in [&mut sooner, &mut elsewhere] {
            sale.0.window.opens_at = Some(at("2026-11-20T12:00:00Z"));
        }
        let all = [&elsewhere, &sooner, &similar, &again];
        let ids = |here: &(Sale, Goods)| {
            let all = all.into_iter().map(|(sale, goods)| (sale, goods));
            onward(Locale::En, (&here.0, &here.1), all).iter().map(|sale| sale.sale.0).collect::<Vec<_>>()
        };
        assert_eq!(ids(&here), [3, 2, 4, 5]);
        here.1.category_id = None;
        assert_eq!(ids(&here), [3, 4, 5, 2], "goods without a category are similar to none");
    }

    #[test]
    fn opening_of_a_sale_changes_no_other_page() {
        let (here, mut other) = (sample(1, "Phone"), sample(2, "Radio"));
        let shown = |other: &(Sale, Goods)| {
            format!("{:?}", onward(Locale::En, (&here.0, &here.1), [(&other.0, &other.1)].into_iter()))
        };
        let before = shown(&other);
        other.0.state = SaleState::Live;
        assert_eq!(shown(&other), before);
    }

    #[test]
    fn page_of_no_sale_leads_to_those_that_start_first() {
        let (later, mut sooner, mut ended) = (sample(1, "Later"), sample(2, "Sooner"), sample(3, "Ended"));
        sooner.0.window.opens_at = Some(at("2026-11-20T12:00:00Z"));
        ended.0.state = SaleState::Ended;
        let (mut again, more) = (sample(4, "Later"), [sample(5, "Lamp"), sample(6, "Chair")]);
        again.0.goods_id = GoodsId(1);
        let all = [&later, &sooner, &ended, &again, &more[0], &more[1]];
        let found = current(Locale::En, all.into_iter().map(|(sale, goods)| (sale, goods)));
        assert_eq!(found.iter().map(|sale| sale.sale.0).collect::<Vec<_>>(), [2, 1, 5]);
        assert!(found.iter().all(|sale| !sale.is_again));
    }

    #[test]
    fn a_lone_sale_leads_nowhere() {
        let (sale, goods) = sample(1, "Phone");
        assert!(onward(Locale::Zh, (&sale, &goods), [(&sale, &goods)].into_iter()).is_empty());
    }
}
