//! The form that makes a sale, changes it before it begins, or makes one after the model of another.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use uuid::Uuid;

use crate::control::sales_admin::DeskChange;
use crate::domain::{Sale, SaleId, Window};
use crate::i18n;
use crate::store::SaleRefusal;
use crate::web::Shop;
use crate::web::admin::sale_input::Typed;
use crate::web::admin::sales::done_path;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::validation::time;
use crate::web::views::{AdminSaleForm, AdminSaleLocked, admin_notice};

/// What a new form begins with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Beginning {
    goods: String,
    /// The sale to copy.
    from: String,
    /// An opening time that the calendar suggests.
    opens_at: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Done {
    done: String,
}

/// What the form says besides its values.
#[derive(Default)]
struct Remarks {
    status: StatusCode,
    errors: Vec<FieldError>,
    warning: Option<&'static str>,
    overlap: Option<SaleId>,
    note: Option<String>,
}

pub async fn blank(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(asked): Query<Beginning>,
) -> Result<Response, Problem> {
    let model = match asked.from.parse::<SaleId>() {
        Ok(id) => shop.store.sale(id).await?,
        Err(_) => None,
    };
    let mut remarks = Remarks::default();
    let mut typed = match model {
        None => Typed { per_user_limit: "1".to_owned(), goods_id: asked.goods, ..Typed::default() },
        Some(model) => {
            let window = moved_into_future(model.window, shop.clock.now());
            let t = &i18n::text(visitor.locale).sales;
            let note = if window.opens_at.is_some() { t.cloned } else { t.cloned_plain };
            remarks.note = Some(i18n::fill(note, model.id));
            Typed::of(&Sale { window, ..model })
        }
    };
    if time(&asked.opens_at).is_some_and(|at| at > shop.clock.now()) {
        typed.opens_at = asked.opens_at;
    }
    typed.key = Uuid::now_v7().to_string();
    typed.version = String::new();
    form(&shop, &visitor, None, typed, remarks).await
}

/// The window moved by whole days, as few as bring its opening into the future; it stays as long as it was.
fn moved_into_future(window: Window, now: Timestamp) -> Window {
    const DAY_MS: i64 = 86_400_000;
    let Some(opens) = window.opens_at else { return Window { opens_at: None, closes_at: None } };
    let late = now.as_millisecond() - opens.as_millisecond();
    let days = if late < 0 { 1 } else { late / DAY_MS + 1 };
    let moved = |at: Timestamp| at.checked_add((days * 24).hours()).ok();
    Window { opens_at: moved(opens), closes_at: window.closes_at.and_then(moved) }
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    visitor: Visitor,
    Form(typed): Form<Typed>,
) -> Result<Response, Problem> {
    let refusal = match typed.read(shop.clock.now()) {
        Err(errors) => return form(&shop, &visitor, None, typed, Remarks::wrong(errors)).await,
        Ok(draft) => match shop.sales_admin.enter_sale(draft, &typed.filing(), admin.actor()).await {
            Ok(sale) => {
                let done = if sale.state == crate::domain::SaleState::Draft { "drafted" } else { "created" };
                return Ok(see_other(&done_path(visitor.locale, "/admin", done, sale.id)));
            }
            Err(refusal) => refusal,
        },
    };
    let remarks = Remarks::refused(refusal, visitor.locale)?;
    form(&shop, &visitor, None, typed, remarks).await
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    let sale = shop.store.sale(id).await?.ok_or(Code::NotFound)?;
    if !sale.state.is_planned() {
        return locked(&visitor, sale);
    }
    let note = admin_notice(visitor.locale, &done, Some(id));
    form(&shop, &visitor, Some(&sale), Typed::of(&sale), Remarks { note, ..Remarks::default() }).await
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
    Form(mut typed): Form<Typed>,
) -> Result<Response, Problem> {
    let sale = shop.store.sale(id).await?.ok_or(Code::NotFound)?;
    if !sale.state.is_planned() {
        return locked(&visitor, sale);
    }
    let refusal = match typed.read(shop.clock.now()) {
        Err(errors) => return form(&shop, &visitor, Some(&sale), typed, Remarks::wrong(errors)).await,
        Ok(draft) => {
            let edit = DeskChange::Edit(draft, typed.filing());
            match shop.sales_admin.change(id, edit, admin.actor()).await {
                Ok(_) => {
                    let page = format!("/admin/sales/{id}/edit");
                    return Ok(see_other(&done_path(visitor.locale, &page, "saved", id)));
                }
                // It began between the look above and the change.
                Err(SaleRefusal::HasBegun) => return locked(&visitor, sale),
                Err(refusal) => refusal,
            }
        }
    };
    if matches!(refusal, SaleRefusal::ChangedMeanwhile) {
        // The next try is meant, after a look.
        typed.version = sale.version.to_string();
    }
    let remarks = Remarks::refused(refusal, visitor.locale)?;
    form(&shop, &visitor, Some(&sale), typed, remarks).await
}

