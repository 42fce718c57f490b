//! The console's pages of clusters: accounts of a sale that seem to belong together, and what staff do with their orders.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::StaffVisitTo;
use crate::domain::{OrderId, SaleId, UserId};
use crate::i18n;
use crate::orders::review::{ReviewAction, ReviewCounts};
use crate::store::AuditReason;
use crate::web::Shop;
use crate::web::extract::session::{SupportShoppers, ViewConsole};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::problem::{Code, Problem};
use crate::web::shared::goods::goods_name_and_cover;
use crate::web::shared::pagination::LARGE_PAGE_SIZE;
use crate::web::shared::response::{personal, see_other};
use crate::web::views::{ClusterPage, ClustersPage, MAX_REVIEWED_ORDERS, ReviewFormState, ReviewNotice};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ClustersQuery {
    /// Clusters before the page.
    after: usize,
}

pub async fn list(
    (State(shop), _, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(ClustersQuery { after }): Query<ClustersQuery>,
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let (count, clusters) = shop.orders.clusters(sale, after, LARGE_PAGE_SIZE).await?;
    let page = ClustersPage {
        chrome: visitor.chrome_at(format!("/admin/sales/{sale}/clusters?lang={}", visitor.locale)),
        sale,
        goods_name: goods_name_and_cover(Some(&*entry), visitor.locale).0,
        next: Some(after.saturating_add(clusters.len())).filter(|next| *next < count && !clusters.is_empty()),
        clusters,
        is_later: after > 0,
    };
    personal(StatusCode::OK, &page)
}

/// The action that the page reports as done, and how many orders it met.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ReviewQuery {
    done: String,
    changed: usize,
    unchanged: usize,
    ended: usize,
    own: usize,
    waits: usize,
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
    let notice = ReviewNotice::of(i18n::text(visitor.locale), &query.done, query.counts());
    page(&shop, &visitor, ids, staff.may::<SupportShoppers>(), notice, ReviewFormState::default()).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    (sale, user): (SaleId, UserId),
    may_act: bool,
    notice: Option<ReviewNotice>,
    form: ReviewFormState,
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let of = shop.orders.cluster_of(sale, user).await?.ok_or(Code::NotFound)?;
    let status = if form.action.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = ClusterPage {
        chrome: visitor.chrome_at(format!("{}?lang={}", cluster_path(sale, user), visitor.locale)),
        sale,
        goods_name: goods_name_and_cover(Some(&*entry), visitor.locale).0,
        of,
        may_act,
        notice,
        form,
    };
    personal(status, &page)
}

fn cluster_path(sale: SaleId, user: UserId) -> String {
    format!("/admin/sales/{sale}/clusters/{user}")
}

/// A form of the page. It names the orders that the member of the staff has seen, so that an order that joined the cluster
/// meanwhile is left alone.
#[derive(Deserialize)]
pub struct ClusterForm {
    #[serde(default)]
    orders: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
}

impl ClusterForm {
    fn orders(&self) -> Result<Vec<OrderId>, Problem> {
        let ids: Option<Vec<OrderId>> = self.orders.split_whitespace().map(|id| id.parse().ok()).collect();
        ids.filter(|ids| ids.len() <= MAX_REVIEWED_ORDERS).ok_or_else(|| Problem::invalid_field("orders", "bad_id"))
    }
}

type Visit = StaffVisitTo<SupportShoppers, (SaleId, UserId)>;

pub async fn hold(visit: Visit, Form(form): Form<ClusterForm>) -> Result<Response, Problem> {
    act(visit, ("hold", Some(ReviewAction::Hold)), form).await
}

pub async fn release(visit: Visit, Form(form): Form<ClusterForm>) -> Result<Response, Problem> {
    act(visit, ("release", Some(ReviewAction::Release)), form).await
}

pub async fn refund(visit: Visit, Form(form): Form<ClusterForm>) -> Result<Response, Problem> {
    act(visit, ("refund", None), form).await
}

/// Without a review's action the orders are refunded.
async fn act(
    (State(shop), staff, visitor, PathIds((sale, user))): Visit,
    (name, action): (&'static str, Option<ReviewAction>),
    form: ClusterForm,
) -> Result<Response, Problem> {
    let orders = form.orders()?;
    let reason = match ReviewFormState::check(name, form.reason, &form.confirm) {
        Ok(reason) => reason,
        Err(state) => return page(&shop, &visitor, (sale, user), true, None, state).await,
    };
    let by = staff.session.user_id;
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    let done = match action {
        Some(action) => shop.orders.review_all(sale, &orders, action, by, reason).await?,
        None => shop.staff_refunds.refund_held(sale, &orders, by, reason).await?,
    };
    let ReviewCounts { done, unchanged, ended, own, waits } = done;
    Ok(see_other(&format!(
        "{}?lang={}&done={name}&changed={done}&unchanged={unchanged}&ended={ended}&own={own}&waits={waits}",
        cluster_path(sale, user),
        visitor.locale
    )))
}
