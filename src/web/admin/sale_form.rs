//! The form that makes a sale.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::desk::admin_path;
use super::input::{check_sale, price, time};
use crate::domain::{Currency, GoodsId, Money, Window};
use crate::error::Problem;
use crate::pages::views::{AdminSaleForm, FieldError};
use crate::store::{MOST_UNITS, SaleDraft, SaleRefusal};
use crate::web::Shop;
use crate::web::input::Form;
use crate::web::pages::{personal, see_other};
use crate::web::session::{Look, RunSales, Staff};
use crate::web::visitor::Visitor;

/// All values as typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Typed {
    goods_id: String,
    price: String,
    list_price: String,
    total: String,
    per_user_limit: String,
    opens_at: String,
    closes_at: String,
}

pub async fn blank(State(shop): State<Arc<Shop>>, _: Staff<Look>, visitor: Visitor) -> Result<Response, Problem> {
    let typed = Typed { per_user_limit: "1".to_owned(), ..Typed::default() };
    form(&shop, &visitor, StatusCode::OK, typed, Vec::new()).await
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    visitor: Visitor,
    Form(typed): Form<Typed>,
) -> Result<Response, Problem> {
    let errors = match typed.read() {
        Err(errors) => errors,
        Ok(draft) => match shop.desk.create_sale(draft, admin.actor()).await {
            Ok(_) => return Ok(see_other(&admin_path(visitor.locale))),
            Err(SaleRefusal::NoSuchGoods) => vec![FieldError { field: "goods_id", code: "required" }],
            Err(refusal) => return Err(refusal.into()),
        },
    };
    form(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, typed, errors).await
}

impl Typed {
    /// The sale, or everything that is wrong with it at once.
    fn read(&self) -> Result<SaleDraft, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut wrong = |field, code| errors.push(FieldError { field, code });
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
            price: asked.unwrap_or(Money::new(0, Currency::CNY)),
            list_price: list_price.flatten(),
            total: total.unwrap_or(MOST_UNITS),
            per_user_limit: limit.unwrap_or(1),
            window: Window { opens_at: opens_at.flatten(), closes_at: closes_at.flatten() },
        };
        errors.extend(check_sale(&draft));
        if errors.is_empty() { Ok(draft) } else { Err(errors) }
    }
}

/// Nothing typed is `Some(None)`; what cannot be read is `None`.
fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.trim().is_empty() { Some(None) } else { read(text).map(Some) }
}

async fn form(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    typed: Typed,
    errors: Vec<FieldError>,
) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome();
    chrome.path = format!("/admin/sales/new?lang={}", visitor.locale);
    let page = AdminSaleForm {
        chrome,
        goods: shop.store.all_goods().await?,
        goods_id: typed.goods_id,
        price: typed.price,
        list_price: typed.list_price,
        total: typed.total,
        per_user_limit: typed.per_user_limit,
        opens_at: typed.opens_at,
        closes_at: typed.closes_at,
        errors,
    };
    personal(status, &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed() -> Typed {
        Typed {
            goods_id: "1".into(),
            price: "1999.00".into(),
            list_price: String::new(),
            total: "100".into(),
            per_user_limit: "2".into(),
            opens_at: "2026-11-21T20:00".into(),
            closes_at: String::new(),
        }
    }

    #[test]
    fn a_sale_is_read_as_typed() {
        let draft = typed().read().unwrap();
        assert_eq!((draft.price.amount, draft.total, draft.list_price), (199_900, 100, None));
        assert_eq!(draft.window.opens_at, "2026-11-21T20:00:00Z".parse().ok());
        assert_eq!(draft.window.closes_at, None);
    }

    #[test]
    fn everything_wrong_is_said_at_once_and_only_once() {
        let wrong = Typed { total: "many".into(), closes_at: "later".into(), list_price: "cheap".into(), ..typed() };
        let fields: Vec<_> = wrong.read().unwrap_err().iter().map(|e| (e.field, e.code)).collect();
        assert_eq!(fields, [("list_price", "bad_price"), ("total", "bad_number"), ("closes_at", "bad_time")]);
        let early = Typed { closes_at: "2026-11-21T19:00".into(), ..typed() };
        assert_eq!(early.read().unwrap_err()[0].code, "window_order");
        assert_eq!(Typed::default().read().unwrap_err().len(), 4);
    }
}
