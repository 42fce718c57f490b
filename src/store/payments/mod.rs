//! Payments as the shop knows them. What a provider reports is applied once, together with the order it is for.

pub(super) mod records;
pub(super) mod sandbox;

use jiff::Timestamp;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::orders::{add_events, read};
use super::wallet::{Posted, lock, post};
use super::{Store, StoreError, Tx, row};
use crate::domain::wallet::{Account, Kind, Transfer, money};
use crate::domain::{Money, OrderId, OrderStatus, PaymentId, UserId};
use crate::store::accounts;

/// The name under which the wallet stands among the providers.
pub const WALLET: &str = "wallet";

/// Where a payment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentStatus {
    Created,
    Captured,
    RefundPending,
    Refunded,
}

impl PaymentStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            PaymentStatus::Created => "created",
            PaymentStatus::Captured => "captured",
            PaymentStatus::RefundPending => "refund_pending",
            PaymentStatus::Refunded => "refunded",
        }
    }
}

impl std::str::FromStr for PaymentStatus {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        use PaymentStatus::*;
        [Created, Captured, RefundPending, Refunded].into_iter().find(|s| s.as_str() == text).ok_or(())
    }
}

/// What a payment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Order(OrderId),
    /// Money for somebody's wallet.
    TopUp(UserId),
}

/// One attempt to pay for one thing.
#[derive(Debug, Clone)]
pub struct Payment {
    pub id: PaymentId,
    pub purpose: Purpose,
    /// Who moves the money; [`WALLET`] is the shop itself.
    pub provider: String,
    pub amount: Money,
    pub status: PaymentStatus,
}

/// What a report of captured money led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captured {
    /// The order is paid.
    Paid(OrderId),
    /// The money is in the wallet.
    ToppedUp(UserId),
    /// The order was over or paid already, or the wallet's owner has left: the money goes back.
    GoesBack,
    /// The report, or another one about the same payment, had been applied before.
    Known,
    NoSuchPayment,
}

/// What came of the wish to pay an order from the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromWallet {
    Paid(PaymentId),
    /// It had been paid so before, by this payment.
    Again(PaymentId),
    NotEnough,
    /// It does not wait to be paid, or is not in the currency of the wallet.
    NotPayable,
}

macro_rules! columns {
    () => {
        "id, order_id, user_id, provider, amount, currency, status"
    };
}
use columns;

fn purpose(row: &AnyRow) -> Result<Purpose, sqlx::Error> {
    match row.try_get::<Option<String>, _>("order_id")? {
        Some(_) => Ok(Purpose::Order(row::parsed(row, "order_id")?)),
        None => Ok(Purpose::TopUp(row::parsed(row, "user_id")?)),
    }
}

fn payment(row: &AnyRow) -> Result<Payment, sqlx::Error> {
    Ok(Payment {
        id: row::parsed(row, "id")?,
        purpose: purpose(row)?,
        provider: row::text(row, "provider")?,
        amount: row::money(row, "amount")?,
        status: row::parsed(row, "status")?,
    })
}

