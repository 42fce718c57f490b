//! Draws: a shopper's entry, the forms that enter and take it back, and the page that proves the draw.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::UserVisit;
use crate::draws::proof_view::DrawPage;
use crate::draws::view::EntryPage;
use crate::eligibility::page as eligibility;
use domain::draw::Proof;
use domain::{Locale, SaleId};
use web::Shop;
use web::extract::PathIds;
use web::extract::client::ClientAddress;
use web::extract::session::SignedIn;
use web::extract::visitor::Visitor;
use web::problem::{Code, Problem};
use web::shared::goods::goods_name_and_cover;
use web::shared::onward::onward_from;
use web::shared::response::{personal, see_other};

fn entry_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/entry")
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let entry = shop.store.draws().draw_entry(sale, session.user_id).await?;
    let order_status = match entry.as_ref().and_then(|entry| entry.order_id) {
        Some(order) => shop.store.orders().order_statuses(&[order]).await?.remove(&order),
        None => None,
    };
    let now = shop.clock.now();
    let (stage, until) = draw.stage(&known.sale, now);
    let (goods_name, picture) = goods_name_and_cover(Some(&*known), visitor.locale);
    let page = EntryPage {
        onward: onward_from(&shop.catalogue, visitor.locale, &known),
        order_status,
        stage,
        until,
        goods_name,
        picture,
        phase: known.sale.phase(now),
        draw: draw.state,
        called_off_reason: draw.called_off_reason,
        receipt: entry.as_ref().map(|entry| shop.entries.receipt(sale, entry)).unwrap_or_default(),
        entry,
        sale: known.sale.clone(),
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

/// The rules, the published facts, and how to check them.
pub async fn proof(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(sale): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let own = match &visitor.session {
        Some(session) => shop.store.draws().draw_entry(sale, session.user_id).await?.map(|entry| entry.id),
        None => None,
    };
    let (stage, until) = draw.stage(&known.sale, shop.clock.now());
    let page = DrawPage {
        origin: shop.config.public_url.clone(),
        goods_name: goods_name_and_cover(Some(&*known), visitor.locale).0,
        sale: known.sale.clone(),
        stage,
        until,
        excluded: shop.store.draws().exclusions(sale).await?,
        proof: draw.proof.as_deref().and_then(|proof| Proof::parse(proof.as_bytes()).ok()),
        draw,
        own,
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

pub async fn enter(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Result<Response, Problem> {
    match shop.entries.enter(sale, session.user_id, client).await {
        Ok(_) => Ok(see_other(&entry_path(visitor.locale, sale))),
        Err(refusal) => eligibility::refused(refusal, visitor.locale, sale),
    }
}

pub async fn withdraw(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Result<Response, Problem> {
    shop.entries.withdraw(sale, session.user_id, client).await?;
    Ok(see_other(&entry_path(visitor.locale, sale)))
}
