//! The console's pages of linked accounts: accounts of a sale that seem to belong together, and what staff do with
//! their orders.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::StaffVisitTo;
use crate::linked_accounts::review_view::{ReviewFormState, ReviewNotice};
use crate::linked_accounts::view::{GroupPage, GroupsPage, MAX_REVIEWED_ORDERS};
use crate::report::computing::{PAGE_PATIENCE, computing, reloading};
use crate::report::computing_view::ComputingPage;
use domain::{Locale, OrderId, SaleId, UserId};
use orders::linked_accounts::GroupList;
use orders::review::{ReviewAction, ReviewCounts};
use pages::Chrome;
use store::AuditReason;
use web::Shop;
use web::extract::session::{SupportShoppers, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::goods::goods_name_and_cover;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::response::{personal, see_other};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct GroupsQuery {
    /// The number of groups before the page.
    after: Cursor,
}

pub async fn list(
    (State(shop), _, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(GroupsQuery { after }): Query<GroupsQuery>,
) -> Result<Response, Problem> {
    let after: usize = after.read("after")?.unwrap_or_default();
    let entry = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let goods_name = goods_name_and_cover(Some(&*entry), visitor.locale).0;
    let chrome = visitor.chrome_at(match after {
        0 => format!("/admin/sales/{sale}/clusters?lang={}", visitor.locale),
        after => format!("/admin/sales/{sale}/clusters?lang={}&after={after}", visitor.locale),
    });
    let Some(list) = shop.orders.groups(sale, (after, LARGE_PAGE_SIZE), PAGE_PATIENCE).await? else {
        return being_compared(chrome, sale, goods_name);
    };
    let GroupList { groups, count, read_at, is_renewing } = list;
    let path = is_renewing.then(|| chrome.path.clone());
    let page = GroupsPage {
        chrome,
        sale,
        goods_name,
        next: Some(after.saturating_add(groups.len())).filter(|next| *next < count && !groups.is_empty()),
        groups,
        is_later: after > 0,
        read_at,
        is_renewing,
    };
    let page = personal(StatusCode::OK, &page)?;
    Ok(match path {
        Some(path) => reloading(page, &path),
        None => page,
    })
}

/// The page while the accounts of the sale are compared for the first time.
fn being_compared(chrome: Chrome, sale: SaleId, goods_name: String) -> Result<Response, Problem> {
    let t = &words::text(chrome.locale).review;
    let back = (format!("/admin/sales/{sale}"), format!("← {}", t.back));
    computing(ComputingPage { chrome, sale, goods_name, title: t.title, back })
}

/// The action that the page reports as done, and the number of orders that it applied to.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ReviewQuery {
    done: String,
    changed: usize,
    unchanged: usize,
    ended: usize,
    own: usize,
    waits: usize,
    /// The last account on the page before.
    after: Cursor,
}

impl ReviewQuery {
    fn counts(&self) -> ReviewCounts {
        let ReviewQuery { changed: done, unchanged, ended, own, waits, .. } = *self;
        ReviewCounts { done, unchanged, ended, own, waits }
    }
}

pub async fn show(
    (State(shop), staff, visitor, PathIds(ids)): StaffVisitTo<ViewConsole, (SaleId, UserId)>,
    Query(query): Query<ReviewQuery>,
) -> Result<Response, Problem> {
    let notice = ReviewNotice::of(words::text(visitor.locale), &query.done, query.counts());
    page(&shop, &visitor, ids, &query.after, staff.may::<SupportShoppers>(), notice, ReviewFormState::default()).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    (sale, user): (SaleId, UserId),
    after: &Cursor,
    may_act: bool,
    notice: Option<ReviewNotice>,
    form: ReviewFormState,
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let goods_name = goods_name_and_cover(Some(&*entry), visitor.locale).0;
    let after: Option<UserId> = after.read("after")?;
    let chrome = visitor.chrome_at(group_page(sale, user, after, visitor.locale));
    let Some(of) = shop.orders.group_of(sale, user, after, PAGE_PATIENCE).await? else {
        return being_compared(chrome, sale, goods_name);
    };
    let of = of.ok_or(Code::NotFound)?;
    let status = if form.action.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = GroupPage { chrome, sale, goods_name, of, after, may_act, notice, form };
    personal(status, &page)
}

/// The address of a page about one group of linked accounts: the members behind `after`.
fn group_page(sale: SaleId, user: UserId, after: Option<UserId>, locale: Locale) -> String {
    let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
    format!("/admin/sales/{sale}/clusters/{user}?lang={locale}{after}")
}

/// A form of the page. It names the orders that the member of the staff has seen, so that an order that joined the
/// group since then is left alone.
#[derive(Deserialize)]
pub struct GroupForm {
    #[serde(default)]
    orders: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
    /// The page to return to.
    #[serde(default)]
    after: Cursor,
}

impl GroupForm {
    fn orders(&self) -> Result<Vec<OrderId>, Problem> {
        let ids: Option<Vec<OrderId>> = self.orders.split_whitespace().map(|id| id.parse().ok()).collect();
        ids.filter(|ids| ids.len() <= MAX_REVIEWED_ORDERS).ok_or_else(|| Problem::invalid_field("orders", "bad_id"))
    }
}

type Visit = StaffVisitTo<SupportShoppers, (SaleId, UserId)>;

pub async fn hold(visit: Visit, Form(form): Form<GroupForm>) -> Result<Response, Problem> {
    act(visit, ("hold", Some(ReviewAction::Hold)), form).await
}

pub async fn release(visit: Visit, Form(form): Form<GroupForm>) -> Result<Response, Problem> {
    act(visit, ("release", Some(ReviewAction::Release)), form).await
}

pub async fn refund(visit: Visit, Form(form): Form<GroupForm>) -> Result<Response, Problem> {
    act(visit, ("refund", None), form).await
}

/// Holds or releases the orders; without an action it refunds them.
async fn act(
    (State(shop), staff, visitor, PathIds((sale, user))): Visit,
    (name, action): (&'static str, Option<ReviewAction>),
    form: GroupForm,
) -> Result<Response, Problem> {
    let orders = form.orders()?;
    let reason = match ReviewFormState::check(name, form.reason, &form.confirm) {
        Ok(reason) => reason,
        Err(state) => return page(&shop, &visitor, (sale, user), &form.after, true, None, state).await,
    };
    let by = staff.session.user_id;
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    let done = match action {
        Some(action) => shop.orders.review_all(sale, &orders, action, by, reason).await?,
        None => shop.staff_refunds.refund_held(sale, &orders, by, reason).await?,
    };
    let ReviewCounts { done, unchanged, ended, own, waits } = done;
    let path = group_page(sale, user, form.after.read("after")?, visitor.locale);
    Ok(see_other(&format!(
        "{path}&done={name}&changed={done}&unchanged={unchanged}&ended={ended}&own={own}&waits={waits}"
    )))
}
