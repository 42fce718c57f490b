//! The wallet of a signed-in user: balance, entries and top-ups, for programs and as a page.

use askama::Template;
use axum::http::{HeaderMap, StatusCode, Uri};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::orders::payments::{OnePayment, StartedPayment, redirect_to_checkout};
use crate::{UserCall, UserVisit};
use domain::ledger::{CURRENCY, TOP_UP_LIMITS, TransferKind, money};
use domain::{Locale, Money, PaymentId, SaleId, SaleState, UserId};
use pages::{Chrome, filters};
use payments::{PayerChoice, PaymentError};
use store::{Deposit, EntryCursor, EntrySubject, PaymentPurpose, WalletEntry};
use web::extract::{Form, Json, PathIds, PayingPhone, Query, SignedIn, State, Visitor, locale};
use web::shared::pagination::BeforeQuery;
use web::shared::paths::{eligibility_path, sale_path, wallet_path};
use web::shared::validation::price;
use web::shared::{balance_of, set_aside, wallet_entries};
use web::{Answer, Code, Cursor, FieldError, Problem, Shop, created, goods_name_and_cover, personal, private};
use words::{field_error, text};

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

/// Balance and entries, newest first.
pub async fn show((State(shop), SignedIn(session)): UserCall, Query(query): Query<BeforeQuery>) -> Answer {
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
    Ok(private(wallet))
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
fn top_up_choice(locale: Locale, provider: &str, return_path: String, phone: PayingPhone) -> PayerChoice {
    let (provider, title) = (provider.to_owned(), text(locale).wallet.top_up.to_owned());
    PayerChoice { provider, title, locale, return_path, phone: phone.0 }
}

/// Begins a payment into the wallet. The checkout returns the payer to the page of the wallet.
pub async fn top_up(
    (State(shop), SignedIn(session)): UserCall,
    phone: PayingPhone,
    uri: Uri,
    headers: HeaderMap,
    Json(body): Json<TopUpBody>,
) -> Answer {
    let locale = locale(&uri, &headers);
    let choice = top_up_choice(locale, &body.provider, wallet_path(locale), phone);
    let begun = shop.payments.top_up(session.user_id, body.amount, choice).await?;
    Ok(created(format!("/api/wallet/top-ups/{}", begun.payment), StartedPayment::from(begun)))
}

/// One top-up of the user's own wallet.
pub async fn show_top_up((State(shop), SignedIn(session)): UserCall, PathIds(id): PathIds<PaymentId>) -> Answer {
    let own = shop.store.payments().own_payment(session.user_id, id).await?;
    let own = own.filter(|own| matches!(own.payment.purpose, PaymentPurpose::TopUp(_))).ok_or(Code::NotFound)?;
    Ok(private(OnePayment { payment: own.into() }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct WalletPageQuery {
    before: Cursor,
    /// The sale that the top-up is for.
    sale: String,
}

pub async fn page(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(query): Query<WalletPageQuery>,
) -> Answer {
    let before = query.before.read("before")?;
    let goal = top_up_goal(&shop, visitor.locale, &query.sale).await?;
    let typed = match &goal {
        Some(goal) => missing(&shop, session.user_id, goal.amount).await?.decimal(),
        None => String::new(),
    };
    let form = TopUpState { sale: goal.map(|goal| goal.sale), typed, errors: Vec::new() };
    render(&shop, session.user_id, &visitor, before, form).await
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
#[derive(Debug)]
struct TopUpState {
    /// The sale that the top-up is for. The page leads back there.
    sale: Option<SaleId>,
    /// The amount as entered.
    typed: String,
    errors: Vec<FieldError>,
}

async fn render(shop: &Shop, user: UserId, visitor: &Visitor, before: Option<EntryCursor>, form: TopUpState) -> Answer {
    let entries = wallet_entries(&shop.store, user, before.as_ref()).await?;
    let held = shop.store.deposits().held_deposits_of(user).await?;
    let set_aside = set_aside(&held);
    let mut deposits = Vec::with_capacity(held.len());
    for deposit in held {
        let known = shop.catalogue.entry(deposit.sale_id).await?;
        deposits.push((deposit, goods_name_and_cover(known.as_deref(), visitor.locale).0));
    }
    let (status, chrome) = match form.errors.is_empty() {
        true => (StatusCode::OK, visitor.chrome()),
        false => (StatusCode::UNPROCESSABLE_ENTITY, visitor.chrome_at(wallet_path(visitor.locale))),
    };
    let page = WalletPage {
        chrome,
        balance: balance_of(&shop.store, user).await?,
        set_aside,
        deposits,
        offers: shop.payments.offers(money(*TOP_UP_LIMITS.start())),
        entries: entries.items,
        older: entries.next.map(|mark| mark.to_string()),
        is_later: before.is_some(),
        form,
    };
    personal(status, &page)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct TopUpForm {
    amount: String,
    sale: String,
    /// The name of the provider, if there are several.
    from: String,
}

/// Begins a payment into the wallet and redirects to the provider, which returns to the wallet, or to the sale that the
/// money is for.
pub async fn top_up_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    phone: PayingPhone,
    Form(form): Form<TopUpForm>,
) -> Answer {
    let goal = top_up_goal(&shop, visitor.locale, &form.sale).await?;
    let (sale, back) = goal.map_or_else(|| (None, wallet_path(visitor.locale)), |goal| (Some(goal.sale), goal.back));
    let code = match price(&form.amount, CURRENCY) {
        None => "bad_price",
        Some(amount) => {
            let choice = top_up_choice(visitor.locale, &form.from, back, phone);
            match shop.payments.top_up(session.user_id, amount, choice).await {
                Ok(begun) => return Ok(redirect_to_checkout(&shop, visitor.locale, &begun)),
                Err(PaymentError::TopUp(code)) => code,
                Err(error) => return Err(error.into()),
            }
        }
    };
    let form = TopUpState { sale, typed: form.amount, errors: vec![FieldError::new("amount", code)] };
    render(&shop, session.user_id, &visitor, None, form).await
}

/// The balance, the top-up form, and the entries, newest first.
#[derive(Debug, Template)]
#[template(path = "wallet/wallet.html")]
struct WalletPage {
    chrome: Chrome,
    balance: Money,
    /// The deposits for sales with the names of their goods, empty for a sale that is not in the catalogue.
    deposits: Vec<(Deposit, String)>,
    /// The sum of the deposits.
    set_aside: Money,
    /// The names of the providers that take top-ups. Without one the wallet cannot be topped up.
    offers: Vec<&'static str>,
    entries: Vec<WalletEntry>,
    /// A cursor for `?before=`; `None` on the last page.
    older: Option<String>,
    /// Whether this is not the first page.
    is_later: bool,
    form: TopUpState,
}

impl WalletPage {
    fn error_text(&self) -> Option<&'static str> {
        self.form.errors.first().map(|error| field_error(self.chrome.locale, error.code))
    }

    fn held(&self, deposit: &Deposit) -> Money {
        money(deposit.amount)
    }

    /// The amount with its sign, even if positive.
    fn signed(&self, entry: &WalletEntry) -> String {
        let sign = if entry.amount > 0 { "+" } else { "" };
        format!("{sign}{}", money(entry.amount))
    }

    /// The path of the thing that the entry is about, and the text of the link.
    fn link(&self, entry: &WalletEntry) -> Option<(String, &'static str)> {
        let (l, t) = (self.chrome.locale, self.chrome.text());
        match entry.about? {
            EntrySubject::Order { sale_id, id } => Some((format!("/{l}/orders/{sale_id}/{id}"), t.common.see_order)),
            EntrySubject::Packet { id } => Some((format!("/{l}/packets/{id}"), t.wallet.see_packet)),
            EntrySubject::Sale { id } => Some((format!("/{l}/sales/{id}"), t.wallet.see_sale)),
            EntrySubject::Payment { .. } => None,
        }
    }
}

web::operations! { "wallet"
    /// The balance of the user's wallet and its entries, newest first
    GET "/api/wallet" showWallet = show, limited;
        200 WalletJson, "The balance, and one page of entries.";
    /// Start a top-up of the wallet
    POST "/api/wallet/top-ups" topUpWallet = top_up, repeatable, language, located;
        201 StartedPayment, "The address of the payment page. The money is in the wallet after the provider's \
            notification.";
        refuses PaymentsOff RateLimited;
    /// One top-up of the wallet
    GET "/api/wallet/top-ups/{payment}" showTopUp = show_top_up;
        200 OnePayment, "The top-up; 404 for every user but the owner of the wallet.";
}
