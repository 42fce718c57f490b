//! The wallet: balance, entries, top-ups.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UserCall;
use crate::orders::payments_api::{OnePayment, StartedPayment};
use domain::ledger::{TransferKind, money};
use domain::{Locale, Money, PaymentId, SaleId};
use payments::PayerChoice;
use store::{Deposit, EntrySubject, PaymentPurpose, WalletEntry};
use web::cache_policy::Cache;
use web::extract;
use web::extract::client::PayingPhone;
use web::extract::session::SignedIn;
use web::extract::visitor::locale;
use web::extract::{PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::negotiation::created;
use web::shared::pagination::Cursor;
use web::shared::paths::wallet_path;
use web::shared::{balance_of, set_aside, wallet_entries};
use words::text;

#[derive(Serialize, JsonSchema)]
struct WalletJson {
    balance: Money,
    /// The sum of the deposits.
    set_aside: Money,
    deposits: Vec<DepositJson>,
    entries: Vec<WalletEntryJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

/// Money that is set aside while the account takes part in a sale.
#[derive(Serialize, JsonSchema)]
struct DepositJson {
    sale_id: SaleId,
    amount: Money,
    held_at: Timestamp,
}

impl From<Deposit> for DepositJson {
    fn from(Deposit { sale_id, amount, held_at, .. }: Deposit) -> Self {
        DepositJson { sale_id, amount: money(amount), held_at }
    }
}

/// One movement of money, and what it belongs to.
#[derive(Serialize, JsonSchema)]
struct WalletEntryJson {
    id: String,
    kind: TransferKind,
    /// Below zero if money left the wallet.
    amount: Money,
    at: Timestamp,
    #[serde(flatten)]
    about: Option<EntrySubject>,
}

impl From<WalletEntry> for WalletEntryJson {
    fn from(entry: WalletEntry) -> Self {
        let WalletEntry { id, kind, amount, at, about } = entry;
        WalletEntryJson { id, kind, amount: money(amount), at, about }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct WalletQuery {
    #[serde(default)]
    before: Cursor,
}

/// Balance and entries, newest first.
pub async fn show(
    (State(shop), SignedIn(session)): UserCall,
    Query(query): Query<WalletQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read("before")?;
    let page = wallet_entries(&shop.store, session.user_id, before.as_ref()).await?;
    let deposits = shop.store.deposits().held_deposits_of(session.user_id).await?;
    let wallet = WalletJson {
        balance: balance_of(&shop.store, session.user_id).await?,
        set_aside: set_aside(&deposits),
        deposits: deposits.into_iter().map(DepositJson::from).collect(),
        entries: page.items.into_iter().map(WalletEntryJson::from).collect(),
        next: page.next.map(|mark| mark.to_string()),
    };
    Ok((Cache::Private, Json(wallet)).into_response())
}

/// `{"amount":{"amount":5000,"currency":"CNY"}}`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUpBody {
    amount: Money,
    /// The name of the provider. Without it the first in the shop's order.
    #[serde(default)]
    provider: String,
}

/// What the owner of a wallet asks for. An empty `provider` is the first that takes the payment.
pub fn top_up_choice(locale: Locale, provider: &str, return_path: String, phone: PayingPhone) -> PayerChoice {
    let (provider, title) = (provider.to_owned(), text(locale).wallet.top_up.to_owned());
    PayerChoice { provider, title, locale, return_path, phone: phone.0 }
}

/// Begins a payment into the wallet. The checkout returns the payer to the page of the wallet.
pub async fn top_up(
    (State(shop), SignedIn(session)): UserCall,
    phone: PayingPhone,
    uri: Uri,
    headers: HeaderMap,
    extract::Json(body): extract::Json<TopUpBody>,
) -> Result<Response, Problem> {
    let locale = locale(&uri, &headers);
    let choice = top_up_choice(locale, &body.provider, wallet_path(locale), phone);
    let begun = shop.payments.top_up(session.user_id, body.amount, choice).await?;
    Ok(created(format!("/api/wallet/top-ups/{}", begun.payment), StartedPayment::from(begun)))
}

/// One top-up of the user's own wallet.
pub async fn show_top_up(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<PaymentId>,
) -> Result<Response, Problem> {
    let own = shop.store.payments().own_payment(session.user_id, id).await?;
    let own = own.filter(|own| matches!(own.payment.purpose, PaymentPurpose::TopUp(_))).ok_or(Code::NotFound)?;
    Ok((Cache::Private, Json(OnePayment { payment: own.into() })).into_response())
}

web::operations! { "wallet"
    /// The balance of the user's wallet and its entries, newest first
    GET "/api/wallet" showWallet = show;
        200 WalletJson, "The balance, and one page of entries.";
        refuses RateLimited;
    /// Start a top-up of the wallet
    POST "/api/wallet/top-ups" topUpWallet = top_up, repeatable, language, located;
        201 StartedPayment, "The address of the payment page. The money is in the wallet after the provider's \
            notification.";
        refuses PaymentsOff RateLimited;
    /// One top-up of the wallet
    GET "/api/wallet/top-ups/{payment}" showTopUp = show_top_up;
        200 OnePayment, "The top-up; 404 for every user but the owner of the wallet.";
}
