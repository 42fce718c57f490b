//! The administrator's list of sales with what can be done to them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use serde::Deserialize;

use super::cockpit;
use crate::control::sales_admin::{DeskChange, SaleRow};
use crate::domain::{Goods, GoodsId, Locale, Sale, SaleId};
use crate::i18n;
use crate::store::{MOST_UNITS, Overlap, PastPage, SaleRefusal};
use crate::web::Shop;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::Problem;
use crate::web::views::{AdminSale, AdminSalesPage, SaleGroup, admin_notice};

/// Ended sales on one page.
const PAST_PAGE: i64 = 10;

/// Which sales to show, and what was just done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Listing {
    q: String,
    /// One group only.
    state: String,
    /// Where the page of ended sales begins: a closing time in milliseconds, `-`, an id.
    before: String,
    done: String,
    sale: String,
}

pub async fn sales(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(listing): Query<Listing>,
) -> Result<Response, Problem> {
    show(&shop, &visitor, StatusCode::OK, listing, None).await
}

/// Something that the administrator should know, with the sale that it is about.
struct Warning {
    text: &'static str,
    other: Option<SaleId>,
}

async fn show(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    listing: Listing,
    warning: Option<Warning>,
) -> Result<Response, Problem> {
    let now = shop.clock.now();
    let before = place(&listing.before);
    let current = shop.sales_admin.current().await?;
    let wanted = Wanted::of(&listing.q, &current.goods);
    let past = PastPage { before, goods: wanted.goods.clone(), number: wanted.number, most: PAST_PAGE };
    let past = shop.sales_admin.past(&past, &current.goods).await?;
    let found = current.sales.into_iter().filter(|row| wanted.has(&row.sale));
    let rows: Vec<AdminSale> = found.map(|row| admin_sale(row, visitor.locale, now)).collect();
    let ended = past.sales.into_iter().map(|row| admin_sale(row, visitor.locale, now)).collect();
    let asked = SaleGroup::ALL.into_iter().find(|group| group.as_str() == listing.state);
    let only = asked.or(before.map(|_| SaleGroup::Past));
    let (text, other) = warning.map_or((None, None), |warning| (Some(warning.text), warning.other));
    let mut chrome = visitor.chrome();
    chrome.path = admin_path(visitor.locale);
    let page = AdminSalesPage {
        groups: AdminSalesPage::grouped(rows, ended, only),
        goods: current.goods,
        q: listing.q,
        only: asked,
        is_later_page: before.is_some(),
        next: past.next.map(|(closed, id)| format!("{closed}-{id}")),
        warning: text,
        other,
        done: admin_notice(visitor.locale, &listing.done, listing.sale.parse().ok()),
        chrome,
    };
    personal(status, &page)
}

fn admin_sale(row: SaleRow, locale: Locale, now: Timestamp) -> AdminSale {
    AdminSale {
        goods_name: row.goods.name.get(locale).to_owned(),
        picture: row.goods.cover().cloned(),
        phase: row.status.map_or_else(|| row.sale.phase(now), |status| status.phase),
        booked: row.status.and_then(|status| status.booked),
        access: row.status.and_then(|status| status.access),
        outbox: row.outbox,
        unpaid: row.unpaid,
        paid: row.paid,
        sale: row.sale,
    }
}

/// What a search means: a sale by its number, or sales of goods whose name has the words in it.
struct Wanted {
    number: Option<SaleId>,
    /// `None` when nothing is searched for.
    goods: Option<Vec<GoodsId>>,
}

impl Wanted {
    /// Most goods that one search goes through; a name that fits more says nothing.
    const MOST: usize = 500;

    fn of(q: &str, goods: &[Goods]) -> Wanted {
        let words = q.trim().to_lowercase();
        if words.is_empty() {
            return Wanted { number: None, goods: None };
        }
        let fits = |goods: &&Goods| Locale::ALL.iter().any(|l| goods.name.get(*l).to_lowercase().contains(&words));
        let found = goods.iter().filter(fits).map(|goods| goods.id).take(Self::MOST).collect();
        Wanted { number: words.trim_start_matches('#').parse().ok(), goods: Some(found) }
    }

    fn has(&self, sale: &Sale) -> bool {
        let Some(goods) = &self.goods else { return true };
        self.number == Some(sale.id) || goods.contains(&sale.goods_id)
    }
}

fn place(before: &str) -> Option<(i64, SaleId)> {
    let (closed, id) = before.split_once('-')?;
    Some((closed.parse().ok()?, id.parse().ok()?))
}

pub fn admin_path(locale: Locale) -> String {
    format!("/admin?lang={locale}")
}

/// A page of the console that says what was done to a sale.
pub fn done_path(locale: Locale, page: &str, done: &str, sale: SaleId) -> String {
    format!("{page}?lang={locale}&done={done}&sale={sale}")
}

