//! Steps of data control that only the database needs.

use tracing::warn;

use super::stock_sync;
use store::{Store, StoreError};

/// Retires sales that are over, where the database keeps the stock.
pub async fn retire_sales(store: Store) -> Result<(), StoreError> {
    let now = store.now().await?;
    for sale in store.retirable_sales(now - stock_sync::RETIRE_AFTER).await? {
        store.retire_sale(sale, now).await?;
    }
    Ok(())
}

/// Writes the notices of sales that start soon and of payments that end soon, in bounded transactions.
pub async fn write_notices(store: Store) -> Result<(), StoreError> {
    for sale in store.sales_about_to_start().await? {
        while store.tell_of_start(sale).await? {}
    }
    while store.tell_of_payment_end().await? {}
    Ok(())
}

/// Deletes rows that nothing needs any more, a bounded number at a time.
pub async fn purge(store: Store) -> Result<(), StoreError> {
    while store.purge_answers().await? {}
    while store.purge_webhooks().await? {}
    while store.purge_sandbox().await? {}
    while store.purge_security_events().await? {}
    while store.purge_order_changes().await? {}
    while store.purge_mails().await? {}
    while store.purge_reminders().await? {}
    while store.purge_groups().await? {}
    while store.purge_signals().await? {}
    Ok(())
}

pub async fn correct_totals(store: Store) -> Result<(), StoreError> {
    let corrected = store.correct_order_totals().await?;
    if corrected > 0 {
        warn!(corrected, "totals of orders were wrong and have been corrected");
    }
    Ok(())
}

/// Sums up the days that are over, one after the other.
pub async fn close_books(store: Store) -> Result<(), StoreError> {
    while store.close_books().await? {}
    Ok(())
}
