//! One search across the console: its pages, sales, orders, users and questions, as a page and as JSON for the palette.
//! A member of the staff finds what the role may see. Every look-up is exact or along an index: orders by their whole
//! number, users by the beginning of the name. Pages and sales are few, and only the latest questions are searched.

use crate::prelude::*;
use store::{FoundOrder, FoundQuestion, OrderSearch, UserSearch};

/// Hits of each kind.
const MAX_OF_A_KIND: usize = 6;
/// Longer texts find nothing.
const MAX_CHARS: usize = 100;

inputs! {
    SearchQuery { q }
}

pub async fn page((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<SearchQuery>) -> Answer {
    let hits = find(&shop, &visitor, &query.q).await?;
    let chrome = visitor.chrome_at(format!("/admin/search?lang={}", visitor.locale));
    personal(StatusCode::OK, &SearchPage { chrome, q: query.q, hits })
}

/// The same for the palette.
pub async fn hits((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<SearchQuery>) -> Answer {
    let hits = find(&shop, &visitor, &query.q).await?;
    Ok(private(json!({"hits": hits})))
}

async fn find(shop: &Shop, visitor: &Visitor, q: &str) -> Result<Vec<SearchHit>, Problem> {
    let words = q.trim();
    if words.chars().count() > MAX_CHARS {
        return Ok(Vec::new());
    }
    let mut hits = pages(visitor, words);
    // Without words the palette offers the pages alone.
    if !words.is_empty() {
        hits.extend(sales(shop, visitor, words));
        hits.extend(orders(shop, visitor, words).await?);
        hits.extend(users(shop, visitor, words).await?);
        hits.extend(questions(shop, visitor, words).await?);
    }
    Ok(hits)
}

fn hit(visitor: &Visitor, kind: HitKind, title: String, detail: String, path: &str) -> SearchHit {
    let t = &words::text(visitor.locale).palette;
    let label = match kind {
        HitKind::Page => t.k_page,
        HitKind::Sale => t.k_sale,
        HitKind::Order => t.k_order,
        HitKind::User => t.k_user,
        HitKind::Question => t.k_question,
    };
    SearchHit { kind, label, title, detail, path: console_link(path, visitor.locale) }
}

/// The sections that the role sees, and the forms that create something there.
fn pages(visitor: &Visitor, words: &str) -> Vec<SearchHit> {
    let (chrome, t) = (visitor.chrome(), words::text(visitor.locale));
    let places = chrome.places().into_iter().flat_map(|(_, places)| places);
    let mut all: Vec<(&str, &str)> = places.map(|place| (place.path, place.name)).collect();
    all.push(("/admin/goods/categories", t.categories.title));
    all.extend([("/admin/orders?show=payments", t.cases.title), ("/admin/orders?show=approvals", t.approvals.title)]);
    if chrome.owns() {
        all.push(("/admin/orders/books?show=settlements", t.settlements.title));
        all.extend([("/admin/users?show=staff", t.people.staff_title), ("/admin/log?show=security", t.security.title)]);
        all.push(("/admin/system?show=mail", t.recovery.console_title));
    }
    if chrome.runs_sales() {
        all.extend([("/admin/sales/new", t.admin.new_sale), ("/admin/goods/new", t.admin.new_goods)]);
        all.push(("/admin/packets/new", t.packets.rain));
    }
    let words = words.to_lowercase();
    let found = all.into_iter().filter(|(_, name)| name.to_lowercase().contains(&words));
    found.map(|(path, name)| hit(visitor, HitKind::Page, name.to_owned(), String::new(), path)).collect()
}

/// Sales by number or by a part of the name of their goods, newest first. If the search means a single sale, also its
/// orders and its report.
fn sales(shop: &Shop, visitor: &Visitor, words: &str) -> Vec<SearchHit> {
    let t = words::text(visitor.locale);
    let number: Option<SaleId> = words.trim_start_matches('#').parse().ok();
    let words = words.to_lowercase();
    let mut found = shop.catalogue.entries();
    found.retain(|entry| {
        let name = &entry.goods.name;
        number == Some(entry.sale.id) || [&name.zh, &name.en].iter().any(|name| name.to_lowercase().contains(&words))
    });
    // The sale with this number comes before sales whose goods have it in their name.
    found.sort_by_key(|entry| number != Some(entry.sale.id));
    let meant = found.first().filter(|entry| number == Some(entry.sale.id) || found.len() == 1).map(|e| e.sale.id);
    let mut hits = Vec::new();
    for entry in found.iter().take(MAX_OF_A_KIND) {
        let (sale, name) = (&entry.sale, entry.goods.name.get(visitor.locale));
        let detail = format!("{} · {}", words::fill(t.admin.sale_number, sale.id), t.state(&sale.state));
        hits.push(hit(visitor, HitKind::Sale, name.to_owned(), detail, &format!("/admin/sales/{}", sale.id)));
        if meant == Some(sale.id) {
            let of_sale =
                |title: &str, path: String| hit(visitor, HitKind::Page, title.to_owned(), name.to_owned(), &path);
            hits.push(of_sale(t.cockpit.orders_link, format!("/admin/orders?sale={}", sale.id)));
            hits.push(of_sale(t.report.title, format!("/admin/sales/{}/report", sale.id)));
        }
    }
    hits
}

/// Orders by their number, their id, or the end of the id.
async fn orders(shop: &Shop, visitor: &Visitor, words: &str) -> Result<Vec<SearchHit>, Problem> {
    let (order, tail, number) = (words.parse().ok(), OrderId::read_short(words), words.parse().ok());
    if order.is_none() && tail.is_none() && number.is_none() {
        return Ok(Vec::new());
    }
    let search = OrderSearch { order, tail, number, ..OrderSearch::default() };
    let found = shop.store.orders().find(&search, MAX_OF_A_KIND as i64).await?.into_iter();
    let hits = found.map(|FoundOrder { order, .. }| {
        let detail = format!("{} · {}", words::text(visitor.locale).status(&order.status), order.amount);
        hit(visitor, HitKind::Order, order.number_text(), detail, &format!("/admin/orders/{}", order.id))
    });
    Ok(hits.collect())
}

async fn users(shop: &Shop, visitor: &Visitor, words: &str) -> Result<Vec<SearchHit>, Problem> {
    let found = shop.store.accounts().find_users(&UserSearch::typed(words), None, MAX_OF_A_KIND as i64).await?;
    let t = words::text(visitor.locale);
    let hits = found.into_iter().map(|user| {
        let path = format!("/admin/users/{}", user.id);
        hit(visitor, HitKind::User, user.username, t.role(&user.role).to_owned(), &path)
    });
    Ok(hits.collect())
}

/// Questions whose text has the words, newest first.
async fn questions(shop: &Shop, visitor: &Visitor, words: &str) -> Result<Vec<SearchHit>, Problem> {
    let found = shop.store.questions().search(words, MAX_OF_A_KIND as i64).await?;
    let hits = found.into_iter().map(|FoundQuestion { question, goods_name, .. }| {
        let status = words::text(visitor.locale).questions.status(question.status);
        let detail = format!("{} · {status}", goods_name.get(visitor.locale));
        hit(visitor, HitKind::Question, question.text, detail, &format!("/admin/questions/{}", question.id))
    });
    Ok(hits.collect())
}

wire_enum! {
    /// The kinds of hits, in the order in which they are listed.
    pub enum HitKind {
        Page = "page",
        Sale = "sale",
        Order = "order",
        User = "user",
        Question = "question",
    }
}

/// Something that was found, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchHit {
    pub kind: HitKind,
    /// The kind in words.
    pub label: &'static str,
    pub title: String,
    /// What distinguishes it from other hits with the same title.
    pub detail: String,
    pub path: String,
}

/// The search results for browsers without scripts.
#[derive(Debug, Template)]
#[template(path = "lists/search.html")]
struct SearchPage {
    chrome: Chrome,
    /// The search as entered.
    q: String,
    hits: Vec<SearchHit>,
}
