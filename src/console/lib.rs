//! The console: pages and API for the shop's staff, a room per subject. A room has its API in `api`, and its pages in
//! `page` with what their templates show; a small room is one file. The templates are in the folder of `templates/`
//! that has the name of the room. Each handler names the permission that it needs
//! ([`Permission`](web::extract::session::Permission)). [`routes`] lists every address.

pub mod routes;

// The catalogue and its sales.
pub mod categories;
pub mod goods {
    pub mod api;
    pub mod import;
    pub mod page;
    pub mod upload;
}
pub mod invitations;
pub mod sales {
    pub mod api;
    pub mod calendar;
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
pub mod draws;
pub mod linked_accounts {
    pub mod groups;
    pub mod holds;
}
pub mod report {
    pub mod computing;
    pub mod page;
}
pub mod waiting_room;

// Orders and money.
pub mod approvals;
pub mod books;
pub mod front;
pub mod invoices;
pub mod orders;
pub mod packets;
pub mod payment_cases;
pub mod shipping;

// People.
pub mod questions;
pub mod step_up;
pub mod tokens;
pub mod users {
    pub mod api;
    pub mod mail;
    pub mod page;
    pub mod staff;
}

// The shop, and what happened in it.
pub mod dead_letters;
pub mod log;
pub mod security;
pub mod site;
pub mod webhooks {
    pub mod api;
    pub mod page;
}

// What lists have in common.
pub mod lists {
    pub mod bulk;
    pub mod csv;
    pub mod saved_views;
    pub mod search;
}

#[cfg(test)]
mod view_tests;

use axum::http::Uri;

use prelude::*;
use web::extract::Permission;

/// What most handlers use: a file of a room imports all of it, and by name what is special about its subject.
pub(crate) mod prelude {
    pub(crate) use std::collections::{BTreeMap, HashMap};
    pub(crate) use std::str::FromStr;
    pub(crate) use std::sync::Arc;
    pub(crate) use std::time::Duration;

    pub(crate) use askama::Template;
    pub(crate) use axum::Extension;
    pub(crate) use axum::extract::RawQuery;
    pub(crate) use axum::extract::multipart::{Multipart, MultipartRejection};
    pub(crate) use axum::http::header::ETAG;
    pub(crate) use axum::http::{HeaderMap, StatusCode};
    pub(crate) use axum::response::{IntoResponse, Response};
    pub(crate) use futures::stream;
    pub(crate) use jiff::Timestamp;
    pub(crate) use jiff::tz::TimeZone;
    pub(crate) use schemars::JsonSchema;
    pub(crate) use serde::{Deserialize, Serialize};
    pub(crate) use serde_json::{Value, json};
    pub(crate) use tracing::warn;
    pub(crate) use uuid::Uuid;

