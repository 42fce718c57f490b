//! Where a shopper goes on from a sale: the variants of the same goods, the next sale of them, and sales of other products.
//!
//! Pages that any cache may keep show this. So a sale that opens must not change it, or the pages of all other sales
//! would be rendered again at that moment.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;

use domain::{Goods, GoodsId, Locale, ModeName, Money, Picture, Sale, SaleId, SaleState};
use words::OutcomeText;

/// Other sales below one sale, one per product.
const MAX_OTHERS: usize = 3;
/// Further ones that a page has in reserve, also of the same products: `lost.js` shows them in the place of what is sold out.
const MAX_SPARE: usize = 3;

/// A sale that the page leads to.
#[derive(Debug)]
pub struct OnwardSale {
    pub sale: SaleId,
    pub product: GoodsId,
    pub goods_name: String,
    pub picture: Option<Picture>,
    pub price: Money,
    pub opens_at: Option<Timestamp>,
    pub mode: ModeName,
    pub sells: Sells,
    /// Whether the page has it in reserve only.
    pub is_spare: bool,
}

/// What such a sale sells, compared with the page's sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sells {
    SameGoods,
    OtherVariant,
    OtherProduct,
}

impl Sells {
    fn of(goods: &Goods, from: &Goods) -> Sells {
        match (goods.id == from.id, goods.product() == from.product()) {
            (true, _) => Sells::SameGoods,
            (false, true) => Sells::OtherVariant,
            (false, false) => Sells::OtherProduct,
        }
    }
}

impl OnwardSale {
    fn new(locale: Locale, sale: &Sale, goods: &Goods, sells: Sells) -> OnwardSale {
        OnwardSale {
            sale: sale.id,
            product: goods.product(),
            goods_name: goods.name.get(locale).to_owned(),
            picture: goods.cover().cloned(),
            price: sale.price,
            opens_at: sale.window.opens_at,
            mode: sale.mode.name(),
            sells,
            is_spare: false,
        }
    }

    /// Why the sale is shown.
    pub fn label(&self, t: &OutcomeText) -> &'static str {
        match self.sells {
            Sells::SameGoods => t.again,
            Sells::OtherVariant => t.other_variant,
            Sells::OtherProduct => t.mode(self.mode),
        }
    }

    pub fn is_again(&self) -> bool {
        self.sells == Sells::SameGoods
    }
}

/// The sales that the page of one sale leads to: first another sale of the same goods, then of another variant, then of
/// goods of the same category, then the others; each group in the order of start. The last ones are spare.
pub fn onward<'a>(
    locale: Locale,
    (from, of): (&Sale, &Goods),
    all: impl Iterator<Item = (&'a Sale, &'a Goods)>,
) -> Vec<OnwardSale> {
    let mut ahead: Vec<_> = all.filter(|(sale, _)| sale.id != from.id && is_ahead(sale)).collect();
    let is_similar = |goods: &Goods| of.category_id.is_some() && goods.category_id == of.category_id;
    ahead.sort_by_key(|(sale, goods)| {
        let opens_at = sale.window.opens_at;
        (Sells::of(goods, of), !is_similar(goods), opens_at.is_none(), opens_at, sale.id)
    });
    let has_again = ahead.first().is_some_and(|(_, goods)| goods.id == of.id);
    let (mut seen, mut room) = (HashSet::new(), [MAX_OTHERS + usize::from(has_again), MAX_SPARE]);
    let view = |(sale, goods): (&Sale, &Goods)| {
        let is_first = seen.insert((goods.id == of.id, goods.product()));
        let is_spare = !is_first || room[0] == 0;
        let left = &mut room[usize::from(is_spare)];
        *left = left.checked_sub(1)?;
        Some(OnwardSale { is_spare, ..OnwardSale::new(locale, sale, goods, Sells::of(goods, of)) })
    };
    ahead.into_iter().filter_map(view).collect()
}

/// The sales that a page without a sale leads to, in the order of their start.
pub fn current<'a>(locale: Locale, all: impl Iterator<Item = (&'a Sale, &'a Goods)>) -> Vec<OnwardSale> {
    let mut ahead: Vec<_> = all.filter(|(sale, _)| is_ahead(sale)).collect();
    ahead.sort_by_key(|(sale, _)| (sale.window.opens_at.is_none(), sale.window.opens_at, sale.id));
    let mut seen = HashSet::new();
    ahead.retain(|(_, goods)| seen.insert(goods.product()));
    ahead
        .into_iter()
        .take(MAX_OTHERS)
        .map(|(sale, goods)| OnwardSale::new(locale, sale, goods, Sells::OtherProduct))
        .collect()
}

