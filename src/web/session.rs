//! What a handler demands of whoever calls it.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::Shop;
use crate::accounts::Session;
use crate::error::{Code, Problem};

/// Somebody who is signed in. Programs are told 401 otherwise; `guard` shows people where to log in.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Session);

impl FromRequestParts<Arc<Shop>> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        shop.accounts.session(&parts.headers).map(SignedIn).ok_or(Problem::new(Code::NotSignedIn))
    }
}

/// An administrator, confirmed by the database. For anybody else the address does not exist.
#[derive(Debug, Clone)]
pub struct Admin(pub Session);

impl Admin {
    /// The name under which the audit log knows them.
    pub fn actor(&self) -> &str {
        &self.0.username
    }
}

impl FromRequestParts<Arc<Shop>> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Problem> {
        let nowhere = || Problem::new(Code::NotFound);
        let session = shop.accounts.session(&parts.headers).ok_or_else(nowhere)?;
        if !shop.accounts.is_admin(&session).await? {
            return Err(nowhere());
        }
        Ok(Admin(session))
    }
}
