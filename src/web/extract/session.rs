//! What a handler demands of whoever calls it.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::accounts::Session;
use crate::store::Role;
use crate::web::Shop;
use crate::web::problem::{Code, Problem};

/// Somebody who is signed in. Programs are told 401 otherwise; `guard` shows people where to log in.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Session);

impl FromRequestParts<Arc<Shop>> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        shop.accounts.session(&parts.headers).map(SignedIn).ok_or(Problem::new(Code::NotSignedIn))
    }
}

/// What a member of the staff may do.
pub trait Duty: Send + Sync + 'static {
    const ROLES: &'static [Role];
}

macro_rules! duties {
    ($($(#[$about:meta])* $duty:ident: $($role:ident),+;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy)]
        pub struct $duty;

        impl Duty for $duty {
            const ROLES: &'static [Role] = &[$(Role::$role),+];
        }
    )+};
}

duties! {
    /// Look at everything in the console.
    Look: Admin, Operator, Support, Viewer;
    /// Start, stop and change sales, goods, and what happens to messages.
    RunSales: Admin, Operator;
    /// Change orders and accounts of shoppers.
    HelpShoppers: Admin, Support;
    /// Appoint staff.
    Own: Admin;
}

/// A member of the staff with a duty, confirmed by the database. For shoppers and strangers the address does not exist;
/// staff without the duty are told so.
#[derive(Debug, Clone)]
pub struct Staff<D: Duty> {
    pub session: Session,
    role: Role,
    duty: PhantomData<D>,
}

impl<D: Duty> Staff<D> {
    /// The name under which the audit log knows them.
    pub fn actor(&self) -> &str {
        &self.session.username
    }

    /// Whether they have another duty too.
    pub fn may<O: Duty>(&self) -> bool {
        O::ROLES.contains(&self.role)
    }
}

impl<D: Duty> FromRequestParts<Arc<Shop>> for Staff<D> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let nowhere = || Problem::new(Code::NotFound);
        let session = shop.accounts.session(&parts.headers).ok_or_else(nowhere)?;
        let user = shop.accounts.staff(&session).await?.ok_or_else(nowhere)?;
        shop.accounts.seen(&session);
        match D::ROLES.contains(&user.role) {
            _ if user.must_change_password => Err(Problem::new(Code::MustChangePassword)),
            true => Ok(Staff { session, role: user.role, duty: PhantomData }),
            false => Err(Problem::new(Code::NotAllowed)),
        }
    }
}
