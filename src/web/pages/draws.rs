//! A shopper's entry in a draw: its page, and the forms that enter and take the entry back.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::UserVisit;
use crate::domain::{Locale, SaleId};
use crate::web::extract::PathIds;
use crate::web::extract::client::ClientAddress;
use crate::web::extract::session::SignedIn;
use crate::web::problem::{Code, Problem};
use crate::web::shared::goods::goods_name_and_cover;
use crate::web::shared::response::{personal, see_other};
use crate::web::views::EntryPage;

fn entry_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/entry")
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let draw = shop.store.draw(sale).await?.ok_or(Code::NoSuchDraw)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let entry = shop.store.draw_entry(sale, session.user_id).await?;
    let page = EntryPage {
        sale,
        goods_name: goods_name_and_cover(Some(&*known), visitor.locale).0,
        phase: known.sale.phase(shop.clock.now()),
        draw: draw.state,
        receipt: entry.as_ref().map(|entry| shop.entries.receipt(sale, entry)).unwrap_or_default(),
        entry,
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

pub async fn enter(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Result<Response, Problem> {
    shop.entries.enter(sale, session.user_id, client).await?;
    Ok(see_other(&entry_path(visitor.locale, sale)))
}

pub async fn withdraw(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Result<Response, Problem> {
    shop.entries.withdraw(sale, session.user_id, client).await?;
    Ok(see_other(&entry_path(visitor.locale, sale)))
}