impl Store {
    pub async fn add_payment(
        &self,
        id: PaymentId,
        purpose: Purpose,
        amount: Money,
        provider: &'static str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (order, user) = match purpose {
            Purpose::Order(order) => (Some(order.to_string()), None),
            Purpose::TopUp(user) => (None, Some(user.to_string())),
        };
        sqlx::query(
            "INSERT INTO payments (id, order_id, user_id, provider, amount, currency, status, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, 'created', $7)",
        )
        .bind(id.to_string())
        .bind(order)
        .bind(user)
        .bind(provider)
        .bind(amount.amount)
        .bind(amount.currency.as_str().to_owned())
        .bind(now.as_millisecond())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Applies the report that a payment was captured: `unpaid → paid`, or the wallet is filled, or the money goes
    /// back. All or nothing, once per webhook and once per payment.
    pub async fn captured(&self, webhook_id: &str, payment: PaymentId, now: Timestamp) -> Result<Captured, StoreError> {
        let mut tx = self.begin().await?;
        if !first_time(&mut tx, webhook_id, payment, now).await? {
            return Ok(Captured::Known);
        }
        let captured = "UPDATE payments SET status = 'captured', captured_at_ms = $2
             WHERE id = $1 AND status = 'created' RETURNING order_id, user_id, amount";
        let captured = sqlx::query(captured).bind(payment.to_string()).bind(now.as_millisecond());
        let Some(row) = captured.fetch_optional(&mut *tx).await? else {
            let known = sqlx::query("SELECT 1 FROM payments WHERE id = $1").bind(payment.to_string());
            let exists = known.fetch_optional(&mut *tx).await?.is_some();
            tx.commit().await?;
            return Ok(if exists { Captured::Known } else { Captured::NoSuchPayment });
        };
        let outcome = match purpose(&row)? {
            Purpose::Order(order) => pay(&mut tx, order, now).await?,
            Purpose::TopUp(user) => top_up(&mut tx, payment, user, row::int(&row, "amount")?, now).await?,
        };
        if outcome == Captured::GoesBack {
            let back = "UPDATE payments SET status = 'refund_pending' WHERE id = $1";
            sqlx::query(back).bind(payment.to_string()).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(outcome)
    }

    /// Pays an order from its owner's wallet: the order, the payment `id` and the books in one transaction.
    pub async fn pay_from_wallet(
        &self,
        id: PaymentId,
        order: OrderId,
        now: Timestamp,
    ) -> Result<FromWallet, StoreError> {
        let mut tx = self.begin().await?;
        if !move_order(&mut tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
            let sql = "SELECT id FROM payments WHERE order_id = $1 AND provider = $2 AND status = 'captured'";
            let row = sqlx::query(sql).bind(order.to_string()).bind(WALLET).fetch_optional(&mut *tx).await?;
            let known = row.map(|row| row::parsed(&row, "id")).transpose()?;
            return Ok(known.map_or(FromWallet::NotPayable, FromWallet::Again));
        }
        let order = read(&mut tx, order).await?.ok_or(sqlx::Error::RowNotFound)?;
        let amount = order.amount.amount;
        if order.pay_by <= now || order.amount != money(amount) {
            return Ok(FromWallet::NotPayable);
        }
        sqlx::query(
            "INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms)
             VALUES ($1, $2, $3, $4, $5, 'captured', $6, $6)",
        )
        .bind(id.to_string())
        .bind(order.id.to_string())
        .bind(WALLET)
        .bind(amount)
        .bind(order.amount.currency.as_str().to_owned())
        .bind(now.as_millisecond())
        .execute(&mut *tx)
        .await?;
        // What is free moves no money.
        if amount > 0 {
            let paid = Transfer::simple(Kind::Pay, order.id, amount, Account::User(order.user_id), Account::Shop);
            if post(&mut tx, &[paid], now).await? == Posted::NotEnough {
                return Ok(FromWallet::NotEnough);
            }
        }
        tx.commit().await?;
        Ok(FromWallet::Paid(id))
    }

    /// Payments whose money is to go back.
    pub async fn refunds_due(&self, most: i64) -> Result<Vec<Payment>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM payments WHERE status = 'refund_pending' ORDER BY id LIMIT $1"
        ))
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(payment).collect::<Result<_, _>>()?)
    }

    /// The provider has given the money back; the wallet, which is the shop itself, gives it back by this. The order
    /// follows unless another payment has paid it.
    pub async fn refunded(&self, of: &Payment, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let back = "UPDATE payments SET status = 'refunded', refunded_at_ms = $2
             WHERE id = $1 AND status = 'refund_pending'";
        sqlx::query(back).bind(of.id.to_string()).bind(now.as_millisecond()).execute(&mut *tx).await?;
        if let Purpose::Order(order) = of.purpose {
            let pending = "SELECT 1 FROM payments WHERE order_id = $1 AND status = 'refund_pending'";
            let more = sqlx::query(pending).bind(order.to_string()).fetch_optional(&mut *tx).await?;
            if more.is_none() {
                move_order(&mut tx, order, OrderStatus::RefundPending, OrderStatus::Refunded, now).await?;
            }
            if of.provider == WALLET && of.amount.amount > 0 {
                let owner = read(&mut tx, order).await?.ok_or(sqlx::Error::RowNotFound)?.user_id;
                let refund =
                    Transfer::simple(Kind::Refund, order, of.amount.amount, Account::Shop, Account::User(owner));
                post(&mut tx, &[refund], now).await?;
            }
        }
        Ok(tx.commit().await?)
    }

    /// What shop and provider disagree about, in words; empty when every charge has its order and every order its money.
    pub async fn money_mismatches(&self) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query(
            "SELECT 'order ' || orders.id || ' is paid without exactly one captured payment' AS problem FROM orders
               WHERE orders.status = 'paid' AND 1 <> (SELECT COUNT(*) FROM payments
                 WHERE payments.order_id = orders.id AND payments.status = 'captured'
                   AND payments.amount = orders.amount)
             UNION ALL
             SELECT 'payment ' || payments.id || ' was captured for an order that is ' || orders.status FROM payments
               JOIN orders ON orders.id = payments.order_id
               WHERE payments.status = 'captured' AND orders.status <> 'paid'
             UNION ALL
             SELECT 'payment ' || payments.id || ' is ' || payments.status || ' here and ' || sandbox_payments.status
               || ' at the provider' FROM payments JOIN sandbox_payments ON sandbox_payments.id = payments.id
               WHERE (payments.status = 'refunded') <> (sandbox_payments.status = 'refunded')",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(|row| row::text(row, "problem")).collect::<Result<_, _>>()?)
    }
}

