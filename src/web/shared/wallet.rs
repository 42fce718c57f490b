//! Reading a wallet.

use crate::shared::pagination::DEFAULT_PAGE_SIZE;
use domain::wallet::{LedgerAccount, money};
use domain::{Money, Page, UserId};
use store::{Deposit, EntryCursor, Store, StoreError, WalletEntry};

pub async fn balance_of(store: &Store, user: UserId) -> Result<Money, StoreError> {
    Ok(money(store.wallet().balance(LedgerAccount::User(user)).await?))
}

/// The part of a user's money that is set aside for sales.
pub fn set_aside(deposits: &[Deposit]) -> Money {
    money(deposits.iter().map(|deposit| deposit.amount).sum())
}

/// One page of a user's wallet entries, newest first.
pub async fn wallet_entries(
    store: &Store,
    user: UserId,
    before: Option<&EntryCursor>,
) -> Result<Page<WalletEntry, EntryCursor>, StoreError> {
    let entries = store.wallet().entries(LedgerAccount::User(user), before, DEFAULT_PAGE_SIZE as i64 + 1).await?;
    Ok(Page::cut(entries, DEFAULT_PAGE_SIZE, WalletEntry::cursor))
}
