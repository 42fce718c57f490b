//! The form that makes a sale, changes it before it begins, or makes one after the model of another.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use uuid::Uuid;

use super::desk::done_path;
use super::input::{check_sale, check_window, doubts, price, price_text, time};
use crate::control::desk::DeskChange;
use crate::domain::{Currency, GoodsId, Money, Sale, SaleId, Window};
use crate::error::{Code, Problem};
use crate::pages::text;
use crate::pages::views::{AdminSaleForm, AdminSaleLocked, FieldError, admin_notice};
use crate::store::{Announce, Filing, MOST_UNITS, Overlap, SaleDraft, SaleRefusal};
use crate::web::Shop;
use crate::web::input::{Form, Ids, Query};
use crate::web::pages::{personal, see_other};
use crate::web::session::{Look, RunSales, Staff};
use crate::web::visitor::Visitor;

/// All values as typed.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Typed {
    goods_id: String,
    price: String,
    list_price: String,
    currency: String,
    total: String,
    per_user_limit: String,
    opens_at: String,
    closes_at: String,
    /// Which button was pressed: `draft`, `schedule`, or none.
    r#as: String,
    /// A price that is not below the list price is meant.
    price_ok: String,
    /// Of the rendered form: sent twice, it makes one sale.
    key: String,
    /// Of the sale that was on the screen.
    version: String,
}

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
            let t = &text::text(visitor.locale).sales;
            let note = if window.opens_at.is_some() { t.cloned } else { t.cloned_plain };
            remarks.note = Some(text::fill(note, model.id));
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
        Ok(draft) => match shop.desk.enter_sale(draft, &typed.filing(), admin.actor()).await {
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
    Ids(id): Ids<SaleId>,
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
    Ids(id): Ids<SaleId>,
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
            match shop.desk.change(id, edit, admin.actor()).await {
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
            SaleRefusal::Overlap(other) => Ok(Remarks {
                status: StatusCode::CONFLICT,
                overlap: Some(other),
                ..Remarks::wrong(vec![FieldError { field: "opens_at", code: "overlap" }])
            }),
            SaleRefusal::ChangedMeanwhile => Ok(Remarks {
                status: StatusCode::CONFLICT,
                warning: Some(text::problem("changed_meanwhile").text(locale)),
                ..Remarks::default()
            }),
            other => Err(other.into()),
        }
    }
}

impl Typed {
    fn of(sale: &Sale) -> Typed {
        let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
        Typed {
            goods_id: sale.goods_id.to_string(),
            price: price_text(sale.price),
            list_price: sale.list_price.map(price_text).unwrap_or_default(),
            currency: sale.price.currency.as_str().to_owned(),
            total: sale.total.to_string(),
            per_user_limit: sale.per_user_limit.to_string(),
            opens_at: moment(sale.window.opens_at),
            closes_at: moment(sale.window.closes_at),
            version: sale.version.to_string(),
            ..Typed::default()
        }
    }