async fn first_time(tx: &mut Tx, webhook_id: &str, payment: PaymentId, now: Timestamp) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "INSERT INTO webhook_events (webhook_id, received_at_ms, payment_id) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
    )
    .bind(webhook_id)
    .bind(now.as_millisecond())
    .bind(payment.to_string())
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

async fn pay(tx: &mut Tx, order: OrderId, now: Timestamp) -> Result<Captured, sqlx::Error> {
    if move_order(tx, order, OrderStatus::Unpaid, OrderStatus::Paid, now).await? {
        return Ok(Captured::Paid(order));
    }
    move_order(tx, order, OrderStatus::Cancelled, OrderStatus::RefundPending, now).await?;
    Ok(Captured::GoesBack)
}

/// Fills a wallet. Whoever deletes the account locks the balance too, so the money finds an owner or goes back.
async fn top_up(
    tx: &mut Tx,
    payment: PaymentId,
    user: UserId,
    amount: i64,
    now: Timestamp,
) -> Result<Captured, sqlx::Error> {
    lock(tx, &[Account::User(user).to_string()]).await?;
    if accounts::read(tx, user).await?.is_some_and(|user| user.deleted_at.is_some()) {
        return Ok(Captured::GoesBack);
    }
    let filled = Transfer::simple(Kind::TopUp, payment, amount, Account::Provider, Account::User(user));
    post(tx, &[filled], now).await?;
    Ok(Captured::ToppedUp(user))
}

/// Moves an order along one edge, if it stands at its beginning.
async fn move_order(
    tx: &mut Tx,
    order: OrderId,
    from: OrderStatus,
    to: OrderStatus,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    debug_assert!(from.may_become(to), "{from} never becomes {to}");
    let moved = sqlx::query("UPDATE orders SET status = $3 WHERE id = $1 AND status = $2")
        .bind(order.to_string())
        .bind(from.as_str())
        .bind(to.as_str())
        .execute(&mut **tx)
        .await?;
    if moved.rows_affected() == 1 {
        add_events(tx, &[order], to, now).await?;
    }
    Ok(moved.rows_affected() == 1)
}
