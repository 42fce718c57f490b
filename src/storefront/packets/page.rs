//! The pages of red packets: the shared page, claiming, the result, a user's own lists, and giving.

use std::sync::Arc;

use askama::Template;
use axum::body::Bytes;
use axum::http::header::{LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Deserialize;

use crate::UserVisit;
use domain::ledger::money;
use domain::packet::{Giver, Packet, PacketPhase, ShareClaim};
use domain::{Locale, Money, PacketId, UserId};
use engine::packets::{ClaimRefusal, PacketView, Purse};
use pages::{Chrome, compression, filters};
use store::PacketClaim;
use web::extract::{ClientAddress, Form, PathIds, Query, SignedIn, State, Visitor, locale};
use web::packets::{PacketFields, PacketForm, PacketFormOutcome, qr_code};
use web::shared::balance_of;
use web::shared::negotiation::Content;
use web::shared::paths::{packet_path, packet_share_url};
use web::{Answer, Cache, Code, Cursor, DEFAULT_PAGE_SIZE, FieldError, Problem, Shop, personal, see_other};
use words::{Text, field_error, fill, text};

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
) -> Answer {
    let view = shop.packets.look_up(id, address).await?;
    let locale = locale(&uri, &headers);
    let now = shop.clock.now();
    let chrome = Chrome::anonymous(&shop.catalogue.settings(), now, locale, packet_path(locale, id));
    let phase = view.packet.phase(now);
    let view = ShownPacket::new(view, locale);
    let origin = shop.config.public_url.clone();
    let bytes = Bytes::from(PacketPage { chrome, origin, view, phase }.render()?);
    let etag = compression::etag(&bytes);
    Ok(Content::new("text/html; charset=utf-8", &etag, &bytes, None).answer(&headers, Cache::Page))
}

