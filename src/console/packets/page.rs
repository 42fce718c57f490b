//! The console's pages of red packets: the list, funding a packet from the shop, one packet, stopping it.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::lists::saved_views::list_bar;
use crate::packets::view::{AdminPacketForm, AdminPacketPage, AdminPacketsPage};
use crate::{ConfirmForm, StaffVisit, StaffVisitTo};
use domain::{ConsoleList, Locale, PacketId};
use store::StopOutcome;
use web::Shop;
use web::extract::session::{ManageSales, Staff, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::packets::form::{PacketForm, PacketFormOutcome};
use web::problem::{Code, Problem};
use web::shared::NoticeQuery;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::paths::packet_share_url;
use web::shared::response::{personal, see_other};

fn packet_path(locale: Locale, id: PacketId) -> String {
    format!("/admin/packets/{id}?lang={locale}")
}

#[derive(Deserialize)]
pub struct AdminPacketsQuery {
    #[serde(default)]
    before: Cursor,
}

pub async fn list(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(query): Query<AdminPacketsQuery>,
) -> Result<Response, Problem> {
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
pub async fn new(_: Staff<ManageSales>, visitor: Visitor) -> Result<Response, Problem> {
    personal(StatusCode::OK, &AdminPacketForm { chrome: visitor.chrome(), form: PacketForm::blank() })
}

pub async fn fund(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    Form(form): Form<PacketForm>,
) -> Result<Response, Problem> {
    match form.submit(&shop, staff.shop_purse()).await? {
        PacketFormOutcome::Given(id) => Ok(see_other(&format!("{}&done=fund", packet_path(visitor.locale, id)))),
        PacketFormOutcome::Waits => {
            Ok(see_other(&format!("/admin/orders/approvals?lang={}&done=packet", visitor.locale)))
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
) -> Result<Response, Problem> {
    page(&shop, &visitor, StatusCode::OK, id, done, None).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    id: PacketId,
    done: String,
    problem: Option<&'static str>,
) -> Result<Response, Problem> {
    let view = shop.packets.view(id).await?.ok_or(Code::NoSuchPacket)?;
    let chrome = visitor.chrome_at(packet_path(visitor.locale, id));
    let phase = view.packet.phase(shop.clock.now());
    personal(status, &AdminPacketPage { chrome, view, phase, link: packet_share_url(shop, id), done, problem })
}

pub async fn stop(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ManageSales, PacketId>,
    Form(form): Form<ConfirmForm>,
) -> Result<Response, Problem> {
    if !form.is_confirmed() {
        let refused = StatusCode::UNPROCESSABLE_ENTITY;
        return page(&shop, &visitor, refused, id, String::new(), Some("not_confirmed")).await;
    }
    match shop.packets.stop(id, staff.actor()).await? {
        StopOutcome::Done(_) => Ok(see_other(&format!("{}&done=stop", packet_path(visitor.locale, id)))),
        StopOutcome::Over(_) => {
            let code = Code::PacketExpired;
            page(&shop, &visitor, code.status(), id, String::new(), Some(code.as_str())).await
        }
        StopOutcome::NoSuchPacket => Err(Code::NoSuchPacket.into()),
    }
}
