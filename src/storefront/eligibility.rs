//! Who may take part in a sale: an account's own state, what the shopper can do about it, and the form of an invitation
//! code.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SaleCall, UserVisit};
use accounts::Session;
use domain::{EligibilityRule, Ineligible, Locale, Money, SaleId, SaleState};
use engine::catalogue::CatalogueEntry;
use engine::eligibility::{RedeemRefusal, RuleState};
use pages::{Chrome, filters};
use web::extract::{ClientAddress, Form, Json, PathIds, SalePath, SignedIn, State, Visitor};
use web::shared::paths::eligibility_path;
use web::{Answer, Code, Problem, Shop, personal, private, see_other};
use words::problem;

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

/// The sale, unless it is a draft.
pub async fn public_sale(shop: &Shop, sale: SaleId) -> Result<Arc<CatalogueEntry>, Problem> {
    let known = shop.catalogue.entry(sale).await?.filter(|entry| entry.sale.state != SaleState::Draft);
    known.ok_or(Code::NoSuchSale.into())
}

/// The rules of a sale, and which of them the account keeps.
pub async fn own((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer {
    let known = public_sale(&shop, sale).await?;
    let states = shop.eligibility.states(&known.sale, session.user_id).await?;
    let response = EligibilityResponse {
        sale_id: sale,
        eligible: states.iter().all(|state| state.lacks.is_none()),
        accounts_before: known.sale.eligibility.accounts_before,
        deposit: known.sale.eligibility.deposit,
        rules: states.into_iter().map(|state| RuleJson { rule: state.rule, lacks: state.lacks }).collect(),
    };
    Ok(private(response))
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
    Json(body): Json<InvitationBody>,
) -> Answer {
    state.eligibility.redeem(sale, session.user_id, client, &body.code).await?;
    own((state, SignedIn(session), SalePath(sale))).await
}

pub async fn page((State(shop), SignedIn(session), visitor): UserVisit, PathIds(sale): PathIds<SaleId>) -> Answer {
    render(&shop, &session, &visitor, sale, StatusCode::OK, None).await
}

#[derive(Deserialize)]
pub struct InvitationForm {
    #[serde(default)]
    code: String,
}

/// Redeems an invitation code. A code that cannot be redeemed is shown again beside its field.
pub async fn redeem_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
    Form(InvitationForm { code }): Form<InvitationForm>,
) -> Answer {
    match shop.eligibility.redeem(sale, session.user_id, client, &code).await {
        Ok(()) => Ok(see_other(&eligibility_path(visitor.locale, sale))),
        Err(RedeemRefusal::BadInvitation) => {
            render(&shop, &session, &visitor, sale, Code::BadInvitation.status(), Some(code)).await
        }
        Err(refusal) => Err(Problem::from(refusal).back(eligibility_path(visitor.locale, sale))),
    }
}

async fn render(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    id: SaleId,
    status: StatusCode,
    refused_code: Option<String>,
) -> Answer {
    let known = public_sale(shop, id).await?;
    let page = EligibilityPage {
        states: shop.eligibility.states(&known.sale, session.user_id).await?,
        known,
        refused_code,
        chrome: visitor.chrome_at(eligibility_path(visitor.locale, id)),
    };
    personal(status, &page)
}

/// The answer to a refused form. An account that may not take part goes to the page of the rules, which shows what it
/// lacks.
pub fn refused(refusal: impl Into<Problem>, locale: Locale, sale: SaleId) -> Answer {
    let problem = refusal.into();
    match problem.code().is_about_eligibility() {
        true => Ok(see_other(&eligibility_path(locale, sale))),
        false => Err(problem),
    }
}

/// The rules of a sale, and what the account lacks.
#[derive(Debug, Template)]
#[template(path = "eligibility/eligibility.html")]
struct EligibilityPage {
    chrome: Chrome,
    known: Arc<CatalogueEntry>,
    states: Vec<RuleState>,
    /// An invitation code that could not be redeemed, as typed.
    refused_code: Option<String>,
}

impl EligibilityPage {
    fn summary(&self) -> &'static str {
        let t = &self.chrome.text().eligibility;
        match self.states.iter().any(|state| state.lacks.is_some()) {
            _ if self.states.is_empty() => t.no_rules,
            true => t.some_lack,
            false => t.all_met,
        }
    }

    fn rule(&self, state: &RuleState) -> &'static str {
        self.chrome.text().eligibility.rule(&state.rule)
    }

    /// The moment that the rule names.
    fn moment(&self, state: &RuleState) -> Option<Timestamp> {
        self.known.sale.eligibility.accounts_before.filter(|_| state.rule == EligibilityRule::AccountsBefore)
    }

    /// The amount that the rule names.
    fn deposit(&self, state: &RuleState) -> Option<Money> {
        self.known.sale.eligibility.deposit.filter(|_| state.rule == EligibilityRule::Deposit)
    }

    fn needs_deposit(&self, state: &RuleState) -> bool {
        state.lacks == Some(Ineligible::DepositNeeded)
    }

    /// What the account lacks, and what to do about it.
    fn lacking(&self, state: &RuleState) -> Option<&'static str> {
        state.lacks.map(|lacks| problem(lacks.as_str()).text(self.chrome.locale))
    }

    fn needs_address(&self, state: &RuleState) -> bool {
        state.lacks == Some(Ineligible::AddressNeeded)
    }

    /// Whether to ask for a contact here: only at the first rule that lacks one.
    fn needs_contact(&self, state: &RuleState) -> bool {
        let lacks = |state: &&RuleState| state.lacks == Some(Ineligible::ContactNotVerified);
        self.states.iter().find(lacks) == Some(state)
    }

    fn needs_code(&self, state: &RuleState) -> bool {
        state.lacks == Some(Ineligible::InvitationNeeded)
    }

    /// The code that could not be redeemed, as typed, and why; both empty without one.
    fn refused(&self) -> (&str, &'static str) {
        let why = || problem("bad_invitation").text(self.chrome.locale);
        self.refused_code.as_deref().map(|typed| (typed, why())).unwrap_or_default()
    }
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
