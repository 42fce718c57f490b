//! The form that creates a sale, edits one that has not begun, or creates a copy.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use uuid::Uuid;

use crate::sales::form_input::SaleForm;
use crate::sales::form_view::{AdminSaleForm, AdminSaleLocked};
use crate::sales::page::{changed_path, done_path};
use crate::sales::view::admin_notice;
use crate::{StaffVisit, StaffVisitTo};
use control::sales_admin::SaleCommand;
use domain::{Sale, SaleId, Window};
use store::{Redefinition, SaleRefusal};
use web::Shop;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::response::{personal, see_other};
use web::shared::validation::time;
use web::shared::{FieldError, SaleNoticeQuery};

/// The values that a new form is filled with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NewSaleQuery {
    goods: String,
    /// The sale to copy.
    from: String,
    /// The opening time that the calendar proposes.
    opens_at: String,
}

/// What the page shows besides the form's values.
#[derive(Default)]
struct SaleFormState {
    status: StatusCode,
    errors: Vec<FieldError>,
    warning: Option<&'static str>,
    overlap: Option<SaleId>,
    note: Option<String>,
}

pub async fn blank(
    (State(shop), _, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<NewSaleQuery>,
) -> Result<Response, Problem> {
    let model = match query.from.parse::<SaleId>() {
        Ok(id) => shop.store.sales().get(id).await?,
        Err(_) => None,
    };
    let mut state = SaleFormState::default();
    let mut form = match model {
        None => SaleForm { per_user_limit: "1".to_owned(), goods_id: query.goods, ..SaleForm::default() },
        Some(model) => {
            let window = moved_into_future(model.window, shop.clock.now());
            let t = &words::text(visitor.locale).sales;
            let note = if window.opens_at.is_some() { t.cloned } else { t.cloned_plain };
            state.note = Some(words::fill(note, model.id));
            SaleForm::of(&Sale { window, ..model })
        }
    };
    if time(&query.opens_at).is_some_and(|at| at > shop.clock.now()) {
        form.opens_at = query.opens_at;
    }
    form.key = Uuid::now_v7().to_string();
    form.version = String::new();
    page(&shop, &visitor, None, form, state).await
}

/// Moves the window by whole days, as few as bring its opening into the future. Its length stays.
fn moved_into_future(window: Window, now: Timestamp) -> Window {
    const DAY_MS: i64 = 86_400_000;
    let Some(opens) = window.opens_at else { return Window { opens_at: None, closes_at: None } };
    let late = now.as_millisecond() - opens.as_millisecond();
    let days = if late < 0 { 1 } else { late / DAY_MS + 1 };
    let [opens_at, closes_at] = [Some(opens), window.closes_at].map(|at| at?.checked_add((days * 24).hours()).ok());
    Window { opens_at, closes_at }
}

pub async fn create(
    (State(shop), admin, visitor): StaffVisit<ManageSales>,
    Form(mut form): Form<SaleForm>,
) -> Result<Response, Problem> {
    form.draw_beacon = shop.config.draw_beacon;
    let refusal = match form.parse(shop.clock.now()) {
        Err(errors) => return page(&shop, &visitor, None, form, SaleFormState::with_errors(errors)).await,
        Ok(draft) => match shop.sales_admin.create_sale_with(draft, &form.save_options(), admin.actor()).await {
            Ok(sale) => {
                let done = if sale.state == domain::SaleState::Draft { "drafted" } else { "created" };
                return Ok(see_other(&done_path(visitor.locale, "/admin", done, sale.id)));
            }
            Err(refusal) => refusal,
        },
    };
    let state = SaleFormState::of_refusal(refusal, visitor.locale)?;
    page(&shop, &visitor, None, form, state).await
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
    Query(SaleNoticeQuery { done, applied }): Query<SaleNoticeQuery>,
) -> Result<Response, Problem> {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NotFound)?;
    if !sale.state.is_planned() {
        return locked(&visitor, sale);
    }
    let note = admin_notice(visitor.locale, &done, Some(id), &applied);
    page(&shop, &visitor, Some(&sale), SaleForm::of(&sale), SaleFormState { note, ..SaleFormState::default() }).await
}