    fn announce(&self) -> Announce {
        match self.r#as.as_str() {
            "draft" => Announce::Draft,
            "schedule" => Announce::Schedule,
            _ => Announce::ByWindow,
        }
    }

    fn filing(&self) -> Filing {
        Filing {
            announce: self.announce(),
            overlap: Overlap::Refused,
            form_key: Uuid::try_parse(&self.key).ok().map(|key| key.to_string()),
            version: self.version.parse().ok(),
        }
    }

    /// The sale, or everything that is wrong with it at once.
    fn read(&self, now: Timestamp) -> Result<SaleDraft, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut wrong = |field, code| errors.push(FieldError { field, code });
        let currency = Currency::parse(&self.currency).unwrap_or(Currency::CNY);
        let price = |text: &str| price(text, currency);
        let goods_id = self.goods_id.parse::<GoodsId>();
        if goods_id.is_err() {
            wrong("goods_id", "required");
        }
        let asked = price(&self.price);
        if asked.is_none() {
            wrong("price", if self.price.trim().is_empty() { "required" } else { "bad_price" });
        }
        let list_price = optional(&self.list_price, price);
        let [total, limit] = [&self.total, &self.per_user_limit].map(|text| text.trim().parse::<i64>());
        let [opens_at, closes_at] = [&self.opens_at, &self.closes_at].map(|text| optional(text, time));
        let mut check = |right: bool, field, code| {
            if !right {
                wrong(field, code);
            }
        };
        check(list_price.is_some(), "list_price", "bad_price");
        check(total.is_ok(), "total", "bad_number");
        check(limit.is_ok(), "per_user_limit", "bad_number");
        check(opens_at.is_some(), "opens_at", "bad_time");
        check(closes_at.is_some(), "closes_at", "bad_time");
        // What could not be read has its complaint already; harmless values in its place let the rest be checked.
        let draft = SaleDraft {
            goods_id: goods_id.unwrap_or(GoodsId(1)),
            price: asked.unwrap_or(Money::new(0, currency)),
            list_price: list_price.flatten(),
            total: total.unwrap_or(MOST_UNITS),
            per_user_limit: limit.unwrap_or(1),
            window: Window { opens_at: opens_at.flatten(), closes_at: closes_at.flatten() },
        };
        errors.extend(check_sale(&draft));
        errors.extend(check_window(draft.window, self.announce() == Announce::Draft, now));
        if asked.is_some() && self.price_ok != "yes" {
            errors.extend(doubts(&draft));
        }
        if errors.is_empty() { Ok(draft) } else { Err(errors) }
    }
}

/// Nothing typed is `Some(None)`; what cannot be read is `None`.
fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.trim().is_empty() { Some(None) } else { read(text).map(Some) }
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
        Some(sale) => shop.desk.checklist(sale).await?,
        None => Vec::new(),
    };
    let page = AdminSaleForm {
        chrome,
        sale: sale.map(|sale| (sale.id, sale.state)),
        goods: shop.store.all_goods().await?,
        goods_id: typed.goods_id,
        price: typed.price,
        list_price: typed.list_price,
        currency: typed.currency,
        total: typed.total,
        per_user_limit: typed.per_user_limit,
        opens_at: typed.opens_at,
        closes_at: typed.closes_at,
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

    fn typed() -> Typed {
        Typed {
            goods_id: "1".into(),
            price: "1999.00".into(),
            total: "100".into(),
            per_user_limit: "2".into(),
            opens_at: "2026-11-21T20:00".into(),
            ..Typed::default()
        }
    }

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn complaints(typed: &Typed) -> Vec<(&'static str, &'static str)> {
        typed.read(now()).unwrap_err().iter().map(|e| (e.field, e.code)).collect()
    }

    #[test]
    fn a_sale_is_read_as_typed() {
        let draft = typed().read(now()).unwrap();
        assert_eq!((draft.price.amount, draft.total, draft.list_price), (199_900, 100, None));
        assert_eq!(draft.window.opens_at, "2026-11-21T20:00:00Z".parse().ok());
        assert_eq!(draft.window.closes_at, None);
    }

    #[test]
    fn everything_wrong_is_said_at_once_and_only_once() {
        let wrong = Typed { total: "many".into(), closes_at: "later".into(), list_price: "cheap".into(), ..typed() };
        assert_eq!(complaints(&wrong), [("list_price", "bad_price"), ("total", "bad_number"), ("closes_at", "bad_time")]);
        let early = Typed { closes_at: "2026-11-21T19:00".into(), ..typed() };
        assert_eq!(complaints(&early), [("closes_at", "window_order")]);
        assert_eq!(Typed::default().read(now()).unwrap_err().len(), 4);
    }

    #[test]
    fn a_price_that_is_no_bargain_is_confirmed() {
        let dear = Typed { list_price: "1999".into(), ..typed() };
        assert_eq!(complaints(&dear), [("price", "not_lower")]);
        assert!(Typed { price_ok: "yes".into(), ..dear }.read(now()).is_ok());
    }

    #[test]
    fn what_has_passed_may_stay_in_a_draft() {
        let past = Typed { opens_at: "2026-11-21T11:00".into(), ..typed() };
        assert_eq!(complaints(&past), [("opens_at", "in_past")]);
        assert!(Typed { r#as: "draft".into(), ..past }.read(now()).is_ok());
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
