//! The page of the wallet.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::UserVisit;
use super::checkout::redirect_to_checkout;
use crate::domain::wallet::{CURRENCY, TOP_UP_LIMITS, money};
use crate::domain::{Money, SaleId, SaleState, UserId};
use crate::payments::PaymentError;
use crate::store::EntryCursor;
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, Query};
use crate::web::problem::Problem;
use crate::web::shared::FieldError;
use crate::web::shared::goods::goods_name_and_cover;
use crate::web::shared::pagination::Cursor;
use crate::web::shared::paths::{eligibility_path, wallet_path};
use crate::web::shared::response::personal;
use crate::web::shared::validation::{price, price_text};
use crate::web::shared::wallet::{balance_of, set_aside, wallet_entries};
use crate::web::views::{HeldDeposit, WalletPage};

#[derive(Deserialize)]
pub struct WalletPageQuery {
    #[serde(default)]
    before: Cursor,
    /// The sale whose deposit is to be topped up for.
    #[serde(default)]
    sale: String,
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<WalletPageQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read("before")?;
    let sale = sale_with_deposit(&shop, &query.sale).await?;
    let typed = match sale {
        Some((_, deposit)) => price_text(missing(&shop, session.user_id, deposit).await?),
        None => String::new(),
    };
    let form = TopUpState { sale: sale.map(|(sale, _)| sale), typed, errors: Vec::new() };
    page(&shop, session.user_id, &visitor, before, form).await
}

/// The sale that a page names, and its deposit; `None` for one that asks for none.
async fn sale_with_deposit(shop: &Shop, sale: &str) -> Result<Option<(SaleId, Money)>, Problem> {
    let Ok(sale) = sale.parse() else { return Ok(None) };
    let known = shop.catalogue.entry(sale).await?.filter(|known| known.sale.state != SaleState::Draft);
    Ok(known.and_then(|known| Some((sale, known.sale.eligibility.deposit?))))
}

/// What a wallet lacks of a deposit, at least the smallest top-up.
async fn missing(shop: &Shop, user: UserId, deposit: Money) -> Result<Money, Problem> {
    let balance = balance_of(&shop.store, user).await?;
    Ok(money((deposit.amount - balance.amount).max(*TOP_UP_LIMITS.start())))
}

/// The form of a top-up as it is shown.
struct TopUpState {
    sale: Option<SaleId>,
    typed: String,
    errors: Vec<FieldError>,
}

async fn page(
    shop: &Shop,
    user: UserId,
    visitor: &Visitor,
    before: Option<EntryCursor>,
    TopUpState { sale, typed, errors }: TopUpState,
) -> Result<Response, Problem> {
    let entries = wallet_entries(&shop.store, user, before.as_ref()).await?;
    let held = shop.store.held_deposits_of(user).await?;
    let mut deposits = Vec::with_capacity(held.len());
    for deposit in &held {
        let known = shop.catalogue.entry(deposit.sale_id).await?;
        deposits.push(HeldDeposit {
            sale_id: deposit.sale_id,
            goods_name: goods_name_and_cover(known.as_deref(), visitor.locale).0,
            amount: money(deposit.amount),
            held_at: deposit.held_at,
        });
    }
    let (status, chrome) = match errors.is_empty() {
        true => (StatusCode::OK, visitor.chrome()),
        false => (StatusCode::UNPROCESSABLE_ENTITY, visitor.chrome_at(wallet_path(visitor.locale))),
    };
    let page = WalletPage {
        chrome,
        balance: balance_of(&shop.store, user).await?,
        set_aside: set_aside(&held),
        deposits,
        sale,
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
    #[serde(default)]
    sale: String,
}

/// Begins a payment into the wallet and redirects to the provider, which returns to the wallet, or to the rules of the sale that
/// the money is for.
pub async fn top_up(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Form(form): Form<TopUpForm>,
) -> Result<Response, Problem> {
    let sale = sale_with_deposit(&shop, &form.sale).await?.map(|(sale, _)| sale);
    let back = sale.map_or_else(|| wallet_path(visitor.locale), |sale| eligibility_path(visitor.locale, sale));
    let code = match price(&form.amount, CURRENCY) {
        None => "bad_price",
        Some(amount) => match shop.payments.top_up(session.user_id, amount, back).await {
            Ok((_, checkout_url)) => return Ok(redirect_to_checkout(&shop, &checkout_url)),
            Err(PaymentError::TopUp(refusal)) => refusal.code(),
            Err(error) => return Err(error.into()),
        },
    };
    let form = TopUpState { sale, typed: form.amount, errors: vec![FieldError::new("amount", code)] };
    page(&shop, session.user_id, &visitor, None, form).await
}
