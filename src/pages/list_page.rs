//! The list of sales, by session: first the open sales, then each start with the sales that share it, then ended sales.
//!
//! Each category has its own list, with the sales of its goods. A list depends on definitions, states and demand: it is
//! rendered again when a sale is nearly sold, when it is sold out, and when units come back. The script moves a card
//! when its sale opens or ends.

use std::cmp::Reverse;
use std::collections::HashSet;

use askama::Template;
use jiff::Timestamp;

use crate::Chrome;
use crate::filters::{self, action, categories_of, category_path, discount_label};
use crate::sale_pages::Site;
use domain::{Category, Goods, Locale, Sale, SaleState};

/// Past sales on the list, one per product. The archive shows all of them.
const MAX_PAST_SALES: usize = 8;
/// This many starts have their own tab. Sales that start later share one last tab.
const MAX_SESSIONS: usize = 5;

type Listed<'a> = &'a (Sale, Goods);

/// Sales that are shown together.
struct Session<'a> {
    /// The session's anchor on the page.
    id: String,
    /// When the sales start. `None` for open sales, for sales without a time, and for the last session if its sales
    /// start at different times.
    opens_at: Option<Timestamp>,
    is_live: bool,
    /// One sale per product.
    sales: Vec<Listed<'a>>,
    /// Further sales of products that the session already shows, for example of other variants.
    repeated: Vec<Listed<'a>>,
}

impl<'a> Session<'a> {
    fn new(id: String, opens_at: Option<Timestamp>, is_live: bool, all: Vec<Listed<'a>>) -> Session<'a> {
        let (sales, repeated) = once_per_product(all);
        Session { id, opens_at, is_live, sales, repeated }
    }

    fn is_empty(&self) -> bool {
        self.sales.is_empty()
    }

    /// Columns that the session fills. 0 means a whole row, for the session with the large card.
    fn columns(&self, leading: Option<&str>) -> usize {
        if leading == Some(self.id.as_str()) { 0 } else { self.sales.len() }
    }

    /// The sales, without the first if that is shown large.
    fn rest(&self, leads: &bool) -> &[Listed<'a>] {
        &self.sales[usize::from(*leads).min(self.sales.len())..]
    }
}

/// The first sale of each product and mode, and the others.
fn once_per_product(all: Vec<Listed<'_>>) -> (Vec<Listed<'_>>, Vec<Listed<'_>>) {
    let mut seen = HashSet::new();
    all.into_iter().partition(|(sale, goods)| seen.insert((goods.product(), sale.mode.name())))
}

#[derive(Template)]
#[template(path = "pages/list.html")]
pub struct ListPage<'a> {
    chrome: Chrome,
    origin: &'a str,
    /// `None` for the list of all sales.
    category: Option<&'a Category>,
    /// The categories to choose from: this one, and all that have open or upcoming sales.
    choices: Vec<&'a Category>,
    /// The first session holds the open sales. It exists even if it is empty, because the script moves cards there.
    sessions: Vec<Session<'a>>,
    past: Vec<Listed<'a>>,
}

