//! The list of sales and the page of one sale: the same bytes for everybody.
//!
//! They may be kept by any cache for as long as it likes, so nothing here may depend on the visitor, on the clock, or on
//! how a sale is going. Only a sale's definition goes in, and whether it is over for good.

use std::cmp::Reverse;

use askama::Template;

use super::filters;
use super::text::refusals;
use super::views::Chrome;
use crate::domain::{Goods, Locale, Sale, SaleState};

/// Past sales that the list still shows.
const PAST_SHOWN: usize = 12;
/// The most units that the quantity field offers; the API takes what the sale's limit allows.
const MOST_OFFERED: i64 = 10;

/// All pages of one language with their addresses. Expects no drafts.
pub fn render_all(locale: Locale, sales: &[&(Sale, Goods)]) -> askama::Result<Vec<(String, String)>> {
    let mut pages = Vec::with_capacity(sales.len() + 1);
    pages.push((format!("/{locale}/"), ListPage::new(locale, sales).render()?));
    for (sale, goods) in sales {
        let page = SalePage { chrome: anonymous(locale, format!("/{locale}/sales/{}", sale.id)), sale, goods };
        pages.push((page.chrome.path.clone(), page.render()?));
    }
    Ok(pages)
}

fn anonymous(locale: Locale, path: String) -> Chrome {
    Chrome { locale, path, username: None, is_staff: false }
}

#[derive(Template)]
#[template(path = "list.html")]
struct ListPage<'a> {
    chrome: Chrome,
    current: Vec<&'a (Sale, Goods)>,
    past: Vec<&'a (Sale, Goods)>,
}

impl<'a> ListPage<'a> {
    fn new(locale: Locale, sales: &[&'a (Sale, Goods)]) -> ListPage<'a> {
        let (mut past, mut current): (Vec<_>, Vec<_>) =
            sales.iter().copied().partition(|(sale, _)| sale.state == SaleState::Ended);
        current.sort_by_key(|(sale, _)| (sale.window.opens_at.is_none(), sale.window.opens_at, sale.id));
        past.sort_by_key(|(sale, _)| Reverse((sale.window.opens_at, sale.id)));
        past.truncate(PAST_SHOWN);
        ListPage { chrome: anonymous(locale, format!("/{locale}/")), current, past }
    }
}

#[derive(Template)]
#[template(path = "sale.html")]
struct SalePage<'a> {
    chrome: Chrome,
    sale: &'a Sale,
    goods: &'a Goods,
}

impl SalePage<'_> {
    fn quantities(&self) -> std::ops::RangeInclusive<i64> {
        1..=self.sale.per_user_limit.clamp(1, MOST_OFFERED)
    }

    /// What the script says about refusals, by code.
    fn refusals(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        refusals().map(|problem| (problem.code, problem.text(self.chrome.locale)))
    }
}

/// How much cheaper than outside the sale, in whole percent, never rounded in the shop's favour.
fn discount(sale: &Sale) -> Option<i64> {
    let list = sale.list_price.filter(|list| list.currency == sale.price.currency && list.amount > 0)?;
    let percent = i128::from(list.amount - sale.price.amount) * 100 / i128::from(list.amount);
    i64::try_from(percent).ok().filter(|percent| (1..=99).contains(percent))
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::domain::{Bilingual, Currency, GoodsId, Money, SaleId, Window};

    pub fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    pub fn sample(id: i64, name: &str) -> (Sale, Goods) {
        let goods = Goods {
            id: GoodsId(id),
            name: Bilingual::new(name, name),
            description: Bilingual::new("介绍", "About it"),
            image: "phone.svg".into(),
            updated_at: at("2026-11-01T00:00:00Z"),
        };
        let sale = Sale {
            id: SaleId(id),
            goods_id: goods.id,
            price: Money::new(199_900, Currency::CNY),
            list_price: Some(Money::new(299_900, Currency::CNY)),
            total: 100,
            sold: 0,
            granted: 0,
            per_user_limit: 2,
            window: Window { opens_at: Some(at("2026-11-21T12:00:00Z")), closes_at: None },
            state: SaleState::Scheduled,
            version: 1,
            epoch: 1,
        };
        (sale, goods)
    }

    fn render(sales: &[(Sale, Goods)]) -> Vec<(String, String)> {
        let sales: Vec<_> = sales.iter().collect();
        Locale::ALL.into_iter().flat_map(|locale| render_all(locale, &sales).unwrap()).collect()
    }

    #[test]
    fn pages_say_what_is_sold_when_and_for_how_much() {
        let pages = render(&[sample(7, "Phone")]);
        let addresses: Vec<_> = pages.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(addresses, ["/zh/", "/zh/sales/7", "/en/", "/en/sales/7"]);
        for (path, html) in &pages {
            for part in ["Phone", "¥1,999.00", "¥2,999.00", "2026-11-21 12:00 UTC", "/static/goods/phone."] {
                assert!(html.contains(part), "{part} on {path}");
            }
        }
        let (_, detail) = &pages[3];
        assert!(detail.contains(r#"action="/en/sales/7/buy""#) && detail.contains("−33%"));
        assert!(detail.contains(r#"href="/zh/sales/7""#), "the switch keeps the page");
    }

    #[test]
    fn pages_carry_no_live_data() {
        let quiet = sample(7, "Phone");
        let mut busy = quiet.clone();
        (busy.0.sold, busy.0.granted, busy.0.version, busy.0.epoch) = (99, 120, 12, 5);
        busy.0.state = SaleState::Live;
        assert_eq!(render(&[quiet]), render(&[busy]));
    }

    #[test]
    fn a_limit_of_one_leaves_nothing_to_choose() {
        let mut one = sample(7, "Phone");
        assert!(render(std::slice::from_ref(&one))[1].1.contains("<select"));
        one.0.per_user_limit = 1;
        assert!(!render(&[one])[1].1.contains("<select"));
    }

    #[test]
    fn hostile_names_are_harmless() {
        let long = "长".repeat(5_000);
        for name in ["<script>alert(1)</script>", "\" onload=alert(1) x=\"", "'><img src=x>", "\u{202e}evil", &long] {
            for (path, html) in render(&[sample(7, name)]) {
                let own = html.matches("<script").count();
                assert_eq!(own, 1, "only our own script on {path}");
                assert!(!html.contains("\" onload=") && !html.contains("<img src=x"), "{path}");
                assert!(!html.contains(" style=\""), "{path}");
            }
        }
    }

    #[test]
    fn what_is_over_moves_to_the_past_and_the_next_comes_first() {
        let (mut over, mut later, mut sooner) = (sample(1, "Over"), sample(2, "Later"), sample(3, "Sooner"));
        over.0.state = SaleState::Ended;
        later.0.window.opens_at = None;
        sooner.0.window.opens_at = Some(at("2026-11-20T12:00:00Z"));
        let list = &render(&[over, later, sooner])[4].1;
        let place = |name: &str| list.find(name).unwrap();
        assert!(place("Sooner") < place("Later") && place("Later") < place("Past sales"));
        assert!(place("Past sales") < place("Over<"));
    }

    #[test]
    fn discounts_are_never_exaggerated() {
        let (mut sale, _) = sample(1, "x");
        let mut percent = |price, list| {
            (sale.price, sale.list_price) = (Money::new(price, Currency::CNY), Some(Money::new(list, Currency::CNY)));
            discount(&sale)
        };
        assert_eq!(percent(199_900, 299_900), Some(33));
        assert_eq!(percent(999, 1000), None);
        assert_eq!(percent(1000, 900), None);
        assert_eq!(percent(1, i64::MAX), Some(99));
    }
}
