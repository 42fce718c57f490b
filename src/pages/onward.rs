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
        match self.mode {
            _ if self.is_again => t.again,
            ModeName::Rush => t.other_rush,
            ModeName::Queue => t.other_queue,
            ModeName::Draw => t.other_draw,
        }
    }
}

/// The sales to go on to from one sale: another one of the same goods first, then the others in the order of
/// their start.
pub fn onward<'a>(locale: Locale, from: &Sale, all: impl Iterator<Item = (&'a Sale, &'a Goods)>) -> Vec<OnwardSale> {
    let is_ahead = |sale: &Sale| !matches!(sale.state, SaleState::Draft | SaleState::Ended) && !sale.shadow;
    let mut ahead: Vec<_> = all.filter(|(sale, _)| sale.id != from.id && is_ahead(sale)).collect();
    ahead.sort_by_key(|(sale, _)| {
        let opens_at = sale.window.opens_at;
        (sale.goods_id != from.goods_id, opens_at.is_none(), opens_at, sale.id)
    });
    let mut seen = HashSet::new();
    ahead.retain(|(sale, _)| seen.insert(sale.goods_id));
    let has_again = ahead.first().is_some_and(|(sale, _)| sale.goods_id == from.goods_id);
    let shown = ahead.into_iter().take(MAX_OTHERS + usize::from(has_again));
    shown.map(|(sale, goods)| OnwardSale::new(locale, sale, goods, sale.goods_id == from.goods_id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GoodsId;
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
        let found = onward(Locale::En, &here.0, all.into_iter().map(|(sale, goods)| (sale, goods)));
        let ids: Vec<_> = found.iter().map(|sale| sale.sale.0).collect();
        assert_eq!(ids, [2, 7, 3, 8]);
        assert!(found[0].is_again && !found[1].is_again);
    }

    #[test]
    fn opening_of_a_sale_changes_no_other_page() {
        let (here, mut other) = (sample(1, "Phone"), sample(2, "Radio"));
        let shown =
            |other: &(Sale, Goods)| format!("{:?}", onward(Locale::En, &here.0, [(&other.0, &other.1)].into_iter()));
        let before = shown(&other);
        other.0.state = SaleState::Live;
        assert_eq!(shown(&other), before);
    }

    #[test]
    fn a_lone_sale_leads_nowhere() {
        let (sale, goods) = sample(1, "Phone");
        assert!(onward(Locale::Zh, &sale, [(&sale, &goods)].into_iter()).is_empty());
    }
}
