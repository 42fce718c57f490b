//! Red packets: the page that is shared, who got what, one's own packets, and giving one.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use qrcode::QrCode;
use qrcode::render::svg;
use serde::Deserialize;

use super::Chrome;
use crate::domain::packet::{Giver, Packet, Phase, ShareClaim, Split};
use crate::domain::wallet::money;
use crate::domain::{Money, UserId};
use crate::i18n::{Text, field_error, fill};
use crate::packets::View;
use crate::pages::filters;
use crate::store::PacketClaim;
use crate::web::shared::FieldError;

/// Whose packet it is, in words.
fn from(t: &Text, view: &View) -> String {
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

/// The closed packet, the same for everybody: nothing in it is about who looks.
#[derive(Debug, Template)]
#[template(path = "packet.html")]
pub struct PacketPage {
    pub chrome: Chrome,
    pub view: View,
    pub phase: Phase,
}

impl PacketPage {
    fn from(&self) -> String {
        from(self.chrome.text(), &self.view)
    }

    fn greeting(&self) -> &str {
        greeting(self.chrome.text(), &self.view.packet)
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Empty | Phase::Expired)
    }

    fn state(&self) -> (&'static str, &'static str) {
        self.chrome.text().packet_state(&self.phase)
    }
}

/// What a packet is to whoever looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mine {
    Got(Money),
    /// They gave it and keep out of it.
    Own,
    Nothing,
}

/// The opened packet: what whoever looks has got, and what others have.
#[derive(Debug, Template)]
#[template(path = "packet_result.html")]
pub struct PacketResultPage {
    pub chrome: Chrome,
    pub view: View,
    pub phase: Phase,
    pub mine: Mine,
    pub me: Option<UserId>,
    /// It was opened a moment ago.
    pub just_now: bool,
    pub claims: Vec<PacketClaim>,
    /// For `?before=`; `None` on the last page.
    pub older: Option<i64>,
    pub is_later: bool,
}

impl PacketResultPage {
    fn from(&self) -> String {
        from(self.chrome.text(), &self.view)
    }

    fn greeting(&self) -> &str {
        greeting(self.chrome.text(), &self.view.packet)
    }

    fn state(&self) -> (&'static str, &'static str) {
        let t = self.chrome.text();
        match self.mine {
            Mine::Own => (t.packets.state_own, t.packets.state_own_text),
            _ => t.packet_state(&self.phase),
        }
    }

    fn may_open(&self) -> bool {
        self.mine == Mine::Nothing && self.phase == Phase::Open
    }

    fn claimed_of(&self) -> String {
        claimed_of(self.chrome.text(), &self.view.packet)
    }

    fn total(&self) -> Money {
        money(self.view.packet.total)
    }

    /// What went back to the giver, once it is known.
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
        claim.username.as_deref().unwrap_or(self.chrome.text().packets.somebody)
    }

    /// The letter in somebody's circle.
    fn initial(&self, claim: &PacketClaim) -> String {
        claim
            .username
            .as_deref()
            .and_then(|name| name.chars().next())
            .map_or("·".into(), |c| c.to_uppercase().collect())
    }

    /// Which of the eight colours of circles is somebody's: always the same one.
    fn hue(&self, claim: &PacketClaim) -> u8 {
        claim.claim.user_id.0.as_bytes().iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) % 8
    }

    fn amount(&self, claim: &PacketClaim) -> Money {
        money(claim.claim.amount)
    }
}

/// One of the two lists of somebody's packets.
#[derive(Debug)]
pub enum OwnPackets {
    Given(Vec<View>),
    Received(Vec<(ShareClaim, View)>),
}

/// What somebody gave, or received; newest first.
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
    fn from(&self, view: &View) -> String {
        from(self.chrome.text(), view)
    }

    fn greeting<'a>(&'a self, view: &'a View) -> &'a str {
        greeting(self.chrome.text(), &view.packet)
    }

    fn claimed_of(&self, view: &View) -> String {
        claimed_of(self.chrome.text(), &view.packet)
    }

    fn total(&self, view: &View) -> Money {
        money(view.packet.total)
    }

    fn got(&self, claim: &ShareClaim) -> Money {
        money(claim.amount)
    }

    fn phase(&self, view: &View) -> Phase {
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

    /// This list without its page.
    fn list(&self) -> String {
        let which = if self.is_given() { "" } else { "?list=received" };
        format!("/{}/packets{which}", self.chrome.locale)
    }
}

/// A way to split that might come of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The first ones.
    pub shares: Vec<Money>,
    pub more: i64,
    pub least: Money,
    pub greatest: Money,
}

/// More shares than this are not listed.
const PREVIEWED: usize = 60;

impl Preview {
    /// `None` of nothing.
    pub fn of(shares: &[i64]) -> Option<Preview> {
        Some(Preview {
            least: money(*shares.iter().min()?),
            greatest: money(*shares.iter().max()?),
            shares: shares.iter().take(PREVIEWED).map(|share| money(*share)).collect(),
            more: shares.len().saturating_sub(PREVIEWED) as i64,
        })
    }
}

/// The form of a new packet, everything as typed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PacketForm {
    pub total: String,
    pub count: String,
    pub min: String,
    pub max: String,
    pub split: String,
    pub greeting: String,
    /// `yes` if the giver may claim too.
    pub own: String,
    pub opens_at: String,
    /// Of this rendered form: sent twice, it gives once.
    pub key: String,
    /// `preview` to see how it may be split.
    pub then: String,
    #[serde(skip)]
    pub errors: Vec<FieldError>,
    #[serde(skip)]
    pub preview: Option<Preview>,
}

impl PacketForm {
    pub fn blank(key: String) -> PacketForm {
        let split = Split::default().as_str().to_owned();
        PacketForm { key, split, count: "10".into(), own: "yes".into(), ..PacketForm::default() }
    }
}

/// Giving a packet from the wallet, or a rain from the shop.
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

/// The fields of the form.
#[derive(Debug, Template)]
#[template(path = "packet_fields.html")]
pub struct PacketFields<'a> {
    pub chrome: &'a Chrome,
    pub form: &'a PacketForm,
    pub is_shop: bool,
}

impl PacketFields<'_> {
    fn complaint(&self, field: &str) -> Option<&'static str> {
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
            || self.complaint("min").or(self.complaint("max")).is_some()
    }

    fn range(&self, preview: &Preview) -> String {
        fill(&fill(self.chrome.text().packets.preview_range, preview.least), preview.greatest)
    }

    fn is_greatest(&self, share: &Money, preview: &Preview) -> bool {
        *share == preview.greatest && preview.least != preview.greatest
    }
}

/// After giving: what to send to friends.
#[derive(Debug, Template)]
#[template(path = "packet_given.html")]
pub struct PacketGivenPage {
    pub chrome: Chrome,
    pub packet: Packet,
    /// Where people claim.
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

/// A text as a picture inside the page itself.
pub(super) fn qr_code(text: &str) -> Option<String> {
    let code = QrCode::new(text).ok()?;
    let colors = (svg::Color("#000"), svg::Color("#fff"));
    let svg = code.render().min_dimensions(200, 200).dark_color(colors.0).light_color(colors.1).build();
    Some(format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg)))
}
