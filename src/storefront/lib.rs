//! What shoppers and visitors see: the JSON API (`docs/api.md`) and the pages, a room per subject. A room has its API in
//! `api`, and its pages in `page` with what their templates show; a small room is one file. The templates are in the
//! folder of `templates/` that has the name of the room. Pages need no scripts. [`routes`] lists every address.

pub mod routes;

// What is on sale, and the ways to get it.
pub mod draws {
    pub mod api;
    pub mod page;
}
pub mod eligibility;
pub mod questions;
pub mod sales;
pub mod waiting_room {
    pub mod api;
    mod moment;
    pub mod page;
}
pub mod waitlist;

// What a shopper has.
pub mod addresses;
pub mod orders {
    pub mod address_page;
    pub mod api;
    pub mod cashier;
    pub mod invoice;
    pub mod page;
    pub mod payments;
    pub mod returns;
    pub mod view;
}
pub mod packets {
    pub mod api;
    pub mod page;
}
pub mod wallet;

// Accounts.
pub mod account {
    pub mod api;
    pub mod mail_address;
    pub mod page;
    pub mod push_api;
}
pub mod passkeys;
pub mod recovery {
    pub mod api;
    pub mod page;
}
pub mod sign_in {
    pub mod api;
    pub mod by_mail;
    pub mod contact;
    pub mod page;
}

// The shop itself, files, and pages that are the same for every visitor.
pub mod site;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use domain::{OrderId, SaleId};
use web::Shop;
use web::extract::{ClientDevice, PathIds, SalePath, SignedIn, State, Visitor};

/// What most handlers of a signed-in user extract.
pub(crate) type UserCall = (State<Arc<Shop>>, SignedIn);

/// What most pages of a signed-in user extract.
pub(crate) type UserVisit = (State<Arc<Shop>>, SignedIn, Visitor);

/// What most handlers of a signed-in user in a sale extract.
pub(crate) type SaleCall = (State<Arc<Shop>>, SignedIn, SalePath);

/// What most pages extract on which a visitor gets into an account.
pub(crate) type DeviceVisit = (State<Arc<Shop>>, ClientDevice, Visitor);

/// What most handlers and pages of an order extract.
pub(crate) type OrderCall = (State<Arc<Shop>>, SignedIn, PathIds<(SaleId, OrderId)>);
pub(crate) type OrderVisit = (State<Arc<Shop>>, SignedIn, Visitor, PathIds<(SaleId, OrderId)>);

/// A response whose JSON text is written already.
pub(crate) fn json_response(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
