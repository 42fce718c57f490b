//! The wallet, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::wallet::{Account, CURRENCY, TOP_UP, money};
use crate::domain::{Locale, Money, UserId};
use crate::store::{Mark, StoreError, WalletEntry};
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, Query};
use crate::web::pages::personal;
use crate::web::problem::Problem;
use crate::web::shared::FieldError;
use crate::web::shared::validation::price;
use crate::web::views::WalletPage;

/// Lines on one page.
pub const PAGE: usize = 20;

#[derive(Deserialize)]
pub struct Which {
    #[serde(default)]
    before: String,
}

type Asking = (State<Arc<Shop>>, SignedIn, Visitor);

pub fn wallet_path(locale: Locale) -> String {
    format!("/{locale}/wallet")
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): Asking,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    // What no link of ours asks for is nothing in particular.
    let before = which.before.parse().ok();
    page(&shop, session.user_id, &visitor, before, Vec::new(), String::new()).await
}

async fn page(
    shop: &Shop,
    user: UserId,
    visitor: &Visitor,
    before: Option<Mark>,
    errors: Vec<FieldError>,
    typed: String,
) -> Result<Response, Problem> {
    let (entries, older) = page_of_entries(shop, user, before.as_ref()).await?;
    let mut chrome = visitor.chrome();
    if !errors.is_empty() {
        chrome.path = wallet_path(visitor.locale);
    }
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = WalletPage {
        chrome,
        balance: money(shop.store.wallet_balance(Account::User(user)).await?),
        entries,
        older: older.map(|mark| mark.to_string()),
        is_later: before.is_some(),
        typed,
        errors,
    };
    personal(status, &page)
}

/// One page of somebody's wallet, newest first, and where the next one begins.
pub async fn page_of_entries(
    shop: &Shop,
    user: UserId,
    before: Option<&Mark>,
) -> Result<(Vec<WalletEntry>, Option<Mark>), StoreError> {
    let mut entries = shop.store.wallet_entries(Account::User(user), before, PAGE as i64 + 1).await?;
    let more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let next = entries.last().filter(|_| more).map(WalletEntry::mark);
    Ok((entries, next))
}

/// The amount, if a wallet may be filled by it, or what is wrong.
pub fn top_up_amount(amount: Option<Money>) -> Result<Money, &'static str> {
    match amount {
        Some(amount) if amount.currency != CURRENCY => Err("bad_currency"),
        Some(amount) if TOP_UP.contains(&amount.amount) => Ok(amount),
        Some(_) => Err("top_up_bounds"),
        None => Err("bad_price"),
    }
}

#[derive(Deserialize)]
pub struct TopUp {
    #[serde(default)]
    amount: String,
}

/// Leads to the payment provider.
pub async fn top_up(
    (State(shop), SignedIn(session), visitor): Asking,
    Form(form): Form<TopUp>,
) -> Result<Response, Problem> {
    match top_up_amount(price(&form.amount, CURRENCY)) {
        Ok(amount) => {
            let back = wallet_path(visitor.locale);
            let (_, checkout_url) = shop.payments.top_up(session.user_id, amount, back).await?;
            Ok(crate::web::pages::orders::to_checkout(&shop, &checkout_url))
        }
        Err(code) => {
            let errors = vec![FieldError { field: "amount", code }];
            page(&shop, session.user_id, &visitor, None, errors, form.amount).await
        }
    }
}