    pub(crate) use crate::{
        ConfirmForm, ReasonForm, RefusedForm, SaveNotice, SavedQuery, StaffCall, StaffCallTo, StaffVisit, StaffVisitTo,
        Tab, answers, handlers, inputs, label, owner_tabs, read_field,
    };
    pub(crate) use domain::wire::wire_enum;
    pub(crate) use domain::{
        AuditAction, Bilingual, CategoryId, ConsoleList, Currency, Goods, GoodsId, Locale, ModeName, Money, Order,
        OrderId, OrderNumber, OrderStatus, Page, ParcelState, PaymentStatus, Role, Sale, SaleId, SaleMode, SaleState,
        SecurityClass, UserId,
    };
    pub(crate) use pages::Chrome;
    pub(crate) use pages::filters::{self, grouped};
    pub(crate) use store::{RequestId, Store, StoreError, StoreResult};
    pub(crate) use web::extract::{
        ClientAddress, Form, Json, LongForm, ManageSales, ManageStaff, PathIds, Query, ReadAddresses, Staff, State,
        SupportShoppers, ViewConsole, Visitor, entity_tag, expected_versions,
    };
    pub(crate) use web::shared::paths::{console_link, link_query};
    pub(crate) use web::shared::validation::{optional, price, time};
    pub(crate) use web::{
        Answer, Cache, Code, Cursor, DEFAULT_PAGE_SIZE, FieldError, FieldProblem, LARGE_PAGE_SIZE, NotKept,
        NoticeQuery, Problem, Repeatable, Shop, created, error_text, goods_name_and_cover, no_content, personal,
        private, see_other, versioned,
    };
    pub(crate) use words::{Text, field_error, fill, problem};
}

/// What most pages of the console extract: `P` is the permission that they need.
pub(crate) type StaffVisit<P> = (State<Arc<Shop>>, Staff<P>, Visitor);

/// The same for a page about the one thing whose id is in the path.
pub(crate) type StaffVisitTo<P, Id> = (State<Arc<Shop>>, Staff<P>, Visitor, PathIds<Id>);

/// A tab of a page: a list beside others, or a page of a sale.
#[derive(Debug)]
pub struct Tab {
    pub(crate) path: String,
    pub(crate) name: &'static str,
    pub(crate) count: Option<String>,
    pub(crate) is_here: bool,
}

impl Tab {
    /// A tab of the console without a count. `path` has no language.
    pub(crate) fn new(chrome: &Chrome, path: &str, name: &'static str, is_here: bool) -> Tab {
        Tab { path: console_link(path, chrome.locale), name, count: None, is_here }
    }

