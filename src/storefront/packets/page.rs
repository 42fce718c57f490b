//! The pages of red packets: the shared page, claiming, the result, and a user's own lists. Giving is in
//! [`crate::packets::giving`].

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::UserVisit;
use crate::packets::view::{OwnPackets, PacketPage, PacketResultPage, PacketsPage, VisitorShare};
use askama::Template;
use domain::PacketId;
use domain::packet::Giver;
use domain::wallet::money;
use engine::packets::ClaimRefusal;
use pages::Chrome;
use pages::compression;
use web::Shop;
use web::cache_policy::Cache;
use web::extract::client::ClientAddress;
use web::extract::session::SignedIn;
use web::extract::visitor::{Visitor, locale};
use web::extract::{PathIds, Query};
use web::problem::Problem;
use web::shared::negotiation::Content;
use web::shared::pagination::{Cursor, DEFAULT_PAGE_SIZE};
use web::shared::paths::packet_path;
use web::shared::response::{personal, see_other};

/// Redirects the shared URL to the page in the language that the browser prefers.
pub async fn to_page(uri: Uri, headers: HeaderMap, PathIds(id): PathIds<PacketId>) -> Response {
    let page = packet_path(locale(&uri, &headers), id);
    (StatusCode::FOUND, Cache::Redirect, [(LOCATION, page), (VARY, "accept-language".to_owned())]).into_response()
}

/// The closed packet. Its bytes are the same for every visitor, so caches can answer for a link that was shared with a
/// crowd.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    uri: Uri,
    headers: HeaderMap,
    ClientAddress(address): ClientAddress,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let view = shop.packets.look_up(id, address).await?;
    let locale = locale(&uri, &headers);
    let chrome = Chrome::anonymous(locale, packet_path(locale, id));
    let phase = view.packet.phase(shop.clock.now());
    let origin = shop.config.public_url.clone();
    let bytes = Bytes::from(PacketPage { chrome, origin, view, phase }.render()?);
    let content = Content {
        content_type: "text/html; charset=utf-8",
        etag: &compression::etag(&bytes),
        plain: &bytes,
        br: None,
        gzip: None,
    };
    Ok(content.answer(&headers, Cache::Page))
}

/// The form on the closed packet. The next page shows its result.
pub async fn claim(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let page = packet_path(visitor.locale, id);
    match shop.packets.claim(session.user_id, id).await {
        Ok(_) => Ok(see_other(&format!("{page}/result?opened=1"))),
        Err(ClaimRefusal::Empty | ClaimRefusal::Expired | ClaimRefusal::Own | ClaimRefusal::NotOpen) => {
            Ok(see_other(&format!("{page}/result")))
        }
        Err(refusal) => Err(Problem::from(refusal).back(page)),
    }
}

#[derive(Deserialize)]
pub struct PacketResultQuery {
    /// Lists claims from before this share.
    #[serde(default)]
    before: Cursor,
    /// Set right after the visitor has claimed a share.
    #[serde(default)]
    opened: String,
}

/// The claims of a packet, and the visitor's own share.
pub async fn result(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    ClientAddress(address): ClientAddress,
    PathIds(id): PathIds<PacketId>,
    Query(query): Query<PacketResultQuery>,
) -> Result<Response, Problem> {
    let view = shop.packets.look_up(id, address).await?;
    let me = visitor.session.as_ref().map(|session| session.user_id);
    let share = match me {
        Some(user) => shop.packets.share_of(user, &view.packet).await?,
        None => None,
    };
    let share = match share {
        Some(share) => VisitorShare::Claimed(money(share.amount)),
        None if !view.packet.own && me.is_some() && view.packet.giver.user() == me => VisitorShare::OwnPacket,
        None => VisitorShare::Nothing,
    };
    let claims = shop.packets.claims(id, query.before.read("before")?, DEFAULT_PAGE_SIZE).await?;
    let page = PacketResultPage {
        chrome: visitor.chrome(),
        phase: view.packet.phase(shop.clock.now()),
        view,
        share,
        me,
        just_now: !query.opened.is_empty(),
        claims: claims.items,
        older: claims.next,
        is_later: query.before.is_given(),
    };
    personal(StatusCode::OK, &page)
}

#[derive(Deserialize)]
pub struct PacketsPageQuery {
    /// `received`, or anything else for the packets that the user gave.
    #[serde(default)]
    list: String,
    #[serde(default)]
    before: Cursor,
}

/// The packets that the user gave or received.
pub async fn list(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<PacketsPageQuery>,
) -> Result<Response, Problem> {
    let (user, before) = (session.user_id, query.before.read("before")?);
    let (packets, next) = if query.list == "received" {
        let page = shop.packets.received(user, before, DEFAULT_PAGE_SIZE).await?;
        (OwnPackets::Received(page.items), page.next)
    } else {
        let page = shop.packets.given(Giver::User(user), before, DEFAULT_PAGE_SIZE).await?;
        (OwnPackets::Given(page.items), page.next)
    };
    let page = PacketsPage {
        chrome: visitor.chrome(),
        packets,
        now: shop.clock.now(),
        older: next.map(|id| id.to_string()),
        is_later: query.before.is_given(),
    };
    personal(StatusCode::OK, &page)
}