/// Whether the sale is public and has not ended.
pub fn is_ahead(sale: &Sale) -> bool {
    !matches!(sale.state, SaleState::Draft | SaleState::Ended) && !sale.shadow
}

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
    use domain::{Bilingual, CategoryId, SaleState};
    use testing::samples::{at, sample};

    #[test]
    fn same_goods_come_first_and_each_goods_once() {
        let here = sample(1, "Phone");
        let mut again = sample(2, "Phone");
        (again.0.goods_id, again.1.id) = (GoodsId(1), GoodsId(1));
        let mut live = sample(3, "Radio");
        live.0.state = SaleState::Live;
        let mut repeated = sample(4, "Radio");
        (repeated.0.goods_id, repeated.1.id) = (GoodsId(3), GoodsId(3));
        let mut ended = sample(5, "Old");
        ended.0.state = SaleState::Ended;
        let mut rehearsed = sample(6, "Rehearsed");
        rehearsed.0.shadow = true;
        let mut sooner = sample(7, "Sooner");
        sooner.0.window.opens_at = Some(at("2026-11-20T12:00:00Z"));
        let later = sample(8, "Later");
        let all = [&here, &later, &sooner, &rehearsed, &ended, &repeated, &live, &again];
        let found = onward(Locale::En, (&here.0, &here.1), all.into_iter().map(|(sale, goods)| (sale, goods)));
        let ids: Vec<_> = found.iter().map(|sale| (sale.sale.0, sale.is_spare)).collect();
        assert_eq!(ids, [(2, false), (7, false), (3, false), (4, true), (8, false)]);
        assert!(found[0].is_again() && !found[1].is_again());
    }

    #[test]
    fn goods_of_the_same_category_come_before_others() {
        let (mut here, mut similar, mut again) = (sample(1, "Phone"), sample(2, "Tablet"), sample(3, "Phone"));
        let (mut sooner, mut elsewhere) = (sample(4, "Lamp"), sample(5, "Chair"));
        (again.0.goods_id, again.1.id) = (GoodsId(1), GoodsId(1));
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
    fn variants_are_one_product() {
        let (here, mut variant) = (sample(1, "Phone"), sample(2, "Black phone"));
        variant.1.variant_of = Some(GoodsId(1));
        let (radio, mut red_radio) = (sample(3, "Radio"), sample(4, "Red radio"));
        red_radio.1.variant_of = Some(GoodsId(3));
        let all = || [&here, &variant, &radio, &red_radio].into_iter().map(|(sale, goods)| (sale, goods));
        let ids = |found: Vec<OnwardSale>| {
            found.iter().filter(|sale| !sale.is_spare).map(|sale| sale.sale.0).collect::<Vec<_>>()
        };
        assert_eq!(ids(onward(Locale::En, (&here.0, &here.1), all())), [2, 3]);
        assert_eq!(ids(onward(Locale::En, (&red_radio.0, &red_radio.1), all())), [3, 1]);
        assert_eq!(onward(Locale::En, (&here.0, &here.1), all())[0].sells, Sells::OtherVariant);
        assert_eq!(ids(current(Locale::En, all())), [1, 3]);
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
        (again.0.goods_id, again.1.id) = (GoodsId(1), GoodsId(1));
        let all = [&later, &sooner, &ended, &again, &more[0], &more[1]];
        let found = current(Locale::En, all.into_iter().map(|(sale, goods)| (sale, goods)));
        assert_eq!(found.iter().map(|sale| sale.sale.0).collect::<Vec<_>>(), [2, 1, 5]);
        assert!(found.iter().all(|sale| !sale.is_again()));
    }

    #[test]
    fn a_lone_sale_leads_nowhere() {
        let (sale, goods) = sample(1, "Phone");
        assert!(onward(Locale::Zh, (&sale, &goods), [(&sale, &goods)].into_iter()).is_empty());
    }

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
    fn opening_of_a_sale_leaves_variants_of_other_pages() {
        let (blue, mut black) = (variant(5, 1, "Blue"), variant(6, 2, "Black"));
        let before = chosen(&blue, &[&blue, &black]);
        black.0.state = SaleState::Live;
        assert_eq!(chosen(&blue, &[&blue, &black]), before);
    }
}
