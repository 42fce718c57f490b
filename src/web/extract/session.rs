//! Extractors of the session, and of the permission of staff.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use boxed::boxed;

use crate::extract::client::client_address;
use crate::extract::program::{check_scope, program_of};
use crate::{Code, Problem, Shop};
use accounts::{Program, Session};
use domain::{Role, Scope, SecurityClass, UserId};
use engine::packets::Purse;

/// A signed-in user. Without a session the API responds 401, and [`crate::middleware`] redirects pages to the
/// login.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Session);

impl FromRequestParts<Arc<Shop>> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        shop.accounts.session(&parts.headers).map(SignedIn).ok_or(Code::NotSignedIn.into())
    }
}

/// A permission, which some roles of the staff have, and tokens with the scope of this name.
pub trait Permission: Send + Sync + 'static {
    const ROLES: &'static [Role];
    const SCOPE: Scope;
}

macro_rules! permissions {
    ($($(#[$about:meta])* $permission:ident: $($role:ident),+;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy)]
        pub struct $permission;

        impl Permission for $permission {
            const ROLES: &'static [Role] = &[$(Role::$role),+];
            const SCOPE: Scope = Scope::$permission;
        }
    )+};
}

permissions! {
    /// Read everything in the console.
    ViewConsole: Admin, Operator, Support, Viewer;
    /// Start, stop and change sales and goods; replay and discard dead letters.
    ManageSales: Admin, Operator;
    /// Change orders and accounts of shoppers.
    SupportShoppers: Admin, Support;
    /// Answer and hide questions of shoppers about goods.
    AnswerQuestions: Admin, Operator, Support;
    /// Read names, telephone numbers and addresses of recipients in full: one order's for a reason, many in an export.
    /// Everywhere else they are masked.
    ReadAddresses: Admin, Operator, Support;
    /// Decide what waits for a second person. What is decided needs its own permission as well.
    DecideApprovals: Admin, Operator, Support;
    /// Read the books and export them.
    ViewBooks: Admin;
    /// Read the security events.
    ViewSecurity: Admin;
    /// Read the messages that the shop sends. Without a mail server they contain the links that open accounts.
    ReadMail: Admin;
    /// Appoint and dismiss staff.
    ManageStaff: Admin;
    /// Send events of the shop to other programs, and read the secrets that sign them.
    ManageWebhooks: Admin;
}

/// A member of the staff with a permission, confirmed by the database. Shoppers and visitors get 404; staff without the
/// permission get 403. A page leads visitors to the log-in, because the README and the staff's bookmarks lead to pages.
///
/// Or a program: its token has the permission as a scope, and the account that made it still has the role. Then the
/// session has this account and the name of the token.
#[derive(Debug, Clone)]
pub struct Staff<P: Permission> {
    pub session: Session,
    role: Role,
    program: Option<Arc<Program>>,
    permission: PhantomData<P>,
}

impl<P: Permission> Staff<P> {
    /// The name in the audit log.
    pub fn actor(&self) -> &str {
        &self.session.username
    }

    /// The shop's purse, as far as the role may spend from it.
    pub fn shop_purse(&self) -> Purse<'_> {
        Purse::shop(self.session.user_id, self.actor(), self.role)
    }

    /// Whether the role has another permission as well, and the token of a program the scope.
    pub fn may<O: Permission>(&self) -> bool {
        O::ROLES.contains(&self.role) && self.program.as_ref().is_none_or(|program| program.has(O::SCOPE))
    }

    /// Refuses a program, where what it does would outlive its token.
    pub fn in_person(&self) -> Result<(), Problem> {
        match self.program.is_some() {
            true => Err(Problem::new(Code::NotAllowed).detail("A person does this in the console, not a program.")),
            false => Ok(()),
        }
    }
}

impl<P: Permission> FromRequestParts<Arc<Shop>> for Staff<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let (session, role, program) = permitted(parts, shop, P::ROLES, P::SCOPE).await?;
        Ok(Staff { session, role, program, permission: PhantomData })
    }
}

/// The session and role of a staff member with one of these roles, or of a program with this scope, which has the role
/// of the owner who made its token.
#[boxed]
async fn permitted(
    parts: &Parts,
    shop: &Shop,
    roles: &'static [Role],
    scope: Scope,
) -> Result<(Session, Role, Option<Arc<Program>>), Problem> {
    if let Some(program) = program_of(&parts.extensions) {
        check_scope(program, scope)?;
        return match roles.contains(&program.role()) {
            true => Ok((program.session().clone(), program.role(), Some(program.clone()))),
            false => Err(Code::NotAllowed.into()),
        };
    }
    let refused = |account, as_what, code| refused(parts, shop, account, as_what, code);
    let Some(session) = shop.accounts.session(&parts.headers) else {
        let is_page = parts.method.is_safe() && !parts.uri.path().starts_with("/api/");
        return Err(refused(None, "visitor", if is_page { Code::NotSignedIn } else { Code::NotFound }));
    };
    let account = Some(session.user_id);
    let Some(user) = shop.accounts.staff(&session).await? else {
        return Err(refused(account, "not_staff", Code::NotFound));
    };
    shop.accounts.seen(&session);
    if let Some(duty) = shop.accounts.duty_of(&user) {
        return Err(duty.into());
    }
    match roles.contains(&user.role) {
        true => Ok((session, user.role, None)),
        false => Err(refused(account, user.role.as_str(), Code::NotAllowed)),
    }
}

/// Records that a page or an operation of the staff was refused to a client. `as_what` is the client's role.
fn refused(parts: &Parts, shop: &Shop, account: Option<UserId>, as_what: &'static str, code: Code) -> Problem {
    let client = client_address(&parts.extensions, &parts.headers, shop);
    shop.security.record(SecurityClass::StaffAccessRefused, account, Some(client), as_what);
    code.into()
}

// Cookies of a request.

/// The value of the first cookie with this name.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim_start().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}
