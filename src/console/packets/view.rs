//! The console's pages of red packets.

use askama::Template;
use jiff::Timestamp;

use crate::lists::saved_views_view::{ColumnLink, ListBar};
use domain::Money;
use domain::packet::{Giver, PacketPhase};
use domain::wallet::money;
use engine::packets::PacketView;
use pages::filters;
use web::packets::form::PacketForm;
use web::packets::view::PacketFields;
use web::packets::view::qr_code;
use web::shared::FieldError;
use web::views::Chrome;
use words::{field_error, problem};

/// All packets, newest first.
#[derive(Debug, Template)]
#[template(path = "packets/console_packets.html")]
pub struct AdminPacketsPage {
    pub chrome: Chrome,
    pub packets: Vec<PacketView>,
    pub now: Timestamp,
    /// For `&before=`; `None` on the last page.
    pub older: Option<String>,
    pub is_later: bool,
    pub bar: ListBar,
}

/// The name of the giver.
fn giver<'a>(chrome: &Chrome, view: &'a PacketView) -> &'a str {
    let t = &chrome.text().packets;
    match (view.packet.giver, &view.giver) {
        (Giver::Shop, _) => t.shop,
        (_, Some(name)) => name,
        (_, None) => t.deleted_user,
    }
}

fn greeting<'a>(chrome: &Chrome, view: &'a PacketView) -> &'a str {
    if view.packet.greeting.is_empty() { chrome.text().packets.default_greeting } else { &view.packet.greeting }
}

impl AdminPacketsPage {
    fn columns(&self) -> Vec<ColumnLink> {
        let t = &self.chrome.text().packets;
        self.bar.columns(&[
            ("giver", t.col_giver),
            ("phase", t.col_phase),
            ("claimed", t.col_claimed),
            ("total", t.col_total),
            ("opens", t.col_opens),
        ])
    }

    fn giver<'a>(&self, view: &'a PacketView) -> &'a str {
        giver(&self.chrome, view)
    }

    fn greeting<'a>(&self, view: &'a PacketView) -> &'a str {
        greeting(&self.chrome, view)
    }

    fn phase(&self, view: &PacketView) -> PacketPhase {
        view.packet.phase(self.now)
    }

    fn total(&self, view: &PacketView) -> Money {
        money(view.packet.total)
    }
}

/// The form of a packet from the shop.
#[derive(Debug, Template)]
#[template(path = "packets/console_packet_form.html")]
pub struct AdminPacketForm {
    pub chrome: Chrome,
    pub form: PacketForm,
}

impl AdminPacketForm {
    fn fields(&self) -> PacketFields<'_> {
        PacketFields { chrome: &self.chrome, form: &self.form, is_shop: true }
    }

    fn words(&self, error: &FieldError) -> &'static str {
        field_error(self.chrome.locale, error.code)
    }
}

/// One packet with its claims so far.
#[derive(Debug, Template)]
#[template(path = "packets/console_packet.html")]
pub struct AdminPacketPage {
    pub chrome: Chrome,
    pub view: PacketView,
    pub phase: PacketPhase,
    /// The URL at which shares are claimed.
    pub link: String,
    /// The action that the page reports as done: `fund`, `stop`.
    pub done: String,
    /// A problem code.
    pub problem: Option<&'static str>,
}

impl AdminPacketPage {
    /// A QR code of the link.
    fn picture(&self) -> Option<String> {
        qr_code(&self.link)
    }

    /// The middle label of the plot's axis.
    fn half(&self) -> i64 {
        self.view.packet.count / 2
    }

    fn giver(&self) -> &str {
        giver(&self.chrome, &self.view)
    }

    fn greeting(&self) -> &str {
        greeting(&self.chrome, &self.view)
    }

    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().packets;
        match self.done.as_str() {
            "fund" => Some(t.done_fund),
            "stop" => Some(t.done_stop),
            _ => None,
        }
    }

    fn error_text(&self) -> Option<&'static str> {
        self.problem.map(|code| problem(code).text(self.chrome.locale))
    }

    fn may_stop(&self) -> bool {
        self.chrome.runs_sales() && matches!(self.phase, PacketPhase::Upcoming | PacketPhase::Open)
    }

    fn total(&self) -> Money {
        money(self.view.packet.total)
    }

    fn claimed_amount(&self) -> Money {
        money(self.view.packet.claimed_amount)
    }

    fn returned(&self) -> Option<Money> {
        self.view.packet.settled_at.map(|_| money(self.view.packet.left()))
    }

    fn stop_path(&self) -> String {
        format!("/admin/packets/{}/stop", self.view.packet.id)
    }
}