impl Remarks {
    fn wrong(errors: Vec<FieldError>) -> Remarks {
        Remarks { status: StatusCode::UNPROCESSABLE_ENTITY, errors, ..Remarks::default() }
    }

    /// What a refusal means for the form; one that has nothing to do with it goes on.
    fn refused(refusal: SaleRefusal, locale: crate::domain::Locale) -> Result<Remarks, Problem> {
        let field = |field, code| Ok(Remarks::wrong(vec![FieldError { field, code }]));
        match refusal {
            SaleRefusal::NoSuchGoods => field("goods_id", "no_such_goods"),
            SaleRefusal::GoodsArchived => field("goods_id", "goods_archived"),
            SaleRefusal::Overlap(other) => Ok(Remarks {
                status: StatusCode::CONFLICT,
                overlap: Some(other),
                ..Remarks::wrong(vec![FieldError { field: "opens_at", code: "overlap" }])
            }),
            SaleRefusal::ChangedMeanwhile => Ok(Remarks {
                status: StatusCode::CONFLICT,
                warning: Some(i18n::problem("changed_meanwhile").text(locale)),
                ..Remarks::default()
            }),
            other => Err(other.into()),
        }
    }
}

/// The form, for a new sale or for one that is planned.
async fn form(
    shop: &Shop,
    visitor: &Visitor,
    sale: Option<&Sale>,
    typed: Typed,
    remarks: Remarks,
) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome();
    let page = sale.map_or_else(|| "new".to_owned(), |sale| format!("{}/edit", sale.id));
    chrome.path = format!("/admin/sales/{page}?lang={}", visitor.locale);
    let checklist = match sale {
        Some(sale) => shop.sales_admin.checklist(sale).await?,
        None => Vec::new(),
    };
    let mut goods = shop.store.all_goods().await?;
    goods.retain(|goods| !goods.is_archived() || sale.is_some_and(|sale| sale.goods_id == goods.id));
    let page = AdminSaleForm {
        chrome,
        sale: sale.map(|sale| (sale.id, sale.state)),
        goods,
        goods_id: typed.goods_id,
        price: typed.price,
        list_price: typed.list_price,
        currency: typed.currency,
        total: typed.total,
        per_user_limit: typed.per_user_limit,
        opens_at: typed.opens_at,
        closes_at: typed.closes_at,
        rush: [typed.buckets, typed.lot, typed.spread_ms],
        key: typed.key,
        version: typed.version,
        errors: remarks.errors,
        warning: remarks.warning,
        overlap: remarks.overlap,
        note: remarks.note,
        checklist,
    };
    personal(remarks.status, &page)
}

/// A sale that has begun is not changed any more, but for its stock.
fn locked(visitor: &Visitor, sale: Sale) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome();
    chrome.path = format!("/admin/sales/{}/edit?lang={}", sale.id, visitor.locale);
    personal(StatusCode::CONFLICT, &AdminSaleLocked { chrome, id: sale.id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_copy_opens_at_the_same_hour_of_a_day_to_come() {
        let at = |text: &str| text.parse::<Timestamp>().ok();
        let moved = |opens: &str, closes: &str| {
            let window = moved_into_future(Window { opens_at: at(opens), closes_at: at(closes) }, now());
            (window.opens_at, window.closes_at)
        };
        assert_eq!(
            moved("2026-11-01T20:00:00Z", "2026-11-02T01:00:00Z"),
            (at("2026-11-21T20:00:00Z"), at("2026-11-22T01:00:00Z"))
        );
        assert_eq!(moved("2026-11-21T12:00:00Z", ""), (at("2026-11-22T12:00:00Z"), None));
        assert_eq!(moved("2026-11-23T12:00:00Z", "").0, at("2026-11-24T12:00:00Z"), "a day after its model");
        assert_eq!(moved("", "2026-11-23T12:00:00Z"), (None, None));
    }
}
