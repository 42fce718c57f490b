//! Red packets: the list, funding a packet from the shop, stopping one.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StaffCall, StaffCallTo};
use domain::PacketId;
use store::StopOutcome;
use web::cache_policy::Cache;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::{Json, PathIds, Query};
use web::idempotency::Repeatable;
use web::packets::{GivenPacketResponse, NewPacket, PacketJson, PacketList, PacketSource, give_packet};
use web::problem::{Code, Problem};
use web::shared::approvals::OneApproval;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

#[derive(Deserialize, JsonSchema)]
pub struct AllPacketsQuery {
    #[serde(default)]
    before: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct OnePacket {
    packet: PacketJson,
}

/// All packets, newest first.
pub async fn list(
    (State(shop), _): StaffCall<ViewConsole>,
    Query(query): Query<AllPacketsQuery>,
) -> Result<Response, Problem> {
    let page = shop.packets.all(query.before.read("before")?, LARGE_PAGE_SIZE).await?;
    let packets: Vec<PacketJson> = page.items.into_iter().map(|view| PacketJson::of(view, &shop)).collect();
    Ok((Cache::Private, Answer(PacketList { packets, next: page.next })).into_response())
}

/// Gives a packet from the shop, of up to a million shares.
pub async fn fund(
    (State(shop), staff): StaffCall<ManageSales>,
    Repeatable(request): Repeatable,
    Json(new): Json<NewPacket>,
) -> Result<Response, Problem> {
    if new.from == Some(PacketSource::Wallet) {
        return Err(Problem::invalid_field("from", "bad_text"));
    }
    give_packet(&shop, staff.shop_purse(), new.request(request)).await
}

/// Ends a packet. The unclaimed amount returns to its giver.
pub async fn stop((State(shop), staff, PathIds(id)): StaffCallTo<ManageSales, PacketId>) -> Result<Response, Problem> {
    match shop.packets.stop(id, staff.actor()).await? {
        StopOutcome::Done(_) => {}
        StopOutcome::Over(_) => return Err(Code::PacketExpired.into()),
        StopOutcome::NoSuchPacket => return Err(Code::NoSuchPacket.into()),
    }
    let view = shop.packets.view(id).await?.ok_or(Code::NoSuchPacket)?;
    Ok(Answer(OnePacket { packet: PacketJson::of(view, &shop) }).into_response())
}

web::operations! { "administrators"
    /// All red packets, newest first
    GET "/api/admin/packets" listAllPackets = list;
        200 PacketList<PacketJson>;
    /// Create a red-packet rain (红包雨) paid for by the shop, up to 1,000,000 shares
    POST "/api/admin/packets" fundPacket = fund, located;
        201 GivenPacketResponse;
        202 OneApproval, "Beyond what one person gives alone within a day: it waits for a second one.";
        refuses StepUpNeeded SpendingLimit TooManyPackets;
    /// End a red packet; unclaimed money goes back to its giver
    POST "/api/admin/packets/{packet}/stop" stopPacket = stop;
        200 OnePacket;
        refuses NoSuchPacket PacketExpired;
}
