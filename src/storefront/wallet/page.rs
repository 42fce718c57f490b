//! The page of the wallet.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::UserVisit;
use crate::orders::checkout::redirect_to_checkout;
use crate::wallet::api::top_up_choice;
use crate::wallet::view::{HeldDeposit, WalletPage};
use domain::ledger::{CURRENCY, TOP_UP_LIMITS, money};
use domain::{Locale, Money, SaleId, SaleState, UserId};
use payments::PaymentError;
use store::EntryCursor;
use web::Shop;
use web::extract::client::PayingPhone;
use web::extract::session::SignedIn;
use web::extract::visitor::Visitor;
use web::extract::{Form, Query};
use web::problem::Problem;
use web::shared::negotiation::personal;
use web::shared::pagination::Cursor;
use web::shared::paths::{eligibility_path, sale_path, wallet_path};
use web::shared::validation::price;
use web::shared::{FieldError, balance_of, goods_name_and_cover, set_aside, wallet_entries};

#[derive(Deserialize)]
pub struct WalletPageQuery {
    #[serde(default)]
    before: Cursor,
    /// The sale that the top-up is for.
    #[serde(default)]
    sale: String,
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<WalletPageQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read("before")?;
    let goal = top_up_goal(&shop, visitor.locale, &query.sale).await?;
    let typed = match &goal {
        Some(goal) => missing(&shop, session.user_id, goal.amount).await?.decimal(),
        None => String::new(),
    };
    let form = TopUpState { sale: goal.map(|goal| goal.sale), typed, errors: Vec::new() };
    page(&shop, session.user_id, &visitor, before, form).await
}

/// What a top-up is for: the deposit of a sale, or the price of one unit.
struct TopUpGoal {
    sale: SaleId,
    amount: Money,
    /// Where the payer goes on afterwards.
    back: String,
}

/// The goal that a page names; `None` for a sale in a currency that wallets do not hold.
async fn top_up_goal(shop: &Shop, locale: Locale, sale: &str) -> Result<Option<TopUpGoal>, Problem> {
    let Ok(id) = sale.parse() else { return Ok(None) };
    let known = shop.catalogue.entry(id).await?.filter(|known| known.sale.state != SaleState::Draft);
    Ok(known.and_then(|known| match known.sale.eligibility.deposit {
        Some(deposit) => Some(TopUpGoal { sale: id, amount: deposit, back: eligibility_path(locale, id) }),
        None if known.sale.price.currency != CURRENCY => None,
        None => Some(TopUpGoal { sale: id, amount: known.sale.price, back: sale_path(locale, id) }),
    }))
}

/// What a wallet lacks of an amount, within the bounds of a top-up.
async fn missing(shop: &Shop, user: UserId, wanted: Money) -> Result<Money, Problem> {
    let balance = balance_of(&shop.store, user).await?;
    Ok(money((wanted.amount - balance.amount).clamp(*TOP_UP_LIMITS.start(), *TOP_UP_LIMITS.end())))
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
    let held = shop.store.deposits().held_deposits_of(user).await?;
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
        offers: shop.payments.offers(money(*TOP_UP_LIMITS.start())),
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
    /// The name of the provider, if there are several.
    #[serde(default)]
    from: String,
}

/// Begins a payment into the wallet and redirects to the provider, which returns to the wallet, or to the sale that the
/// money is for.
pub async fn top_up(
    (State(shop), SignedIn(session), visitor): UserVisit,
    phone: PayingPhone,
    Form(form): Form<TopUpForm>,
) -> Result<Response, Problem> {
    let goal = top_up_goal(&shop, visitor.locale, &form.sale).await?;
    let (sale, back) = goal.map_or_else(|| (None, wallet_path(visitor.locale)), |goal| (Some(goal.sale), goal.back));
    let code = match price(&form.amount, CURRENCY) {
        None => "bad_price",
        Some(amount) => {
            let choice = top_up_choice(visitor.locale, &form.from, back, phone);
            match shop.payments.top_up(session.user_id, amount, choice).await {
                Ok(begun) => return Ok(redirect_to_checkout(&shop, visitor.locale, &begun)),
                Err(PaymentError::TopUp(refusal)) => refusal.code(),
                Err(error) => return Err(error.into()),
            }
        }
    };
    let form = TopUpState { sale, typed: form.amount, errors: vec![FieldError::new("amount", code)] };
    page(&shop, session.user_id, &visitor, None, form).await
}
