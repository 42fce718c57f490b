//! The cockpit's page of a sale. It renders one sample; its script updates the numbers from the event stream, and
//! without a script the page reloads itself.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::StaffVisitTo;
use crate::cockpit::view::CockpitPage;
use crate::sales::view::admin_notice;
use domain::{SaleId, SaleState};
use web::Shop;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::SaleNoticeQuery;
use web::shared::response::personal;

pub async fn show(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
    Query(SaleNoticeQuery { done, applied }): Query<SaleNoticeQuery>,
) -> Result<Response, Problem> {
    let notice = admin_notice(visitor.locale, &done, Some(id), &applied);
    let may_run = staff.may::<ManageSales>();
    page(&shop, &visitor, id, may_run, (StatusCode::OK, notice, None)).await
}

/// The page after a refused action.
pub async fn show_with_warning(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    status: StatusCode,
    warning: &'static str,
) -> Result<Response, Problem> {
    page(shop, visitor, id, true, (status, None, Some(warning))).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    may_run: bool,
    (status, notice, warning): (StatusCode, Option<String>, Option<&'static str>),
) -> Result<Response, Problem> {
    let entry = shop.catalogue.entry(id).await?.ok_or(Code::NoSuchSale)?;
    let sample = shop.cockpit.sample_now(id, entry.sale.version).await;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}?lang={}", visitor.locale));
    let goods_name = entry.goods.name.get(visitor.locale).to_owned();
    let (state, version) =
        sample.sale.value.map_or((entry.sale.state, entry.sale.version), |sale| (sale.state, sale.version));
    let has_codes = entry.sale.eligibility.invitation;
    let is_draw = entry.sale.mode.is_draw() && state != SaleState::Draft;
    let waiting_room = shop.store.waiting_rooms().get(id).await?;
    let line = shop.waiting_rooms.line(id);
    let page = CockpitPage {
        chrome,
        id,
        goods_name,
        state,
        version,
        price: entry.sale.price,
        sample,
        waiting_room,
        line,
        may_run,
        has_codes,
        is_draw,
        notice,
        warning,
    };
    personal(status, &page)
}