pub async fn edit(
    (State(shop), admin, visitor, PathIds(id)): StaffVisitTo<ManageSales, SaleId>,
    Form(mut form): Form<SaleForm>,
) -> Result<Response, Problem> {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NotFound)?;
    if !sale.state.is_planned() {
        return locked(&visitor, sale);
    }
    form.draw_beacon = shop.config.draw_beacon;
    let refusal = match form.parse(shop.clock.now()) {
        Err(errors) => return page(&shop, &visitor, Some(&sale), form, SaleFormState::with_errors(errors)).await,
        Ok(draft) => {
            let edit = SaleCommand::Edit(Box::new(Redefinition::Whole(draft)), form.save_options());
            match shop.sales_admin.change(id, edit, admin.actor()).await {
                Ok(changed) => {
                    let path = format!("/admin/sales/{id}/edit");
                    return Ok(see_other(&changed_path(visitor.locale, &path, "saved", &changed)));
                }
                // The sale began after it was read above.
                Err(SaleRefusal::HasBegun) => return locked(&visitor, sale),
                Err(refusal) => refusal,
            }
        }
    };
    if matches!(refusal, SaleRefusal::ChangedMeanwhile) {
        // The form gets the current version, so saving it again overwrites what others changed.
        form.version = sale.version.to_string();
    }
    let state = SaleFormState::of_refusal(refusal, visitor.locale)?;
    page(&shop, &visitor, Some(&sale), form, state).await
}

impl SaleFormState {
    fn with_errors(errors: Vec<FieldError>) -> SaleFormState {
        SaleFormState { status: StatusCode::UNPROCESSABLE_ENTITY, errors, ..SaleFormState::default() }
    }

    /// The form's state after a refusal. A refusal that concerns no field remains a problem.
    fn of_refusal(refusal: SaleRefusal, locale: domain::Locale) -> Result<SaleFormState, Problem> {
        let (error, overlap) = match refusal {
            SaleRefusal::NoSuchGoods => (FieldError::new("goods_id", "no_such_goods"), None),
            SaleRefusal::GoodsArchived => (FieldError::new("goods_id", "goods_archived"), None),
            SaleRefusal::Overlap(other) => (FieldError::new("opens_at", "overlap"), Some(other)),
            SaleRefusal::ChangedMeanwhile => {
                let warning = Some(words::problem("changed_meanwhile").text(locale));
                return Ok(SaleFormState { status: StatusCode::CONFLICT, warning, ..SaleFormState::default() });
            }
            SaleRefusal::Invalid(fields) => {
                let errors = fields.into_iter().map(|(field, code)| FieldError::new(field, code));
                return Ok(SaleFormState::with_errors(errors.collect()));
            }
            other => return Err(other.into()),
        };
        let status = if overlap.is_some() { StatusCode::CONFLICT } else { StatusCode::UNPROCESSABLE_ENTITY };
        Ok(SaleFormState { status, overlap, ..SaleFormState::with_errors(vec![error]) })
    }
}

/// The page with the form of a new sale or a planned one.
async fn page(
    shop: &Shop,
    visitor: &Visitor,
    sale: Option<&Sale>,
    form: SaleForm,
    state: SaleFormState,
) -> Result<Response, Problem> {
    let path = sale.map_or_else(|| "new".to_owned(), |sale| format!("{}/edit", sale.id));
    let chrome = visitor.chrome_at(format!("/admin/sales/{path}?lang={}", visitor.locale));
    let checklist = match sale {
        Some(sale) => shop.sales_admin.checklist(sale).await?,
        None => Vec::new(),
    };
    let mut goods = shop.store.goods().list().await?;
    goods.retain(|goods| !goods.is_archived() || sale.is_some_and(|sale| sale.goods_id == goods.id));
    let page = AdminSaleForm {
        chrome,
        sale: sale.map(|sale| (sale.id, sale.state)),
        goods,
        form,
        errors: state.errors,
        warning: state.warning,
        overlap: state.overlap,
        note: state.note,
        checklist,
    };
    personal(state.status, &page)
}

/// A sale that has begun cannot be edited; only its stock can be topped up.
fn locked(visitor: &Visitor, sale: Sale) -> Result<Response, Problem> {
    let chrome = visitor.chrome_at(format!("/admin/sales/{}/edit?lang={}", sale.id, visitor.locale));
    personal(StatusCode::CONFLICT, &AdminSaleLocked { chrome, id: sale.id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn copy_opens_at_the_same_hour_of_a_later_day() {
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
