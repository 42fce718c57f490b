//! Invitation codes of a sale: made and shown once, listed in batches, revoked.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::StaffCallTo;
use crate::invitations::input::make_invitations;
use domain::{InvitationCode, SaleId};
use store::{InvitationBatch, Revocable};
use web::cache_policy::Cache;
use web::extract::repeatable::Repeatable;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::{Json, PathIds};
use web::idempotency::NotKept;
use web::problem::{Code, Problem};
use web::shared::response::created;

#[derive(Serialize)]
struct BatchesResponse {
    batches: Vec<InvitationBatch>,
}

pub async fn list((State(shop), _, PathIds(sale)): StaffCallTo<ViewConsole, SaleId>) -> Result<Response, Problem> {
    shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    let batches = shop.store.eligibility().invitation_batches(sale).await?;
    Ok((Cache::Private, axum::Json(BatchesResponse { batches })).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewInvitations {
    count: i64,
}

#[derive(Serialize)]
struct MadeInvitations {
    /// The codes. They cannot be read again later.
    codes: Vec<String>,
}

pub async fn make(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    repeatable: Repeatable,
    Json(NewInvitations { count }): Json<NewInvitations>,
) -> Result<Response, Problem> {
    let codes = make_invitations(&shop, sale, count, (repeatable, staff.actor())).await?;
    let codes = codes.iter().map(ToString::to_string).collect();
    let made = created(format!("/api/admin/sales/{sale}/codes"), MadeInvitations { codes });
    Ok((Extension(NotKept), made).into_response())
}

/// Exactly one of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevokedInvitations {
    code: Option<String>,
    /// The codes of this batch that no account has redeemed.
    unused_of_batch: Option<i64>,
}

#[derive(Serialize)]
struct RevokedResponse {
    revoked: u64,
}

pub async fn revoke(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(body): Json<RevokedInvitations>,
) -> Result<Response, Problem> {
    let which = match (body.code.as_deref(), body.unused_of_batch) {
        (Some(typed), None) => {
            let code = InvitationCode::parse(typed).ok_or(Problem::invalid_field("code", "bad_invitation"))?;
            Revocable::One(code)
        }
        (None, Some(batch)) => Revocable::UnusedOf(batch),
        _ => return Err(Problem::invalid_field("code", "required")),
    };
    shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    let revoked = shop.store.eligibility().revoke_invitations(sale, &which, staff.actor()).await?;
    Ok((Cache::Private, axum::Json(RevokedResponse { revoked })).into_response())
}
