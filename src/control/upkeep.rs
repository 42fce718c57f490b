//! Steps of data control that only the database needs.

use super::stock_sync;
use store::{Store, StoreError};

/// Retires sales that are over, where the database keeps the stock.
pub async fn retire_sales(store: Store) -> Result<(), StoreError> {
    let now = store.now().await?;
    for sale in store.sales().retirable_sales(now - stock_sync::RETIRE_AFTER).await? {
        store.sales().retire(sale, now).await?;
    }
    Ok(())
}

/// Writes the notices of sales that start soon and of payments that end soon, in bounded transactions.
pub async fn write_notices(store: Store) -> Result<(), StoreError> {
    for sale in store.reminders().sales_about_to_start().await? {
        while store.reminders().tell_of_start(sale).await? {}
    }
    while store.reminders().tell_of_payment_end().await? {}
    Ok(())
}

/// Deletes rows that nothing needs any more, a bounded number at a time.
pub async fn purge(store: Store) -> Result<(), StoreError> {
    while store.idempotency().purge_answers().await? {}
    while store.payments().purge_webhooks().await? {}
    while store.payments().purge_sandbox().await? {}
    while store.payments().purge_payments().await? {}
    while store.security_events().purge().await? {}
    while store.orders().purge_order_changes().await? {}
    while store.mail().purge().await? {}
    while store.reminders().purge().await? {}
    while store.eligibility().purge_groups().await? {}
    while store.linked_accounts().purge_signals().await? {}
    Ok(())
}

/// Sums up the days that are over, one after the other.
pub async fn close_books(store: Store) -> Result<(), StoreError> {
    while store.books().close().await? {}
    Ok(())
}
