//! The sales_admin of red packets: what was given, funding a rain, watching and stopping one.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::users::Confirmation;
use crate::domain::packet::Giver;
use crate::domain::{Locale, PacketId};
use crate::store::Stopped;
use crate::web::Shop;
use crate::web::api::packets::share_url;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::packet_giving::{Sent, blank, send};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::views::{AdminPacketForm, AdminPacketPage, AdminPacketsPage, PacketForm};

/// Packets of one page.
const PAGE: usize = 50;

fn packet_path(locale: Locale, id: PacketId) -> String {
    format!("/admin/packets/{id}?lang={locale}")
}

#[derive(Deserialize)]
pub struct Before {
    before: Option<PacketId>,
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(query): Query<Before>,
) -> Result<Response, Problem> {
    let page = shop.packets.all(query.before, PAGE).await?;
    let page = AdminPacketsPage {
        chrome: visitor.chrome(),
        packets: page.items,
        now: shop.clock.now(),
        older: page.next.map(|id| id.to_string()),
        is_later: query.before.is_some(),
    };
    personal(StatusCode::OK, &page)
}

/// The form of a rain, for those who may fund one.
pub async fn new(_: Staff<RunSales>, visitor: Visitor) -> Result<Response, Problem> {
    personal(StatusCode::OK, &AdminPacketForm { chrome: visitor.chrome(), form: blank() })
}

pub async fn fund(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    visitor: Visitor,
    Form(form): Form<PacketForm>,
) -> Result<Response, Problem> {
    match send(&shop, Giver::Shop, form, Some(staff.actor())).await? {
        Sent::Given(id) => Ok(see_other(&format!("{}&done=fund", packet_path(visitor.locale, id)))),
        Sent::Again(status, form) => {
            let mut chrome = visitor.chrome();
            chrome.path = format!("/admin/packets/new?lang={}", visitor.locale);
            personal(status, &AdminPacketForm { chrome, form: *form })
        }
    }
}

#[derive(Deserialize)]
pub struct Done {
    /// What was done just now.
    #[serde(default)]
    done: String,
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<PacketId>,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, id, done, None).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    id: PacketId,
    done: String,
    problem: Option<&'static str>,
) -> Result<Response, Problem> {
    let view = shop.packets.look(id).await?.ok_or(Code::NoSuchPacket)?;
    let mut chrome = visitor.chrome();
    chrome.path = packet_path(visitor.locale, id);
    let phase = view.packet.phase(shop.clock.now());
    personal(status, &AdminPacketPage { chrome, view, phase, link: share_url(shop, id), done, problem })
}

pub async fn stop(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    visitor: Visitor,
    PathIds(id): PathIds<PacketId>,
    Form(form): Form<Confirmation>,
) -> Result<Response, Problem> {
    if form.confirm != "yes" {
        let refused = StatusCode::UNPROCESSABLE_ENTITY;
        return page(&shop, &visitor, refused, id, String::new(), Some("not_confirmed")).await;
    }
    match shop.packets.stop(id, staff.actor()).await? {
        Stopped::Done(_) => Ok(see_other(&format!("{}&done=stop", packet_path(visitor.locale, id)))),
        Stopped::Over(_) => {
            let code = Code::PacketExpired;
            page(&shop, &visitor, code.status(), id, String::new(), Some(code.as_str())).await
        }
        Stopped::NoSuchPacket => Err(Code::NoSuchPacket.into()),
    }
}
