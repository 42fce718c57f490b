//! Red packets: the list, funding a packet from the shop, one packet, stopping it. For programs, and the console's pages.

use crate::lists::saved_views::{ColumnLink, ListBar, list_bar};
use crate::prelude::*;
use domain::PacketId;
use domain::ledger::money;
use domain::packet::{Giver, PacketPhase};
use engine::packets::PacketView;
use store::StopOutcome;
use web::packets::{
    GivenPacketResponse, NewPacket, PacketFields, PacketForm, PacketFormOutcome, PacketJson, PacketList, PacketSource,
    give_packet, qr_code,
};
use web::shared::approvals::OneApproval;
use web::shared::pagination::BeforeQuery;
use web::shared::paths::packet_share_url;

#[derive(Serialize, JsonSchema)]
struct OnePacket {
    packet: PacketJson,
}

/// All packets, newest first.
pub async fn list((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<BeforeQuery>) -> Answer {
    let page = shop.packets.all(query.before.read("before")?, LARGE_PAGE_SIZE).await?;
    let packets: Vec<PacketJson> = page.items.into_iter().map(|view| PacketJson::of(view, &shop)).collect();
    Ok(private(PacketList { packets, next: page.next }))
}

/// Gives a packet from the shop, of up to a million shares.
pub async fn fund(
    (State(shop), staff): StaffCall<ManageSales>,
    Repeatable(request): Repeatable,
    Json(new): Json<NewPacket>,
) -> Answer {
    if new.from == Some(PacketSource::Wallet) {
        return Err(Problem::invalid_field("from", "bad_text"));
    }
    give_packet(&shop, staff.shop_purse(), new.request(request)).await
}

/// Ends a packet. The unclaimed amount returns to its giver.
pub async fn stop((State(shop), staff, PathIds(id)): StaffCallTo<ManageSales, PacketId>) -> Answer {
    match shop.packets.stop(id, staff.actor()).await? {
        StopOutcome::Done(_) => {}
        StopOutcome::Over(_) => return Err(Code::PacketExpired.into()),
        StopOutcome::NoSuchPacket => return Err(Code::NoSuchPacket.into()),
    }
    let view = shop.packets.view(id).await?.ok_or(Code::NoSuchPacket)?;
    Ok(Json(OnePacket { packet: PacketJson::of(view, &shop) }).into_response())
}

fn packet_path(locale: Locale, id: PacketId) -> String {
    format!("/admin/packets/{id}?lang={locale}")
}

pub async fn page(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(query): Query<BeforeQuery>,
) -> Answer {
    let page = shop.packets.all(query.before.read("before")?, LARGE_PAGE_SIZE).await?;
    let bar = list_bar(&shop, staff.session.user_id, visitor.locale, ConsoleList::Packets, raw.as_deref()).await?;
    let page = AdminPacketsPage {
        bar,
        chrome: visitor.chrome(),
        packets: page.items,
        now: shop.clock.now(),
        older: page.next.map(|id| id.to_string()),
        is_later: query.before.is_given(),
    };
    personal(StatusCode::OK, &page)
}

/// The form of a packet from the shop.
pub async fn blank(_: Staff<ManageSales>, visitor: Visitor) -> Answer {
    personal(StatusCode::OK, &AdminPacketForm { chrome: visitor.chrome(), form: PacketForm::blank() })
}

pub async fn fund_by_form(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    Form(form): Form<PacketForm>,
) -> Answer {
    match form.submit(&shop, staff.shop_purse()).await? {
        PacketFormOutcome::Given(id) => Ok(see_other(&format!("{}&done=fund", packet_path(visitor.locale, id)))),
        PacketFormOutcome::Waits => {
            Ok(see_other(&format!("/admin/orders?show=approvals&lang={}&done=packet", visitor.locale)))
        }
        PacketFormOutcome::ShowAgain(status, form) => {
            let chrome = visitor.chrome_at(format!("/admin/packets/new?lang={}", visitor.locale));
            personal(status, &AdminPacketForm { chrome, form: *form })
        }
    }
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, PacketId>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    render(&shop, &visitor, StatusCode::OK, id, done, None).await
}

async fn render(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    id: PacketId,
    done: String,
    problem: Option<&'static str>,
) -> Answer {
    let view = shop.packets.view(id).await?.ok_or(Code::NoSuchPacket)?;
    let chrome = visitor.chrome_at(packet_path(visitor.locale, id));
    let phase = view.packet.phase(shop.clock.now());
    personal(status, &AdminPacketPage { chrome, view, phase, link: packet_share_url(shop, id), done, problem })
}

pub async fn stop_by_form(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ManageSales, PacketId>,
    Form(form): Form<ConfirmForm>,
) -> Answer {
    if !form.is_confirmed() {
        let refused = StatusCode::UNPROCESSABLE_ENTITY;
        return render(&shop, &visitor, refused, id, String::new(), Some("not_confirmed")).await;
    }
    match shop.packets.stop(id, staff.actor()).await? {
        StopOutcome::Done(_) => Ok(see_other(&format!("{}&done=stop", packet_path(visitor.locale, id)))),
        StopOutcome::Over(_) => {
            let code = Code::PacketExpired;
            render(&shop, &visitor, code.status(), id, String::new(), Some(code.as_str())).await
        }
        StopOutcome::NoSuchPacket => Err(Code::NoSuchPacket.into()),
    }
}

/// All packets, newest first.
#[derive(Debug, Template)]
#[template(path = "packets/console_packets.html")]
struct AdminPacketsPage {
    chrome: Chrome,
    packets: Vec<PacketView>,
    now: Timestamp,
    /// For `&before=`; `None` on the last page.
    older: Option<String>,
    is_later: bool,
    bar: ListBar,
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
struct AdminPacketForm {
    chrome: Chrome,
    form: PacketForm,
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
struct AdminPacketPage {
    chrome: Chrome,
    view: PacketView,
    phase: PacketPhase,
    /// The URL at which shares are claimed.
    link: String,
    /// The action that the page reports as done: `fund`, `stop`.
    done: String,
    /// A problem code.
    problem: Option<&'static str>,
}

impl AdminPacketPage {
    /// A QR code of the link.
    fn picture(&self) -> Option<String> {
        qr_code(&self.link)
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
