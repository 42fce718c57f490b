//! Invitation codes of a sale: made and shown once, listed in batches, revoked.

use std::ops::RangeInclusive;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StaffCallTo;
use domain::{InvitationCode, SaleId, SaleState};
use store::{InvitationBatch, Revocable};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::{Json, PathIds};
use web::idempotency::{NotKept, Repeatable};
use web::problem::{Code, Problem};
use web::shared::negotiation::created;

#[derive(Serialize, JsonSchema)]
struct BatchesResponse {
    batches: Vec<InvitationBatch>,
}

pub async fn list((State(shop), _, PathIds(sale)): StaffCallTo<ViewConsole, SaleId>) -> Result<Response, Problem> {
    shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    let batches = shop.store.eligibility().invitation_batches(sale).await?;
    Ok((Cache::Private, axum::Json(BatchesResponse { batches })).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvitations {
    #[schemars(range(min = 1, max = 10000))]
    count: i64,
}

#[derive(Serialize, JsonSchema)]
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
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokedInvitations {
    code: Option<String>,
    /// The codes of this batch that no account has redeemed.
    unused_of_batch: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
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

// Making invitation codes, for the API and the console. A replay makes the same codes again from its idempotency key,
// because no answer with codes is stored.

/// Codes in one batch: as many as a file shows at once, made in one short transaction.
pub const BATCH_SIZE: RangeInclusive<i64> = 1..=10_000;

/// New codes of a sale that is not over. They cannot be read again later.
pub async fn make_invitations(
    shop: &Shop,
    sale: SaleId,
    count: i64,
    (Repeatable(request), actor): (Repeatable, &str),
) -> Result<Vec<InvitationCode>, Problem> {
    if !BATCH_SIZE.contains(&count) {
        return Err(Problem::invalid_field("count", "bad_number"));
    }
    let known = shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    if known.state == SaleState::Ended {
        return Err(Code::WrongState.into());
    }
    let codes: Vec<_> = match request {
        Some(request) => shop.eligibility.codes_of_request(request, count),
        None => (0..count).map(|_| InvitationCode::new(rand::random())).collect(),
    };
    match shop.store.eligibility().make_invitations(sale, &codes, actor).await? {
        true => Ok(codes),
        false => Err(Problem::invalid_field("count", "too_many_invitations")),
    }
}

web::operations! { "administrators"
    /// Batches of invitation codes of a sale, the newest first
    GET "/api/admin/sales/{sale}/codes" listInvitations = list;
        200 BatchesResponse, "Counts. The codes themselves are not stored.";
        refuses NoSuchSale;
    /// Make invitation codes of a sale
    ///
    /// The answer has the codes once: the shop keeps hashes. Under one key the same codes are made again, without
    /// `Idempotent-Replayed`; without a key a repeated request makes other codes.
    POST "/api/admin/sales/{sale}/codes" makeInvitations = make, example(r#"{"count": 2}"#), located;
        201 MadeInvitations;
        refuses NoSuchSale WrongState;
    /// Revoke invitation codes of a sale
    ///
    /// One code, or the codes of a batch that no account has redeemed. An account that has redeemed a revoked code may
    /// not take part any more; orders that exist stay.
    POST "/api/admin/sales/{sale}/codes/revoke" revokeInvitations = revoke, example(r#"{"unused_of_batch": 1}"#);
        200 RevokedResponse;
        refuses NoSuchSale;
}