/// The form on the closed packet. The next page shows its result.
pub async fn claim((State(shop), SignedIn(session), visitor): UserVisit, PathIds(id): PathIds<PacketId>) -> Answer {
    let page = packet_path(visitor.locale, id);
    match shop.packets.claim(session.user_id, id).await {
        Ok(_) => Ok(see_other(&format!("{page}/result?opened=1"))),
        Err(ClaimRefusal::Empty | ClaimRefusal::Expired | ClaimRefusal::Own | ClaimRefusal::NotOpen) => {
            Ok(see_other(&format!("{page}/result")))
        }
        Err(refusal) => Err(Problem::from(refusal).back(page)),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PacketResultQuery {
    /// Lists claims from before this share.
    before: Cursor,
    /// Set right after the visitor has claimed a share.
    opened: String,
}

/// The claims of a packet, and the visitor's own share.
pub async fn result(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    ClientAddress(address): ClientAddress,
    PathIds(id): PathIds<PacketId>,
    Query(query): Query<PacketResultQuery>,
) -> Answer {
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
        view: ShownPacket::new(view, visitor.locale),
        share,
        me,
        just_now: !query.opened.is_empty(),
        claims: claims.items,
        older: claims.next,
        is_later: query.before.is_given(),
    };
    personal(StatusCode::OK, &page)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PacketsPageQuery {
    /// `received`, or anything else for the packets that the user gave.
    list: String,
    before: Cursor,
}

/// The packets that the user gave or received.
pub async fn list(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<PacketsPageQuery>,
) -> Answer {
    let (user, before) = (session.user_id, query.before.read("before")?);
    let shown = |view| ShownPacket::new(view, visitor.locale);
    let (packets, next) = if query.list == "received" {
        let page = shop.packets.received(user, before, DEFAULT_PAGE_SIZE).await?;
        (OwnPackets::Received(page.items.into_iter().map(|(claim, view)| (claim, shown(view))).collect()), page.next)
    } else {
        let page = shop.packets.given(Giver::User(user), before, DEFAULT_PAGE_SIZE).await?;
        (OwnPackets::Given(page.items.into_iter().map(shown).collect()), page.next)
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

// Giving a red packet from the wallet.

pub async fn new((State(shop), SignedIn(session), visitor): UserVisit) -> Answer {
    page(&shop, session.user_id, &visitor, StatusCode::OK, PacketForm::blank()).await
}

async fn page(shop: &Shop, user: UserId, visitor: &Visitor, status: StatusCode, form: PacketForm) -> Answer {
    let chrome = visitor.chrome_at(format!("/{}/packets/new", visitor.locale));
    let balance = balance_of(&shop.store, user).await?;
    personal(status, &PacketGivePage { chrome, form, balance })
}

pub async fn give((State(shop), SignedIn(session), visitor): UserVisit, Form(form): Form<PacketForm>) -> Answer {
    shop.accounts.check_spending(&session).await?;
    match form.submit(&shop, Purse::Wallet(session.user_id)).await? {
        PacketFormOutcome::Given(id) => Ok(see_other(&format!("{}/given", packet_path(visitor.locale, id)))),
        // Only packets from the shop's purse wait.
        PacketFormOutcome::Waits => Err(Code::AwaitsApproval.into()),
        PacketFormOutcome::ShowAgain(status, form) => page(&shop, session.user_id, &visitor, status, *form).await,
    }
}

/// The link to share. Only the giver sees it.
pub async fn given((State(shop), SignedIn(session), visitor): UserVisit, PathIds(id): PathIds<PacketId>) -> Answer {
    let packet = shop.store.packets().get(id).await?.filter(|packet| packet.giver == Giver::User(session.user_id));
    let packet = packet.ok_or(Code::NoSuchPacket)?;
    let view = ShownPacket { packet, giver: Some(session.username), t: text(visitor.locale) };
    let link = packet_share_url(&shop, id);
    personal(StatusCode::OK, &PacketGivenPage { chrome: visitor.chrome(), view, link })
}

/// A packet in the words of a page.
#[derive(Debug)]
pub struct ShownPacket {
    packet: Packet,
    /// The name of the user who gave it; `None` for one who is gone.
    giver: Option<String>,
    t: &'static Text,
}

impl ShownPacket {
    fn new(PacketView { packet, giver, .. }: PacketView, locale: Locale) -> ShownPacket {
        ShownPacket { packet, giver, t: text(locale) }
    }

    /// The line that names the giver.
    fn from(&self) -> String {
        match (self.packet.giver, &self.giver) {
            (Giver::Shop, _) => self.t.packets.from_shop.to_owned(),
            (_, Some(name)) => fill(self.t.packets.from, name),
            (_, None) => self.t.packets.from_gone.to_owned(),
        }
    }

    fn greeting(&self) -> &str {
        if self.packet.greeting.is_empty() { self.t.packets.default_greeting } else { &self.packet.greeting }
    }

    fn claimed_of(&self) -> String {
        fill(&fill(self.t.packets.claimed_of, self.packet.claimed), self.packet.count)
    }

    fn total(&self) -> Money {
        money(self.packet.total)
    }
}

/// The closed packet. The page is the same for all visitors.
#[derive(Debug, Template)]
#[template(path = "packets/packet.html")]
struct PacketPage {
    chrome: Chrome,
    /// The shop's public address.
    origin: String,
    view: ShownPacket,
    phase: PacketPhase,
}

impl PacketPage {
    fn is_over(&self) -> bool {
        matches!(self.phase, PacketPhase::Empty | PacketPhase::Expired)
    }

    fn state(&self) -> (&'static str, &'static str) {
        self.chrome.text().packet_state(&self.phase)
    }
}

/// What the visitor got from a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorShare {
    Claimed(Money),
    /// The visitor gave the packet and does not take part.
    OwnPacket,
    Nothing,
}

/// The opened packet: the visitor's share, and the claims of all.
#[derive(Debug, Template)]
#[template(path = "packets/packet_result.html")]
struct PacketResultPage {
    chrome: Chrome,
    view: ShownPacket,
    phase: PacketPhase,
    share: VisitorShare,
    me: Option<UserId>,
    /// The visitor opened it with this request.
    just_now: bool,
    claims: Vec<PacketClaim>,
    /// For `?before=`; `None` on the last page.
    older: Option<i64>,
    is_later: bool,
}

impl PacketResultPage {
    fn state(&self) -> (&'static str, &'static str) {
        let t = self.chrome.text();
        match self.share {
            VisitorShare::OwnPacket => (t.packets.state_own, t.packets.state_own_text),
            _ => t.packet_state(&self.phase),
        }
    }

    fn may_open(&self) -> bool {
        self.share == VisitorShare::Nothing && self.phase == PacketPhase::Open
    }

    /// The amount that returned to the giver, once the packet is settled.
    fn returned(&self) -> Option<Money> {
        let packet = &self.view.packet;
        (packet.settled_at.is_some() && packet.left() > 0).then(|| money(packet.left()))
    }

    fn is_luckiest(&self, claim: &PacketClaim) -> bool {
        self.view.packet.best.is_some_and(|(user, _)| user == claim.claim.user_id)
    }

    fn is_me(&self, claim: &PacketClaim) -> bool {
        self.me == Some(claim.claim.user_id)
    }

    fn name<'a>(&self, claim: &'a PacketClaim) -> &'a str {
        claim.username.as_deref().unwrap_or(self.chrome.text().packets.deleted_user)
    }

    /// The letter in the circle of a claim.
    fn initial(&self, claim: &PacketClaim) -> String {
        claim
            .username
            .as_deref()
            .and_then(|name| name.chars().next())
            .map_or("·".into(), |c| c.to_uppercase().collect())
    }

    /// The number of the circle's colour, one of eight. A user always has the same colour.
    fn hue(&self, claim: &PacketClaim) -> u8 {
        claim.claim.user_id.0.as_bytes().iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) % 8
    }

    fn amount(&self, claim: &PacketClaim) -> Money {
        money(claim.claim.amount)
    }
}

