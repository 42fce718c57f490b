//! Deposits of waiting shoppers. Each wallet has exactly one deposit. If a second one is taken, or one does not come
//! back for the next try, its owner is refused.

use axum::http::Method;
use base::clock::Clock;
use futures::future::join_all;
use sqlx::{AnyConnection, Connection};

use super::customer::patiently;
use super::turns::Waiter;
use super::verdict::{SETTLE_TIMEOUT, sale_id, until_none};
use crate::support::Shop;

/// The deposit of each sale in which shoppers wait, in minor units.
pub const DEPOSIT: i64 = 1_000;

/// Ends the sales, and waits until each deposit is back in its wallet. Returns the missing ones.
pub async fn come_back(shop: &Shop, waiters: &[Waiter]) -> Vec<String> {
    if let Err(error) = retire(shop, waiters).await {
        return vec![format!("the sales with deposits cannot be retired: {error}")];
    }
    let look = async || join_all(waiters.iter().map(missing)).await.into_iter().flatten().collect::<Vec<String>>();
    until_none(SETTLE_TIMEOUT, 500, look).await
}

/// Retires the sales, and ends the time to pay.
async fn retire(shop: &Shop, waiters: &[Waiter]) -> anyhow::Result<()> {
    let mut database = AnyConnection::connect(&shop.database_url()).await?;
    for of_sale in waiters.chunk_by(|one, other| one.sale == other.sale) {
        let sale = sale_id(&of_sale[0].sale).0;
        sqlx::query("UPDATE sales SET state = 'ended', retired_at_ms = $1 WHERE id = $2")
            .bind(Clock::system().now().as_millisecond())
            .bind(sale)
            .execute(&mut database)
            .await?;
        // A draw would offer the unit to the next one.
        let overdue = "UPDATE orders SET pay_by_ms = 1 WHERE status = 'unpaid'
            AND sale_id IN (SELECT id FROM sales WHERE id = $1 AND mode <> 'draw')";
        sqlx::query(overdue).bind(sale).execute(&mut database).await?;
    }
    Ok(())
}

async fn missing(waiter: &Waiter) -> Option<String> {
    let answer = patiently(waiter.diary.shopper.client.request(Method::GET, "/api/wallet").try_send()).await;
    let what = format!("the wallet of shopper {} in sale {}", waiter.diary.n, waiter.sale);
    match answer {
        Some(answer) if answer.status == 200 => {
            let wallet = answer.json();
            let is_whole = wallet["balance"]["amount"] == DEPOSIT && wallet["set_aside"]["amount"] == 0;
            (!is_whole).then(|| format!("{what} is {wallet}"))
        }
        other => Some(format!("{what}: {:?}", other.map(|answer| answer.text().to_owned()))),
    }
}
