//! The page of the wallet.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::UserVisit;
use super::checkout::redirect_to_checkout;
use crate::domain::UserId;
use crate::domain::wallet::CURRENCY;
use crate::payments::PaymentError;
use crate::store::EntryCursor;
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, Query};
use crate::web::problem::Problem;
use crate::web::shared::FieldError;
use crate::web::shared::pagination::Cursor;
use crate::web::shared::paths::wallet_path;
use crate::web::shared::response::personal;
use crate::web::shared::validation::price;
use crate::web::shared::wallet::{balance_of, wallet_entries};
use crate::web::views::WalletPage;

#[derive(Deserialize)]
pub struct WalletPageQuery {
    #[serde(default)]
    before: Cursor,
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<WalletPageQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read("before")?;
    page(&shop, session.user_id, &visitor, before, Vec::new(), String::new()).await
}

async fn page(
    shop: &Shop,
    user: UserId,
    visitor: &Visitor,
    before: Option<EntryCursor>,
    errors: Vec<FieldError>,
    typed: String,
) -> Result<Response, Problem> {
    let entries = wallet_entries(&shop.store, user, before.as_ref()).await?;
    let (status, chrome) = match errors.is_empty() {
        true => (StatusCode::OK, visitor.chrome()),
        false => (StatusCode::UNPROCESSABLE_ENTITY, visitor.chrome_at(wallet_path(visitor.locale))),
    };
    let page = WalletPage {
        chrome,
        balance: balance_of(&shop.store, user).await?,
        online: shop.payments.is_online(),
        entries: entries.items,
        older: entries.next.map(|mark| mark.to_string()),
        is_later: before.is_some(),
        typed,
        errors,
    };
    personal(status, &page)
}

#[derive(Deserialize)]
pub struct TopUpForm {
    #[serde(default)]
    amount: String,
}

/// Begins a payment into the wallet and redirects to the provider.
pub async fn top_up(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Form(form): Form<TopUpForm>,
) -> Result<Response, Problem> {
    let code = match price(&form.amount, CURRENCY) {
        None => "bad_price",
        Some(amount) => match shop.payments.top_up(session.user_id, amount, wallet_path(visitor.locale)).await {
            Ok((_, checkout_url)) => return Ok(redirect_to_checkout(&shop, &checkout_url)),
            Err(PaymentError::TopUp(refusal)) => refusal.code(),
            Err(error) => return Err(error.into()),
        },
    };
    page(&shop, session.user_id, &visitor, None, vec![FieldError::new("amount", code)], form.amount).await
}
