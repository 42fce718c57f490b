//! Red packets: the shared page, the result with all claims, a user's packets, and the form that gives one.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use qrcode::QrCode;
use qrcode::render::svg;

use super::Chrome;
use crate::shared::FieldError;
use crate::shared::packet_form::{PacketForm, SplitPreview};
use domain::packet::{Giver, Packet, PacketPhase, ShareClaim, Split};
use domain::wallet::money;
use domain::{Money, UserId};
use engine::packets::PacketView;
use pages::filters;
use store::PacketClaim;
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
#[template(path = "packet.html")]
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

/// What the visitor has of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorShare {
    Claimed(Money),
    /// The visitor gave the packet and does not take part.
    OwnPacket,
    Nothing,
}

/// The opened packet: the visitor's share, and the claims of all.
#[derive(Debug, Template)]
#[template(path = "packet_result.html")]
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

    /// The number of the circle's colour, of eight. A user has always the same.
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
#[template(path = "packets.html")]
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
#[template(path = "packet_give.html")]
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

/// The fields of the form, from the wallet or from the shop.
#[derive(Debug, Template)]
#[template(path = "packet_fields.html")]
pub struct PacketFields<'a> {
    pub chrome: &'a Chrome,
    pub form: &'a PacketForm,
    pub is_shop: bool,
}

impl PacketFields<'_> {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        let error = self.form.errors.iter().find(|error| error.field == field)?;
        Some(match error.code {
            "not_enough" => self.chrome.text().packets.not_enough,
            code => field_error(self.chrome.locale, code),
        })
    }

    fn splits(&self) -> [(&'static str, &'static str, &'static str); 3] {
        let t = &self.chrome.text().packets;
        Split::ALL.map(|split| match split {
            Split::Bounded => (split.as_str(), t.split_bounded, t.split_bounded_text),
            Split::Equal => (split.as_str(), t.split_equal, t.split_equal_text),
            Split::DoubleAverage => (split.as_str(), t.split_double_average, t.split_double_average_text),
        })
    }

    fn is_split(&self, split: &str) -> bool {
        self.form.split == split
    }

    fn has_bounds(&self) -> bool {
        !self.form.min.is_empty()
            || !self.form.max.is_empty()
            || self.error_text("min").or(self.error_text("max")).is_some()
    }

    fn range(&self, preview: &SplitPreview) -> String {
        fill(&fill(self.chrome.text().packets.preview_range, preview.least), preview.greatest)
    }

    fn is_greatest(&self, share: &Money, preview: &SplitPreview) -> bool {
        *share == preview.greatest && preview.least != preview.greatest
    }
}

/// The link of a new packet, for its giver to share.
#[derive(Debug, Template)]
#[template(path = "packet_given.html")]
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

/// A QR code of the text as a `data:` URL.
pub(super) fn qr_code(text: &str) -> Option<String> {
    let code = QrCode::new(text).ok()?;
    let colors = (svg::Color("#000"), svg::Color("#fff"));
    let svg = code.render().min_dimensions(200, 200).dark_color(colors.0).light_color(colors.1).build();
    Some(format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg)))
}
