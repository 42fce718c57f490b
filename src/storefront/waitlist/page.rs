//! A shopper's place on the waitlist of a sale: its page, and the forms that join and leave.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::UserVisit;
use crate::eligibility::page as eligibility;
use crate::waitlist::view::WaitlistPage;
use domain::{Locale, SaleId};
use web::extract::client::ClientAddress;
use web::extract::session::SignedIn;
use web::extract::{Form, PathIds};
use web::problem::{Code, Problem};
use web::shared::goods::goods_name_and_cover;
use web::shared::onward::onward_from;
use web::shared::response::{personal, see_other};

fn waitlist_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/waitlist")
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let status = shop.gate.status(sale).ok_or(Code::NoSuchSale)?;
    let known =
        shop.catalogue.entry(sale).await?.filter(|entry| entry.sale.mode.has_waitlist()).ok_or(Code::NoWaitlist)?;
    let (goods_name, picture) = goods_name_and_cover(Some(&*known), visitor.locale);
    let page = WaitlistPage {
        onward: onward_from(&shop.catalogue, visitor.locale, &known),
        sale,
        goods_name,
        picture,
        phase: status.phase,
        price: known.sale.price,
        per_user_limit: status.per_user_limit,
        place: shop.waitlist.place(sale, session.user_id).await?,
        live_order: shop.store.orders().live_order_of(sale, session.user_id).await?,
        waiting: shop.store.waitlists().count_waiters(sale).await?,
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

#[derive(Deserialize)]
pub struct JoinForm {
    #[serde(default)]
    quantity: String,
}

pub async fn join(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
    Form(form): Form<JoinForm>,
) -> Result<Response, Problem> {
    let quantity = form.quantity.trim().parse().map_err(|_| Code::BadQuantity)?;
    match shop.waitlist.join(sale, session.user_id, quantity, client).await {
        Ok(_) => Ok(see_other(&waitlist_path(visitor.locale, sale))),
        Err(refusal) => eligibility::refused(refusal, visitor.locale, sale),
    }
}

pub async fn leave(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Result<Response, Problem> {
    shop.waitlist.leave(sale, session.user_id, client).await?;
    Ok(see_other(&waitlist_path(visitor.locale, sale)))
}
