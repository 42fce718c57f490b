//! The staff's API: the actions of the console, for programs.

pub mod categories;
pub mod goods;
pub mod sale_definition;
pub mod sales;

pub mod draws;

pub mod invitations;

pub mod live;

pub mod dead_letters;

pub mod approvals;

pub mod clusters;

pub mod orders;

pub mod order_changes;

pub mod packets;

pub mod questions;

pub mod queues;

pub mod payment_cases;

pub mod accounts;

pub mod books;

pub mod audit_log;

pub mod security;

use std::sync::Arc;

use axum::extract::State;

use crate::Shop;
use crate::extract::PathIds;
use crate::extract::session::Staff;

/// What most handlers for the staff extract: `P` is the permission that they need.
type StaffCall<P> = (State<Arc<Shop>>, Staff<P>);

/// The same for the one thing whose id is in the path.
type StaffCallTo<P, Id> = (State<Arc<Shop>>, Staff<P>, PathIds<Id>);
