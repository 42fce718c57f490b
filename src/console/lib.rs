//! The console: pages and API for the shop's staff, a room per subject. A room has its API in `api`, and its pages in
//! `page` with what their templates show; the templates are in the folder of `templates/` that has the name of the
//! room. Each handler names the permission that it needs ([`Permission`](web::extract::session::Permission)). [`routes`]
//! lists every address.

pub mod routes;

// The catalogue and its sales.
pub mod categories {
    pub mod api;
    pub mod page;
}
pub mod goods {
    pub mod api;
    pub mod page;
    pub mod upload;
}
pub mod invitations {
    pub mod api;
    pub mod page;
}
pub mod sales {
    pub mod api;
    pub mod calendar;
    pub mod definition_api;
    pub mod form;
    pub mod form_input;
    pub mod overview;
    pub mod page;
    pub mod view;
}

// A sale that runs, and one that is over.
pub mod cockpit {
    pub mod live;
    pub mod page;
}
pub mod draws {
    pub mod api;
    pub mod page;
}
pub mod linked_accounts {
    pub mod api;
    pub mod holds;
    pub mod page;
}
pub mod report {
    pub mod computing;
    pub mod page;
}
pub mod waiting_room;

// Orders and money.
pub mod approvals {
    pub mod api;
    pub mod decisions;
    pub mod page;
}
pub mod books;
pub mod invoices;
pub mod orders;
pub mod packets {
    pub mod api;
    pub mod page;
}
pub mod payment_cases;
pub mod shipping;

// People.
pub mod questions {
    pub mod api;
    pub mod page;
}
pub mod step_up;
pub mod users {
    pub mod api;
    pub mod mail;
    pub mod page;
    pub mod staff;
}

// The shop, and what happened in it.
pub mod dead_letters {
    pub mod api;
    pub mod page;
}
pub mod log {
    pub mod api;
    pub mod fields;
    pub mod page;
    pub mod words;
}
pub mod security {
    pub mod api;
    pub mod page;
}
pub mod site;

// What lists have in common.
pub mod lists {
    pub mod bulk;
    pub mod csv;
    pub mod saved_views;
    pub mod search;
}

#[cfg(test)]
mod view_tests;

use std::sync::Arc;

use axum::extract::State;
use pages::Chrome;
use serde::Deserialize;

use web::Shop;
use web::extract::PathIds;
use web::extract::session::Staff;
use web::extract::visitor::Visitor;

/// What most pages of the console extract: `P` is the permission that they need.
pub(crate) type StaffVisit<P> = (State<Arc<Shop>>, Staff<P>, Visitor);

/// The same for a page about the one thing whose id is in the path.
pub(crate) type StaffVisitTo<P, Id> = (State<Arc<Shop>>, Staff<P>, Visitor, PathIds<Id>);

/// The form of an action that only has to be confirmed.
#[derive(Deserialize)]
pub struct ConfirmForm {
    #[serde(default)]
    pub(crate) confirm: String,
}

impl ConfirmForm {
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirm == "yes"
    }
}

/// What most handlers for the staff extract: `P` is the permission that they need.
pub(crate) type StaffCall<P> = (State<Arc<Shop>>, Staff<P>);

/// The same for the one thing whose id is in the path.
pub(crate) type StaffCallTo<P, Id> = (State<Arc<Shop>>, Staff<P>, PathIds<Id>);

/// The label of a field.
pub(crate) fn label<'a>(chrome: &Chrome, field: &'a str) -> &'a str {
    let t = chrome.text();
    let mut names = t.admin.entries().chain(t.waiting_room_console.entries()).chain(t.eligibility_console.entries());
    names.find(|(key, _)| *key == field).map_or(field, |(_, words)| words)
}
