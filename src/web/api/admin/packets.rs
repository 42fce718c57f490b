//! Red packets, by the staff's programs.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::domain::PacketId;
use crate::domain::packet::Giver;
use crate::store::Stopped;
use crate::web::Shop;
use crate::web::api::packets::{NewPacket, PacketJson, PacketList, Purse, given};
use crate::web::cache_policy::Cache;
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::{Json, PathIds, Query};
use crate::web::problem::{Code, Problem};

/// Packets of one page.
const PAGE: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Before {
    before: Option<PacketId>,
}

#[derive(Serialize)]
struct OnePacket {
    packet: PacketJson,
}

/// All packets, newest first.
pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    Query(query): Query<Before>,
) -> Result<Response, Problem> {
    let page = shop.packets.all(query.before, PAGE).await?;
    let packets: Vec<PacketJson> = page.items.into_iter().map(|view| PacketJson::of(view, &shop)).collect();
    Ok((Cache::Private, Answer(PacketList { packets, next: page.next })).into_response())
}

/// Gives a packet of the shop: a rain of up to a million shares.
pub async fn fund(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    Json(new): Json<NewPacket>,
) -> Result<Response, Problem> {
    if new.from == Some(Purse::Wallet) {
        return Err(Problem::invalid_field("from", "bad_text"));
    }
    given(&shop, Giver::Shop, new.into(), Some(staff.actor())).await
}

/// Ends the time of a packet. What is left goes back to whoever gave it.
pub async fn stop(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    match shop.packets.stop(id, staff.actor()).await? {
        Stopped::Done(_) => {}
        Stopped::Over(_) => return Err(Code::PacketExpired.into()),
        Stopped::NoSuchPacket => return Err(Code::NoSuchPacket.into()),
    }
    let view = shop.packets.look(id).await?.ok_or(Code::NoSuchPacket)?;
    Ok(Answer(OnePacket { packet: PacketJson::of(view, &shop) }).into_response())
}