/// What every form on the list carries, so that nothing happens by a slip of the finger.
#[derive(Deserialize)]
pub struct Confirmation {
    #[serde(default)]
    confirm: String,
    /// The sale's number, typed once more: demanded for what cannot be taken back.
    #[serde(default)]
    typed: String,
    #[serde(default)]
    units: String,
    /// `sale` when the form stands on the sale's own page.
    #[serde(default)]
    back: String,
}

impl Confirmation {
    fn is_given(&self) -> bool {
        self.confirm == "yes"
    }

    /// The sale on whose own page the form stands; `None` for the list.
    fn on(&self, id: SaleId) -> Option<SaleId> {
        (self.back == "sale").then_some(id)
    }
}

type Order = (State<Arc<Shop>>, Staff<RunSales>, Visitor, PathIds<SaleId>);

/// A handler for each change that only needs to be confirmed.
macro_rules! changes {
    ($($name:ident $done:literal $change:expr;)*) => {$(
        pub async fn $name(order: Order, Form(form): Form<Confirmation>) -> Result<Response, Problem> {
            let meant = form.is_given();
            carry_out(order, &form, meant.then_some($change), $done).await
        }
    )*};
}

changes! {
    start "started" DeskChange::Start;
    pause "paused" DeskChange::Pause;
    resume "resumed" DeskChange::Resume;
    schedule "scheduled" DeskChange::Schedule(Overlap::Refused);
    unschedule "unscheduled" DeskChange::Unschedule;
}

pub async fn stop(order: Order, Form(form): Form<Confirmation>) -> Result<Response, Problem> {
    let (.., PathIds(id)) = &order;
    let meant = form.is_given() && form.typed.trim() == id.to_string();
    carry_out(order, &form, meant.then_some(DeskChange::Stop), "stopped").await
}

pub async fn top_up(order: Order, Form(form): Form<Confirmation>) -> Result<Response, Problem> {
    let units = form.units.trim().parse().ok().filter(|units| (1..=MOST_UNITS).contains(units));
    let Some(units) = units else {
        let (State(shop), _, visitor, PathIds(id)) = order;
        let text = i18n::field_error(visitor.locale, "bad_number");
        let warning = Warning { text, other: None };
        return warn(&shop, &visitor, form.on(id), StatusCode::UNPROCESSABLE_ENTITY, warning).await;
    };
    carry_out(order, &form, form.is_given().then_some(DeskChange::TopUp(units)), "topped_up").await
}

pub async fn delete(
    (State(shop), admin, visitor, PathIds(id)): Order,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    if !form.is_given() {
        return unconfirmed(&shop, &visitor, None).await;
    }
    match shop.sales_admin.delete_draft(id, admin.actor()).await {
        Ok(()) => Ok(see_other(&done_path(visitor.locale, "/admin", "deleted", id))),
        Err(refusal) => refuse(&shop, &visitor, None, refusal).await,
    }
}

/// Changes the sale and says so where the form stood; with a warning, when the change was not confirmed or not possible.
async fn carry_out(
    (State(shop), admin, visitor, PathIds(id)): Order,
    form: &Confirmation,
    confirmed: Option<DeskChange>,
    done: &str,
) -> Result<Response, Problem> {
    let on = form.on(id);
    let Some(change) = confirmed else { return unconfirmed(&shop, &visitor, on).await };
    match shop.sales_admin.change(id, change, admin.actor()).await {
        Ok(_) => {
            let page = on.map_or_else(|| "/admin".to_owned(), |id| format!("/admin/sales/{id}"));
            Ok(see_other(&done_path(visitor.locale, &page, done, id)))
        }
        Err(refusal) => refuse(&shop, &visitor, on, refusal).await,
    }
}

async fn unconfirmed(shop: &Shop, visitor: &Visitor, on: Option<SaleId>) -> Result<Response, Problem> {
    let text = i18n::problem("not_confirmed").text(visitor.locale);
    warn(shop, visitor, on, StatusCode::UNPROCESSABLE_ENTITY, Warning { text, other: None }).await
}

async fn refuse(shop: &Shop, visitor: &Visitor, on: Option<SaleId>, refusal: SaleRefusal) -> Result<Response, Problem> {
    let (words, other) = match &refusal {
        SaleRefusal::Store(_) => return Err(refusal.into()),
        SaleRefusal::InPast => (Some("in_past"), None),
        SaleRefusal::Overlap(other) => (None, Some(*other)),
        _ => (None, None),
    };
    let problem = Problem::from(refusal);
    let text = i18n::problem(words.unwrap_or_else(|| problem.code().as_str())).text(visitor.locale);
    warn(shop, visitor, on, problem.code().status(), Warning { text, other }).await
}

/// Shows the page that the form was on, with a warning.
async fn warn(
    shop: &Shop,
    visitor: &Visitor,
    on: Option<SaleId>,
    status: StatusCode,
    warning: Warning,
) -> Result<Response, Problem> {
    match on {
        Some(id) => cockpit::warn(shop, visitor, id, status, warning.text.to_owned()).await,
        None => show(shop, visitor, status, Listing::default(), Some(warning)).await,
    }
}
