//! Orders of shoppers and their payments: how staff find, read, send, cancel and refund them.

pub mod api;
pub mod page;
pub mod parcels;
pub mod returns;
pub mod search;
pub mod view;

use std::net::IpAddr;

use crate::prelude::*;
use domain::Address;

/// The lists of orders, and what waits in each. `here` is the last word of the path of the one that is shown.
pub(crate) fn tabs(chrome: &Chrome, here: &str) -> Vec<Tab> {
    let (t, pending) = (chrome.text(), &chrome.pending);
    let all = [
        ("", t.tables.all, 0),
        ("parcel=to_pack&held=false", t.parcels.to_pack, pending.to_pack),
        ("parcel=packed&held=false", t.parcels.to_ship, 0),
        ("return=asked", t.returns.to_answer, pending.returns),
        ("return=accepted", t.returns.accepted, 0),
        ("show=approvals", t.approvals.title, pending.approvals),
        ("show=payments", t.cases.tab, pending.cases),
    ];
    let tab =
        |(query, name, count)| Tab::new(chrome, &format!("/admin/orders?{query}"), name, query == here).waiting(count);
    all.map(tab).into()
}

/// The recipient, for a member of the staff who may read it and says why. `None` while the order has no address.
pub async fn reveal_recipient(
    shop: &Shop,
    staff: &Staff<ReadAddresses>,
    client: IpAddr,
    order: &Order,
    reason: &str,
) -> StoreResult<Option<Address>> {
    let recipient = shop.orders.reveal_recipient(staff.actor(), order, reason).await?;
    if recipient.is_some() {
        shop.security.record(SecurityClass::RecipientRevealed, Some(staff.session.user_id), Some(client), "");
    }
    Ok(recipient)
}
