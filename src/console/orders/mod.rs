use crate::{Chrome, Tab};

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

pub mod api;
pub mod changes_api;
pub mod csv;
pub mod page;
pub mod parcels;
pub mod returns;
pub mod reveal;
pub mod search;
pub mod view;
