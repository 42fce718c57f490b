//! The console: pages for the shop's staff. Each handler names the permission that it needs
//! ([`Permission`](crate::extract::session::Permission)).

pub mod goods_changes;
pub mod goods_upload;
pub mod sales;

pub mod approvals;
pub mod books;
pub mod bulk;
pub mod calendar;
pub mod categories;
pub mod clusters;
pub mod cockpit;
pub mod computing;
pub mod dead_letters;
pub mod density;
pub mod draws;
pub mod goods;
pub mod invitations;
pub mod journal_csv;
pub mod log;
pub mod mail;
pub mod orders;
pub mod orders_csv;
pub mod packets;
pub mod payment_cases;
pub mod questions;
pub mod queues;
pub mod report;
pub mod review;
pub mod sale_form;
pub mod saved_views;
pub mod search;
pub mod security;
pub mod shop_pages;
pub mod staff;
pub mod step_up;
pub mod users;

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;

use crate::Shop;
use crate::extract::PathIds;
use crate::extract::session::Staff;
use crate::extract::visitor::Visitor;

/// What most pages of the console extract: `P` is the permission that they need.
type StaffVisit<P> = (State<Arc<Shop>>, Staff<P>, Visitor);

/// The same for a page about the one thing whose id is in the path.
type StaffVisitTo<P, Id> = (State<Arc<Shop>>, Staff<P>, Visitor, PathIds<Id>);

/// The form of an action that only has to be confirmed.
#[derive(Deserialize)]
pub struct ConfirmForm {
    #[serde(default)]
    confirm: String,
}

impl ConfirmForm {
    fn is_confirmed(&self) -> bool {
        self.confirm == "yes"
    }
}