    /// The same with the number of items that wait there, unless there is none.
    pub(crate) fn waiting(self, count: i64) -> Tab {
        Tab { count: (count > 0).then(|| grouped(count)), ..self }
    }
}

/// The tabs of a page with two lists, of which only owners see the second.
pub(crate) fn two_tabs(chrome: &Chrome, page: &str, names: &[&'static str; 2], show: &str) -> Vec<Tab> {
    owner_tabs(chrome, page, names[0], &[(show, names[1])])
}

/// The tabs of a page of which only owners see more than the first: values of `show`, and names.
pub(crate) fn owner_tabs(
    chrome: &Chrome,
    page: &str,
    first: &'static str,
    others: &[(&str, &'static str)],
) -> Vec<Tab> {
    if !chrome.owns() {
        return Vec::new();
    }
    let is_here = |show: &str| chrome.path.contains(&format!("show={show}"));
    let mut tabs = vec![Tab::new(chrome, page, first, !others.iter().any(|(show, _)| is_here(show)))];
    tabs.extend(
        others.iter().map(|(show, name)| Tab::new(chrome, &format!("{page}?show={show}"), name, is_here(show))),
    );
    tabs
}

/// Redirects the address of a page that became a tab of another page. The rest of the query stays.
pub(crate) async fn moved<P: Permission>(_: StaffVisit<P>, uri: Uri) -> Response {
    let to = match uri.path() {
        "/admin/orders/approvals" => "/admin/orders?show=approvals",
        "/admin/orders/payments" => "/admin/orders?show=payments",
        "/admin/orders/settlements" => "/admin/orders/books?show=settlements",
        "/admin/staff" => "/admin/users?show=staff",
        "/admin/security" => "/admin/log?show=security",
        "/admin/mail" => "/admin/system?show=mail",
        _ => "/admin/system",
    };
    let separator = if to.contains('?') { '&' } else { '?' };
    see_other(&uri.query().map_or_else(|| to.to_owned(), |query| format!("{to}{separator}{query}")))
}

/// How the saving of a form went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaveNotice {
    Saved,
    /// Something is wrong with what was entered.
    Wrong,
    /// Somebody else saved since the form was shown. It has the current version now, so sending it again replaces that.
    ChangedMeanwhile,
}

impl SaveNotice {
    pub(crate) fn status(notice: Option<SaveNotice>) -> StatusCode {
        match notice {
            Some(SaveNotice::Wrong) => StatusCode::UNPROCESSABLE_ENTITY,
            Some(SaveNotice::ChangedMeanwhile) => StatusCode::CONFLICT,
            Some(SaveNotice::Saved) | None => StatusCode::OK,
        }
    }

    /// The words for it, and whether it reports success.
    pub(crate) fn words(self, [saved, wrong, changed]: [&'static str; 3]) -> (&'static str, bool) {
        match self {
            SaveNotice::Saved => (saved, true),
            SaveNotice::Wrong => (wrong, false),
            SaveNotice::ChangedMeanwhile => (changed, false),
        }
    }
}

inputs! {
    /// The form of an action that only has to be confirmed.
    ConfirmForm { confirm }
    /// The form of an action that has to be confirmed, for a reason.
    ReasonForm { reason, confirm }
    /// The query of a page after a redirect: what was saved. Unknown values show nothing.
    SavedQuery { saved }
}

impl ConfirmForm {
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirm == "yes"
    }
}

/// A form of a list that was refused: the id that it is about, its verb, and the reason as entered.
#[derive(Debug)]
pub(crate) struct RefusedForm(pub(crate) String, pub(crate) &'static str, pub(crate) String);

impl RefusedForm {
    pub(crate) fn entered(&self, id: &str, verb: &str) -> Option<&str> {
        (self.0 == id && self.1 == verb).then_some(self.2.as_str())
    }
}

/// What most handlers for the staff extract: `P` is the permission that they need.
pub(crate) type StaffCall<P> = (State<Arc<Shop>>, Staff<P>);

/// The same for the one thing whose id is in the path.
pub(crate) type StaffCallTo<P, Id> = (State<Arc<Shop>>, Staff<P>, PathIds<Id>);

/// The value of a field that may be empty. A text that cannot be read is an error with this code.
pub(crate) fn read_field<T>(
    errors: &mut Vec<FieldError>,
    (field, code): (&'static str, &'static str),
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let read = optional(text, parse);
    errors.extend(read.is_none().then_some(FieldError::new(field, code)));
    read.flatten()
}

/// Defines handlers that share one function. Each passes on what it extracts, and a value of its own.
macro_rules! handlers {
    ($shared:ident $extracted:tt $($name:ident $value:expr;)+) => {
        $($crate::handlers!(@ $shared $extracted $name $value);)+
    };
    (@ $shared:ident($($part:ident: $type:ty),+) $name:ident $value:expr) => {
        pub async fn $name($($part: $type),+) -> web::Answer {
            $shared($($part),+, $value).await
        }
    };
}
pub(crate) use handlers;

/// Defines the forms and queries of pages. A field without a type is a text as it was entered. All fields may be missing.
macro_rules! inputs {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident $(: $type:ty)?),+ $(,)? })+) => { $(
        #[derive(Debug, Default, Clone, serde::Deserialize)]
        #[serde(default)]
        $(#[$about])*
        pub struct $name {
            $($(#[$field_about])* pub(crate) $field: $crate::inputs!(@ $($type)?),)+
        }
    )+ };
    (@) => { String };
    (@ $type:ty) => { $type };
}
pub(crate) use inputs;

/// Defines bodies of answers that only name what they have. `next`, behind a semicolon, is the cursor of a list.
macro_rules! answers {
    ($($(#[$about:meta])* $vis:vis $name:ident { $($field:ident: $type:ty),+ $(; next: $next:ty)? })+) => { $(
        #[derive(serde::Serialize, schemars::JsonSchema)]
        $(#[$about])*
        $vis struct $name {
            $($field: $type,)+
            $(
                /// For `?before=`; `null` on the last page.
                next: Option<$next>,
            )?
        }
    )+ };
}
pub(crate) use answers;

/// The label of a field.
pub(crate) fn label<'a>(chrome: &Chrome, field: &'a str) -> &'a str {
    let t = chrome.text();
    let mut names = t.admin.entries().chain(t.waiting_room_console.entries()).chain(t.eligibility_console.entries());
    names.find(|(key, _)| *key == field).map_or(field, |(_, words)| words)
}
