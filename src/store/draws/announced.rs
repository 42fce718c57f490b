//! The row of a sale's draw follows the sale. It exists as long as the sale is announced, its rules come from the
//! sale's definition, and it is called off with the sale. Entries are taken only once the sale has opened. From then on
//! the definition is fixed, and so are the rules.

use crate::{ListLock, Tx, row};
use domain::draw::DrawSecret;
use domain::{DrawState, Sale, SaleState};

/// Updates the draw of a sale that is new (`before` is `None`) or was changed. The caller has locked the sale's row.
pub(crate) async fn follow_sale(tx: &mut Tx, before: Option<&Sale>, after: &Sale) -> Result<(), sqlx::Error> {
    if before.is_none_or(|before| before.state.is_planned()) {
        let is_announced = matches!(after.state, SaleState::Scheduled | SaleState::Live);
        return if after.mode.is_draw() && is_announced {
            announce(tx, after).await
        } else if after.state == SaleState::Ended {
            call_off(tx, before, after).await
        } else {
            withdraw(tx, after).await
        };
    }
    if after.state == SaleState::Ended { call_off(tx, before, after).await } else { Ok(()) }
}

/// Publishes the rules. The secret is drawn with the first announcement and stays the same.
async fn announce(tx: &mut Tx, sale: &Sale) -> Result<(), sqlx::Error> {
    let known = sqlx::query("SELECT secret FROM draws WHERE sale_id = $1").bind(sale.id.0);
    let secret = match known.fetch_optional(&mut **tx).await? {
        Some(known) => row::parsed(&known, "secret")?,
        None => DrawSecret::new(rand::random()),
    };
    let plan = sale.mode.draw_plan().zip(sale.window.closes_at);
    let (Some(rules), Some((plan, closes))) = (sale.draw_rules(&secret), plan) else {
        return Err(sqlx::Error::Protocol(format!("the draw of sale {} has no window", sale.id)));
    };
    let sql = "INSERT INTO draws (sale_id, state, secret, rules, lock_at_ms) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (sale_id) DO UPDATE SET rules = excluded.rules, lock_at_ms = excluded.lock_at_ms";
    sqlx::query(sql)
        .bind(sale.id.0)
        .bind(DrawState::Announced.as_str())
        .bind(secret.to_hex())
        .bind(rules.canonical())
        .bind(plan.lock_at(closes).as_millisecond())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Takes the announcement back, because the sale is a draft again or not a draw any more.
async fn withdraw(tx: &mut Tx, sale: &Sale) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM draws WHERE sale_id = $1").bind(sale.id.0).execute(&mut **tx).await?;
    Ok(())
}

/// Calls the draw off if the sale ends before its closing time. It is then not the sale that was announced, so no entry
/// wins.
async fn call_off(tx: &mut Tx, before: Option<&Sale>, after: &Sale) -> Result<(), sqlx::Error> {
    let announced = before.and_then(|before| before.window.closes_at);
    if announced <= after.window.closes_at {
        return Ok(());
    }
    tx.lock_list(ListLock::Exclusive, after.id).await?;
    let sql = "UPDATE draws SET state = $2, called_off_at_ms = $4, told_until = '' WHERE sale_id = $1 AND state = $3";
    let (called_off, announced) = (DrawState::CalledOff.as_str(), DrawState::Announced.as_str());
    let query = sqlx::query(sql).bind(after.id.0).bind(called_off).bind(announced);
    query.bind(tx.now.as_millisecond()).execute(&mut **tx).await?;
    Ok(())
}

/// Deletes the draw of a draft that is deleted.
pub(crate) async fn delete(tx: &mut Tx, sale: &Sale) -> Result<(), sqlx::Error> {
    withdraw(tx, sale).await
}
