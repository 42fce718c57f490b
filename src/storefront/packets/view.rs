//! Red packets: the shared page, the result with all claims, a user's packets, and the form that gives one.

use askama::Template;
use jiff::Timestamp;

use domain::packet::{Giver, Packet, PacketPhase, ShareClaim};
use domain::wallet::money;
use domain::{Money, UserId};
use engine::packets::PacketView;
use pages::filters;
use store::PacketClaim;
use web::packets::form::PacketForm;
use web::packets::view::{PacketFields, qr_code};
use web::shared::FieldError;
use web::views::Chrome;
use words::{Text, field_error, fill};

/// The line that names the giver.
fn giver_line(t: &Text, view: &PacketView) -> String {
    match (view.packet.giver, &view.giver) {
        (Giver::Shop, _) => t.packets.from_shop.to_owned(),
        (_, Some(name)) => fill(t.packets.from, name),
        (_, None) => t.packets.from_gone.to_owned(),
    }
}

fn greeting<'a>(t: &'a Text, packet: &'a Packet) -> &'a str {
    if packet.greeting.is_empty() { t.packets.default_greeting } else { &packet.greeting }
}

fn claimed_of(t: &Text, packet: &Packet) -> String {
    fill(&fill(t.packets.claimed_of, packet.claimed), packet.count)
}

/// The closed packet. The page is the same for all visitors.
#[derive(Debug, Template)]
#[template(path = "packets/packet.html")]
pub struct PacketPage {
    pub chrome: Chrome,
    /// The shop's public address.
    pub origin: String,
    pub view: PacketView,
    pub phase: PacketPhase,
}

impl PacketPage {
    fn from(&self) -> String {
        giver_line(self.chrome.text(), &self.view)
    }

    fn greeting(&self) -> &str {
        greeting(self.chrome.text(), &self.view.packet)
    }

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
pub struct PacketResultPage {
    pub chrome: Chrome,
    pub view: PacketView,
    pub phase: PacketPhase,
    pub share: VisitorShare,
    pub me: Option<UserId>,
    /// The visitor opened it with this request.
    pub just_now: bool,
    pub claims: Vec<PacketClaim>,
    /// For `?before=`; `None` on the last page.
    pub older: Option<i64>,
    pub is_later: bool,
}

impl PacketResultPage {
    fn from(&self) -> String {
        giver_line(self.chrome.text(), &self.view)
    }

    fn greeting(&self) -> &str {
        greeting(self.chrome.text(), &self.view.packet)
    }

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

    fn claimed_of(&self) -> String {
        claimed_of(self.chrome.text(), &self.view.packet)
    }

    fn total(&self) -> Money {
        money(self.view.packet.total)
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
    Given(Vec<PacketView>),
    Received(Vec<(ShareClaim, PacketView)>),
}

/// The packets that a user gave, or received, newest first.
#[derive(Debug, Template)]
#[template(path = "packets/packets.html")]
pub struct PacketsPage {
    pub chrome: Chrome,
    pub packets: OwnPackets,
    pub now: Timestamp,
    /// For `?before=`; `None` on the last page.
    pub older: Option<String>,
    pub is_later: bool,
}

impl PacketsPage {
    fn from(&self, view: &PacketView) -> String {
        giver_line(self.chrome.text(), view)
    }

    fn greeting<'a>(&'a self, view: &'a PacketView) -> &'a str {
        greeting(self.chrome.text(), &view.packet)
    }

    fn claimed_of(&self, view: &PacketView) -> String {
        claimed_of(self.chrome.text(), &view.packet)
    }

    fn total(&self, view: &PacketView) -> Money {
        money(view.packet.total)
    }

    fn got(&self, claim: &ShareClaim) -> Money {
        money(claim.amount)
    }

    fn phase(&self, view: &PacketView) -> PacketPhase {
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
pub struct PacketGivePage {
    pub chrome: Chrome,
    pub form: PacketForm,
    pub balance: Money,
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
pub struct PacketGivenPage {
    pub chrome: Chrome,
    pub packet: Packet,
    /// The URL at which shares are claimed.
    pub link: String,
}

impl PacketGivenPage {
    fn greeting(&self) -> &str {
        greeting(self.chrome.text(), &self.packet)
    }

    fn total(&self) -> Money {
        money(self.packet.total)
    }

    fn picture(&self) -> Option<String> {
        qr_code(&self.link)
    }
}