/// One of the two lists of a user's packets.
#[derive(Debug)]
pub enum OwnPackets {
    Given(Vec<ShownPacket>),
    Received(Vec<(ShareClaim, ShownPacket)>),
}

/// The packets that a user gave, or received, newest first.
#[derive(Debug, Template)]
#[template(path = "packets/packets.html")]
struct PacketsPage {
    chrome: Chrome,
    packets: OwnPackets,
    now: Timestamp,
    /// For `?before=`; `None` on the last page.
    older: Option<String>,
    is_later: bool,
}

impl PacketsPage {
    fn got(&self, claim: &ShareClaim) -> Money {
        money(claim.amount)
    }

    fn phase(&self, view: &ShownPacket) -> PacketPhase {
        view.packet.phase(self.now)
    }

    fn is_given(&self) -> bool {
        matches!(self.packets, OwnPackets::Given(_))
    }

    fn is_empty(&self) -> bool {
        match &self.packets {
            OwnPackets::Given(views) => views.is_empty(),
            OwnPackets::Received(views) => views.is_empty(),
        }
    }

    /// The path of the first page of this list.
    fn list(&self) -> String {
        let which = if self.is_given() { "" } else { "?list=received" };
        format!("/{}/packets{which}", self.chrome.locale)
    }
}

/// The form that gives a packet from the wallet.
#[derive(Debug, Template)]
#[template(path = "packets/packet_give.html")]
struct PacketGivePage {
    chrome: Chrome,
    form: PacketForm,
    balance: Money,
}

impl PacketGivePage {
    fn fields(&self) -> PacketFields<'_> {
        PacketFields { chrome: &self.chrome, form: &self.form, is_shop: false }
    }

    fn words(&self, error: &FieldError) -> &'static str {
        field_error(self.chrome.locale, error.code)
    }

    fn lacks_money(&self) -> bool {
        self.form.errors.iter().any(|error| error.code == "not_enough")
    }
}

/// The link of a new packet, for its giver to share.
#[derive(Debug, Template)]
#[template(path = "packets/packet_given.html")]
struct PacketGivenPage {
    chrome: Chrome,
    view: ShownPacket,
    /// The URL at which shares are claimed.
    link: String,
}

impl PacketGivenPage {
    fn picture(&self) -> Option<String> {
        qr_code(&self.link)
    }
}
