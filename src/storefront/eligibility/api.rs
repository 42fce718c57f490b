//! Who may take part in a sale: an account's own state, and its invitation code.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use domain::{EligibilityRule, Ineligible, Money, SaleId, SaleState};
use web::Shop;
use web::cache_policy::Cache;
use web::extract;
use web::extract::SalePath;
use web::extract::client::ClientAddress;
use web::extract::session::SignedIn;
use web::problem::{Code, Problem};

#[derive(Serialize, JsonSchema)]
struct EligibilityResponse {
    sale_id: SaleId,
    /// Whether the account keeps every rule.
    eligible: bool,
    /// Only accounts registered before this time may take part.
    accounts_before: Option<Timestamp>,
    /// Set aside from the wallet of an account that takes part, and given back in full.
    deposit: Option<Money>,
    rules: Vec<RuleJson>,
}

#[derive(Serialize, JsonSchema)]
struct RuleJson {
    rule: EligibilityRule,
    /// The code of the refusal; `null` when the account keeps the rule.
    lacks: Option<Ineligible>,
}

/// The rules of a sale, and which of them the account keeps.
pub async fn own(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
) -> Result<Response, Problem> {
    let known = shop.catalogue.entry(sale).await?.filter(|entry| entry.sale.state != SaleState::Draft);
    let known = known.ok_or(Code::NoSuchSale)?;
    let states = shop.eligibility.states(&known.sale, session.user_id).await?;
    let response = EligibilityResponse {
        sale_id: sale,
        eligible: states.iter().all(|state| state.lacks.is_none()),
        accounts_before: known.sale.eligibility.accounts_before,
        deposit: known.sale.eligibility.deposit,
        rules: states.into_iter().map(|state| RuleJson { rule: state.rule, lacks: state.lacks }).collect(),
    };
    Ok((Cache::Private, Json(response)).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationBody {
    /// In any case, with or without hyphens.
    code: String,
}

/// Redeems an invitation code. The answer is the account's new state.
pub async fn redeem(
    state: State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    SalePath(sale): SalePath,
    ClientAddress(client): ClientAddress,
    extract::Json(body): extract::Json<InvitationBody>,
) -> Result<Response, Problem> {
    state.eligibility.redeem(sale, session.user_id, client, &body.code).await?;
    own(state, SignedIn(session), SalePath(sale)).await
}

web::operations! { "buying"
    /// Redeem an invitation code of a sale
    ///
    /// An account redeems one code of a sale: what it sends later changes nothing. Tries are limited.
    POST "/api/sales/{sale}/code" redeemInvitation = redeem, example(r#"{"code": "00000-00000-00000-00000-000001"}"#);
        200 EligibilityResponse, "Redeemed, now or before.";
        refuses BadInvitation RateLimited;
    /// Who may take part in a sale, and whether the account may
    GET "/api/sales/{sale}/eligibility" showEligibility = own;
        200 EligibilityResponse, "The rules, and what the account lacks.";
        refuses RateLimited;
}
