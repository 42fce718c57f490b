//! Helpers that pages, console and API have in common. Handlers and [`super::views`] import from here; nothing here
//! imports from them.

pub mod approvals;
pub mod orders;

pub mod validation;

pub mod pagination;
pub mod paths;

pub mod negotiation;

use std::sync::Arc;

use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{DEFAULT_PAGE_SIZE, Problem, Shop};
use domain::ledger::{LedgerAccount, money};
use domain::network::masked;
use domain::{Demand, Locale, Money, Page, Picture, SaleId, UserId};
use engine::catalogue::{Catalogue, CatalogueEntry};
use engine::gate::IssuedToken;
use pages::onward::{OnwardSale, current, onward};
use store::{Deposit, EntryCursor, SessionRow, Store, StoreResult, WalletEntry};

/// The query of a page after a redirect: the action that it reports as done. Unknown values show nothing.
#[derive(Deserialize)]
pub struct NoticeQuery {
    #[serde(default)]
    pub done: String,
}

/// As [`NoticeQuery`], after an action on a sale.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SaleNoticeQuery {
    pub done: String,
    /// How many parts of the stock have the change, such as `6-8`; empty if all have it.
    pub applied: String,
}

/// A form's error in one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldError {
    pub field: &'static str,
    pub code: &'static str,
}

impl FieldError {
    pub fn new(field: &'static str, code: &'static str) -> FieldError {
        FieldError { field, code }
    }
}

impl From<FieldError> for Problem {
    fn from(FieldError { field, code }: FieldError) -> Self {
        Problem::invalid_field(field, code)
    }
}

/// Name and cover picture; both empty for a sale that is not in the catalogue.
pub fn goods_name_and_cover(entry: Option<&CatalogueEntry>, locale: Locale) -> (String, Option<Picture>) {
    entry.map(|e| (e.goods.name.get(locale).to_owned(), e.goods.cover().cloned())).unwrap_or_default()
}

// Sales that a page leads on to, from what the catalogue lists. These pages are rendered for one visitor, so they
// leave out sold-out sales.

/// The sales to go on to from a sale.
pub fn onward_from(catalogue: &Catalogue, locale: Locale, from: &CatalogueEntry) -> Vec<OnwardSale> {
    let others = available(catalogue);
    let mut found = onward(locale, (&from.sale, &from.goods), others.iter().map(|other| (&other.sale, &other.goods)));
    found.retain(|sale| !sale.is_spare);
    found
}

/// The sales to go on to from a page that belongs to no sale.
pub fn current_sales(catalogue: &Catalogue, locale: Locale) -> Vec<OnwardSale> {
    current(locale, available(catalogue).iter().map(|entry| (&entry.sale, &entry.goods)))
}

fn available(catalogue: &Catalogue) -> Vec<Arc<CatalogueEntry>> {
    let mut listed = catalogue.listed();
    listed.retain(|entry| entry.sale.demand() != Demand::Gone);
    listed
}

// Sessions as their owner and the support staff see them.

/// A session as its owner and the support staff see it.
#[derive(Serialize, JsonSchema)]
pub struct SessionJson {
    id: Uuid,
    created_at: Timestamp,
    seen_at: Timestamp,
    address: String,
    agent: String,
    current: bool,
}

impl SessionJson {
    /// The session as staff read it, with a masked address.
    pub fn masked(row: SessionRow) -> SessionJson {
        SessionJson::of(SessionRow { address: masked(&row.address), ..row }, None)
    }

    /// The session as its owner reads it.
    pub fn of(row: SessionRow, current: Option<Uuid>) -> SessionJson {
        let SessionRow { id, created_at, seen_at, address, agent } = row;
        SessionJson { id, created_at, seen_at, address, agent, current: current == Some(id) }
    }
}

// Reading a wallet.

#[boxed]
pub async fn balance_of(store: &Store, user: UserId) -> StoreResult<Money> {
    Ok(money(store.wallet().balance(LedgerAccount::User(user)).await?))
}

/// The part of a user's money that is set aside for sales.
pub fn set_aside(deposits: &[Deposit]) -> Money {
    money(deposits.iter().map(|deposit| deposit.amount).sum())
}

/// One page of a user's wallet entries, newest first.
#[boxed]
pub async fn wallet_entries(
    store: &Store,
    user: UserId,
    before: Option<&EntryCursor>,
) -> StoreResult<Page<WalletEntry, EntryCursor>> {
    let entries = store.wallet().entries(LedgerAccount::User(user), before, DEFAULT_PAGE_SIZE as i64 + 1).await?;
    Ok(Page::cut(entries, DEFAULT_PAGE_SIZE, WalletEntry::cursor))
}

// Purchase tokens: proof that the sale is open, that the account's turn has come, and that the account may take part.

/// A purchase token, issued once everything that it proves was checked. The cheapest checks come first. `seat` is the
/// time until which an account that was called in a waiting room may buy.
pub async fn purchase_token(
    shop: &Shop,
    sale: SaleId,
    user: UserId,
    seat: Option<Timestamp>,
) -> Result<IssuedToken, Problem> {
    let issued = shop.gate.issue_token(sale, user, seat)?;
    // A place in a waiting room may be older than the rules, so its account is checked again.
    shop.eligibility.check_and_hold(sale, user).await?;
    Ok(issued)
}