impl<'a> ListPage<'a> {
    /// `sales` contains no drafts. It has the sales of all categories.
    fn new(
        (chrome, origin): (Chrome, &'a str),
        sales: &[Listed<'a>],
        categories: &'a [Category],
        category: Option<&'a Category>,
    ) -> ListPage<'a> {
        let current = sales.iter().filter(|(sale, _)| sale.state != SaleState::Ended);
        let current = current.map(|(_, goods)| goods.category_id).chain([category.map(|category| category.id)]);
        let choices = categories_of(categories, current);
        let is_here = |goods: &Goods| category.is_none_or(|category| goods.category_id == Some(category.id));
        let states = [&[SaleState::Live, SaleState::Paused][..], &[SaleState::Scheduled], &[SaleState::Ended]];
        let [mut live, mut next, mut past] = states.map(|states| -> Vec<_> {
            sales.iter().copied().filter(|(sale, goods)| states.contains(&sale.state) && is_here(goods)).collect()
        });
        // Nearly sold-out sales come first. Then rushes and waiting rooms before draws, because in a draw speed does not
        // matter. Within each, the sale that ends first, then the latest start. Sold-out and paused sales come last.
        live.sort_by_key(|(sale, _)| {
            let closes_at = sale.window.closes_at;
            let stands = (sale.state == SaleState::Paused, sale.demand());
            (stands, sale.mode.is_draw(), closes_at.is_none(), closes_at, Reverse((sale.window.opens_at, sale.id)))
        });
        next.sort_by_key(|(sale, _)| (sale.window.opens_at.is_none(), sale.window.opens_at, sale.id));
        past.sort_by_key(|(sale, _)| Reverse((sale.window.opens_at, sale.id)));
        let mut past = once_per_product(past).0;
        past.truncate(MAX_PAST_SALES);
        let mut sessions = vec![Session::new("now".to_owned(), None, true, live)];
        sessions.extend(upcoming(next));
        ListPage { chrome, origin, category, choices, sessions, past }
    }

    /// Whether at most two sessions are to come, each with one sale. They share a row of their own.
    fn has_few_sessions(&self) -> bool {
        let ahead = &self.sessions[1..];
        ahead.len() <= 2 && ahead.iter().all(|session| session.columns(self.leading()) == 1)
    }

    fn title(&self) -> &str {
        self.category.map_or(self.chrome.text().shop.list_title, |category| self.chrome.say(&category.name))
    }

    fn url(&self) -> String {
        format!("{}{}", self.origin, self.chrome.path)
    }

    /// The shop's icon, for previews of links.
    fn preview_picture(&self) -> String {
        format!("{}{}", self.origin, self.chrome.icon("icon-512.png"))
    }

    fn is_this(&self, category: &Category) -> bool {
        self.category.is_some_and(|this| this.id == category.id)
    }

    /// The address of the archive with all sales of this list, even sales that ended long ago.
    fn archive_path(&self, show: &str) -> String {
        let show = Some(show).filter(|show| !show.is_empty()).map(|show| format!("show={show}"));
        let category = self.category.map(|category| format!("category={}", category.id));
        let query: Vec<String> = show.into_iter().chain(category).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/{}/archive{mark}{}", self.chrome.locale, query.join("&"))
    }

    fn is_empty(&self) -> bool {
        self.sessions.iter().all(Session::is_empty)
    }

    /// The session whose first sale is shown large.
    fn leading(&self) -> Option<&str> {
        self.sessions.iter().find(|session| !session.is_empty()).map(|session| session.id.as_str())
    }
}

/// The list of all sales and the list of each category, with their addresses.
pub(super) fn render_lists(
    locale: Locale,
    site: Site<'_>,
    sales: &[Listed<'_>],
) -> askama::Result<Vec<(String, String)>> {
    let lists = std::iter::once(None).chain(site.categories.iter().map(Some));
    lists
        .map(|category| {
            let path = category.map_or_else(|| format!("/{locale}/"), |category| category_path(locale, category.id));
            let chrome = Chrome::anonymous(site.shop, site.made_at, locale, path.clone());
            Ok((path, ListPage::new((chrome, site.origin), sales, site.categories, category).render()?))
        })
        .collect()
}

/// The sessions of sales in the order of their start. Starts are shown to the minute, so one minute is one session.
fn upcoming(sales: Vec<Listed<'_>>) -> Vec<Session<'_>> {
    let mut sessions: Vec<(Option<Timestamp>, Vec<Listed<'_>>)> = Vec::new();
    for listed in sales {
        let opens_at = listed.0.window.opens_at;
        let is_full = sessions.len() > MAX_SESSIONS;
        let minute = |at: Option<Timestamp>| at.map(|at| at.as_second().div_euclid(60));
        match sessions.last_mut() {
            Some((last, session)) if minute(*last) == minute(opens_at) || is_full => {
                // The last session mixes starts, so it has no time.
                if minute(*last) != minute(opens_at) {
                    *last = None;
                }
                session.push(listed);
            }
            _ => sessions.push((opens_at, vec![listed])),
        }
    }
    let of = |(opens_at, sales): (Option<Timestamp>, _)| {
        let id = opens_at.map_or_else(|| "later".to_owned(), |at| format!("at-{}", at.as_second()));
        Session::new(id, opens_at, false, sales)
    };
    sessions.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{GoodsId, SaleMode};
    use testing::samples::{at, sample};

    fn page<'a>(sales: &[Listed<'a>]) -> ListPage<'a> {
        ListPage::new(
            (
                Chrome::anonymous(&Default::default(), at("2026-11-20T12:00:00Z"), Locale::En, "/en/".into()),
                "https://shop.example",
            ),
            sales,
            &[],
            None,
        )
    }

    fn ids(sales: &[Listed<'_>]) -> Vec<i64> {
        sales.iter().map(|(sale, _)| sale.id.0).collect()
    }

    #[test]
    fn sales_with_one_start_share_a_session() {
        let (noon, also_noon) = (sample(1, "Phone"), sample(2, "Radio"));
        let (mut evening, mut unknown) = (sample(3, "Lamp"), sample(4, "Chair"));
        evening.0.window.opens_at = Some(at("2026-11-21T20:00:00Z"));
        unknown.0.window.opens_at = None;
        let list = page(&[&unknown, &evening, &also_noon, &noon]);
        let sessions: Vec<_> = list.sessions.iter().map(|session| (session.id.as_str(), ids(&session.sales))).collect();
        let noon = format!("at-{}", at("2026-11-21T12:00:00Z").as_second());
        let evening = format!("at-{}", at("2026-11-21T20:00:00Z").as_second());
        assert_eq!(sessions, [("now", vec![]), (&noon, vec![1, 2]), (&evening, vec![3]), ("later", vec![4])]);
        assert_eq!(list.leading(), Some(noon.as_str()));
    }

    #[test]
    fn repeated_products_of_one_session_are_folded_away() {
        let (first, mut again, mut draw) = (sample(1, "Phone"), sample(2, "Phone"), sample(3, "Phone"));
        (again.1.variant_of, draw.1.id) = (Some(GoodsId(1)), GoodsId(1));
        draw.0.mode = SaleMode::Draw(domain::DrawPlan { window_s: 900, review_s: 20, beacon: None });
        let list = page(&[&first, &again, &draw]);
        assert_eq!((ids(&list.sessions[1].sales), ids(&list.sessions[1].repeated)), (vec![1, 3], vec![2]));
        let html = list.render().unwrap();
        assert!(html.contains("One more sale of these products") && html.contains(r#"data-sale="2""#), "{html}");
    }

    #[test]
    fn few_sessions_of_one_sale_each_fill_their_line() {
        let (mut live, mut noon, mut night) = (sample(1, "Phone"), sample(2, "Radio"), sample(3, "Lamp"));
        live.0.state = SaleState::Live;
        noon.0.window.opens_at = Some(at("2026-11-21T12:00:00Z"));
        night.0.window.opens_at = Some(at("2026-11-21T20:00:00Z"));
        let has_few = |sales: &[Listed<'_>]| page(sales).render().unwrap().contains("data-few");
        assert!(has_few(&[&live, &noon]) && has_few(&[&live, &noon, &night]));
        assert!(!has_few(&[&noon, &night]), "the first is shown large");
        let mut also = sample(4, "Chair");
        also.0.window = night.0.window;
        assert!(!has_few(&[&live, &noon, &night, &also]), "one of them has two sales");
    }

    #[test]
    fn many_starts_share_the_last_tab() {
        let sales: Vec<_> = (0..9)
            .map(|n| {
                let mut sale = sample(n + 1, "Phone");
                sale.0.window.opens_at = Some(at("2026-11-21T12:00:00Z") + jiff::SignedDuration::from_mins(n));
                sale
            })
            .collect();
        let listed: Vec<_> = sales.iter().collect();
        let list = page(&listed);
        assert_eq!(list.sessions.len(), 1 + MAX_SESSIONS + 1);
        let last = list.sessions.last().unwrap();
        assert_eq!((last.id.as_str(), last.sales.len()), ("later", 4));
    }

    #[test]
    fn open_sale_that_ends_first_leads() {
        let (mut endless, mut soon, mut paused) = (sample(1, "Phone"), sample(2, "Radio"), sample(3, "Lamp"));
        (endless.0.state, soon.0.state, paused.0.state) = (SaleState::Live, SaleState::Live, SaleState::Paused);
        soon.0.window.closes_at = Some(at("2026-11-21T13:00:00Z"));
        paused.0.window.closes_at = Some(at("2026-11-21T12:30:00Z"));
        assert_eq!(ids(&page(&[&endless, &paused, &soon]).sessions[0].sales), [2, 1, 3]);
        soon.0.mode = SaleMode::Draw(domain::DrawPlan { window_s: 900, review_s: 20, beacon: None });
        assert_eq!(ids(&page(&[&endless, &paused, &soon]).sessions[0].sales), [1, 2, 3], "a rush leads, not a draw");
    }

    #[test]
    fn what_is_nearly_gone_leads_and_what_is_gone_follows() {
        let mut sales: Vec<_> = [(1, 10), (2, 100), (3, 80), (4, 79)]
            .into_iter()
            .map(|(id, sold)| {
                let mut sale = sample(id, &format!("Goods {id}"));
                (sale.0.state, sale.0.total, sale.0.sold) = (SaleState::Live, 100, sold);
                sale
            })
            .collect();
        let listed: Vec<_> = sales.iter().collect();
        assert_eq!(ids(&page(&listed).sessions[0].sales), [3, 4, 1, 2]);
        sales[2].0.state = SaleState::Paused;
        let listed: Vec<_> = sales.iter().collect();
        assert_eq!(ids(&page(&listed).sessions[0].sales), [4, 1, 2, 3], "a paused sale comes last");
    }
}
