//! Who may take part in a sale: the shopper's own state, what the shopper can do about it, and the form of an
//! invitation code.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::UserVisit;
use crate::eligibility::view::EligibilityPage;
use accounts::Session;
use domain::{Locale, SaleId, SaleState};
use engine::eligibility::RedeemRefusal;
use web::Shop;
use web::extract::client::ClientAddress;
use web::extract::session::SignedIn;
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds};
use web::problem::{Code, Problem};
use web::shared::goods::goods_name_and_cover;
use web::shared::paths::eligibility_path;
use web::shared::response::{personal, see_other};

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
) -> Result<Response, Problem> {
    page(&shop, &session, &visitor, sale, StatusCode::OK, None).await
}

#[derive(Deserialize)]
pub struct InvitationForm {
    #[serde(default)]
    code: String,
}

/// Redeems an invitation code. A code that cannot be redeemed is shown again beside its field.
pub async fn redeem(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
    Form(InvitationForm { code }): Form<InvitationForm>,
) -> Result<Response, Problem> {
    match shop.eligibility.redeem(sale, session.user_id, client, &code).await {
        Ok(()) => Ok(see_other(&eligibility_path(visitor.locale, sale))),
        Err(RedeemRefusal::BadInvitation) => {
            page(&shop, &session, &visitor, sale, Code::BadInvitation.status(), Some(code)).await
        }
        Err(refusal) => Err(Problem::from(refusal).back(eligibility_path(visitor.locale, sale))),
    }
}

async fn page(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    id: SaleId,
    status: StatusCode,
    refused_code: Option<String>,
) -> Result<Response, Problem> {
    let known = shop.catalogue.entry(id).await?.filter(|entry| entry.sale.state != SaleState::Draft);
    let known = known.ok_or(Code::NoSuchSale)?;
    let page = EligibilityPage {
        sale: id,
        goods_name: goods_name_and_cover(Some(&*known), visitor.locale).0,
        accounts_before: known.sale.eligibility.accounts_before,
        deposit: known.sale.eligibility.deposit,
        states: shop.eligibility.states(&known.sale, session.user_id).await?,
        refused_code,
        chrome: visitor.chrome_at(eligibility_path(visitor.locale, id)),
    };
    personal(status, &page)
}

/// The answer to a refused form. An account that may not take part goes to the page of the rules, which shows what it
/// lacks.
pub fn refused(refusal: impl Into<Problem>, locale: Locale, sale: SaleId) -> Result<Response, Problem> {
    let problem = refusal.into();
    match problem.code().is_about_eligibility() {
        true => Ok(see_other(&eligibility_path(locale, sale))),
        false => Err(problem),
    }
}
