//! Red packets for people, without scripts: the page that is shared, claiming, and one's own lists. Giving is
//! `packet_giving`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::domain::packet::Giver;
use crate::domain::wallet::money;
use crate::domain::{Locale, PacketId};
use crate::packets::{ClaimRefusal, View};
use crate::pages::Chrome;
use crate::pages::compression;
use crate::store::Role;
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::{Visitor, locale};
use crate::web::extract::{PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::negotiation::Content;
use crate::web::views::{Mine, OwnPackets, PacketPage, PacketResultPage, PacketsPage, Template};

/// Lines on one page.
const PAGE: usize = 20;

pub fn packet_path(locale: Locale, id: PacketId) -> String {
    format!("/{locale}/packets/{id}")
}

async fn existing(shop: &Shop, id: PacketId) -> Result<View, Problem> {
    shop.packets.look(id).await?.ok_or(Code::NoSuchPacket.into())
}

/// The address that is shared leads to the page in the language that the browser prefers.
pub async fn to_page(uri: Uri, headers: HeaderMap, PathIds(id): PathIds<PacketId>) -> Response {
    let page = packet_path(locale(&uri, &headers), id);
    (StatusCode::FOUND, Cache::Redirect, [(LOCATION, page), (VARY, "accept-language".to_owned())]).into_response()
}

/// The closed packet: the same bytes for everybody, so that a link in a crowded group is answered by caches.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    uri: Uri,
    headers: HeaderMap,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let view = existing(&shop, id).await?;
    let locale = locale(&uri, &headers);
    let chrome = Chrome { locale, path: packet_path(locale, id), username: None, role: Role::User };
    let phase = view.packet.phase(shop.clock.now());
    let bytes = Bytes::from(PacketPage { chrome, view, phase }.render()?);
    let content = Content {
        content_type: "text/html; charset=utf-8",
        etag: &compression::etag(&bytes),
        plain: &bytes,
        br: None,
        gzip: None,
    };
    Ok(content.answer(&headers, Cache::Page))
}

/// The form of the closed packet. What came of it is what the next page shows.
pub async fn claim(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
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
pub struct Part {
    /// Claims from before this share.
    before: Option<i64>,
    /// Somebody opened it a moment ago.
    #[serde(default)]
    opened: String,
}

/// Who got what, and what whoever looks has got.
pub async fn result(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(id): PathIds<PacketId>,
    Query(part): Query<Part>,
) -> Result<Response, Problem> {
    let view = existing(&shop, id).await?;
    let me = visitor.session.as_ref().map(|session| session.user_id);
    let share = match me {
        Some(user) => shop.packets.share_of(user, &view.packet).await?,
        None => None,
    };
    let mine = match share {
        Some(share) => Mine::Got(money(share.amount)),
        None if !view.packet.own && me.is_some() && view.packet.giver.user() == me => Mine::Own,
        None => Mine::Nothing,
    };
    let claims = shop.packets.claims(id, part.before, PAGE).await?;
    let page = PacketResultPage {
        chrome: visitor.chrome(),
        phase: view.packet.phase(shop.clock.now()),
        view,
        mine,
        me,
        just_now: !part.opened.is_empty(),
        claims: claims.items,
        older: claims.next,
        is_later: part.before.is_some(),
    };
    personal(StatusCode::OK, &page)
}

#[derive(Deserialize)]
pub struct Which {
    /// `received`; what one gave otherwise.
    #[serde(default)]
    list: String,
    before: Option<PacketId>,
}

/// One's own packets: given, or received.
pub async fn list(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    let user = session.user_id;
    let (packets, next) = if which.list == "received" {
        let page = shop.packets.received(user, which.before, PAGE).await?;
        (OwnPackets::Received(page.items), page.next)
    } else {
        let page = shop.packets.given(Giver::User(user), which.before, PAGE).await?;
        (OwnPackets::Given(page.items), page.next)
    };
    let page = PacketsPage {
        chrome: visitor.chrome(),
        packets,
        now: shop.clock.now(),
        older: next.map(|id| id.to_string()),
        is_later: which.before.is_some(),
    };
    personal(StatusCode::OK, &page)
}
