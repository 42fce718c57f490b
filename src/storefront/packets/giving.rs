//! Giving a red packet from the wallet.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::UserVisit;
use crate::packets::view::{PacketGivePage, PacketGivenPage};
use domain::packet::Giver;
use domain::{PacketId, UserId};
use engine::packets::Purse;
use web::Shop;
use web::extract::session::SignedIn;
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds};
use web::packets::form::{PacketForm, PacketFormOutcome};
use web::problem::{Code, Problem};
use web::shared::paths::{packet_path, packet_share_url};
use web::shared::response::{personal, see_other};
use web::shared::wallet::balance_of;

pub async fn new((State(shop), SignedIn(session), visitor): UserVisit) -> Result<Response, Problem> {
    page(&shop, session.user_id, &visitor, StatusCode::OK, PacketForm::blank()).await
}

async fn page(
    shop: &Shop,
    user: UserId,
    visitor: &Visitor,
    status: StatusCode,
    form: PacketForm,
) -> Result<Response, Problem> {
    let chrome = visitor.chrome_at(format!("/{}/packets/new", visitor.locale));
    let balance = balance_of(&shop.store, user).await?;
    personal(status, &PacketGivePage { chrome, form, balance })
}

pub async fn give(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Form(form): Form<PacketForm>,
) -> Result<Response, Problem> {
    shop.accounts.check_spending(&session).await?;
    match form.submit(&shop, Purse::Wallet(session.user_id)).await? {
        PacketFormOutcome::Given(id) => Ok(see_other(&format!("{}/given", packet_path(visitor.locale, id)))),
        // Only packets from the shop's purse wait.
        PacketFormOutcome::Waits => Err(Code::AwaitsApproval.into()),
        PacketFormOutcome::ShowAgain(status, form) => page(&shop, session.user_id, &visitor, status, *form).await,
    }
}

/// The link to share. Only the giver sees it.
pub async fn given(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let packet = shop.store.packets().get(id).await?.filter(|packet| packet.giver == Giver::User(session.user_id));
    let packet = packet.ok_or(Code::NoSuchPacket)?;
    let link = packet_share_url(&shop, id);
    personal(StatusCode::OK, &PacketGivenPage { chrome: visitor.chrome(), packet, link })
}
