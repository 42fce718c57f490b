//! Payments as staff read them: every attempt to pay an order, with its times and its webhooks, and how much waits for
//! them or for payers.

use boxed::boxed;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::orders::search::NOT_REHEARSED;
use crate::payments::refunds::PartialRefund;
use crate::payments::{Checkout, Payment, columns, payment};
use crate::{PaymentStore, StoreResult, row};
use domain::{OrderId, PaymentId, UserId};

/// A payment with everything that happened to it.
#[derive(Debug, Clone)]
pub struct PaymentRecord {
    pub payment: Payment,
    pub created_at: Timestamp,
    pub captured_at: Option<Timestamp>,
    pub refunded_at: Option<Timestamp>,
    /// The partial refunds, oldest first.
    pub partial_refunds: Vec<PartialRefund>,
    pub webhooks: Vec<WebhookRecord>,
}

/// A payment as its owner reads it.
#[derive(Debug, Clone)]
pub struct OwnPayment {
    pub payment: Payment,
    pub created_at: Timestamp,
    /// When the payment expires at the provider, if known.
    pub expires_at: Option<Timestamp>,
    /// Where the payment is made, as long as it can be.
    pub checkout: Option<Checkout>,
}

/// A webhook of the provider that was applied.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WebhookRecord {
    pub id: String,
    pub at: Timestamp,
}

#[boxed]
impl PaymentStore<'_> {
    /// A payment of the user: into the wallet, or for one of the user's orders.
    pub async fn own_payment(self, user: UserId, id: PaymentId) -> StoreResult<Option<OwnPayment>> {
        // A payment that is being closed has another time in `close_at_ms`.
        let sql = select!(
            columns,
            ", created_at_ms, expires_at_ms, CASE WHEN status = 'created' AND mismatched_at_ms IS NULL \
             AND close_at_ms = expires_at_ms AND expires_at_ms > $2 THEN checkout_url END AS checkout_url, scan_until_ms \
             FROM payments WHERE id = $1"
        );
        let found = self.optional(query!(sql; id, self.now().await?), own_payment).await?;
        let Some(found) = found else { return Ok(None) };
        let payer = self.payer_of(&found.payment).await?;
        Ok(Some(found).filter(|_| payer == Some(user)))
    }

    /// Every attempt to pay an order, oldest first.
    pub async fn payments_of(self, order: OrderId) -> StoreResult<Vec<PaymentRecord>> {
        let sql = select!(
            columns,
            ", created_at_ms, captured_at_ms, refunded_at_ms FROM payments WHERE order_id = $1 ORDER BY id"
        );
        let mut records = self.all(query!(sql; order), record).await?;
        let parts = self.partial_refunds_of(order).await?;
        for record in &mut records {
            let of_record = parts.iter().filter(|part| part.payment == record.payment.id);
            record.partial_refunds = of_record.cloned().collect();
            record.webhooks = self.webhooks_of(&record.payment).await?;
        }
        Ok(records)
    }

    async fn webhooks_of(self, payment: &Payment) -> StoreResult<Vec<WebhookRecord>> {
        let sql = "SELECT webhook_id, received_at_ms FROM webhook_events WHERE payment_id = $1
                   ORDER BY received_at_ms, webhook_id";
        let webhook = |row: &AnyRow| read!(row => WebhookRecord { id: "webhook_id", at: "received_at_ms" });
        self.all(query!(sql; payment.id), webhook).await
    }
}

fn record(row: &AnyRow) -> sqlx::Result<PaymentRecord> {
    read!(row => PaymentRecord {
        payment = payment(row)?, created_at: "created_at_ms", captured_at: "captured_at_ms",
        refunded_at: "refunded_at_ms", partial_refunds = Vec::new(), webhooks = Vec::new(),
    })
}

fn own_payment(row: &AnyRow) -> sqlx::Result<OwnPayment> {
    let checkout = match (row::get(row, "checkout_url")?, row::get(row, "scan_until_ms")?) {
        (Some(text), Some(expires_at)) => Some(Checkout::Scan { text, expires_at }),
        (url, _) => url.map(Checkout::Redirect),
    };
    read!(row => OwnPayment {
        payment = payment(row)?, created_at: "created_at_ms", expires_at: "expires_at_ms", checkout = checkout,
    })
}

/// Items are counted up to this number.
pub const MAX_COUNTED_PENDING: i64 = 1_000;

/// The number of waiting items, each up to [`MAX_COUNTED_PENDING`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PendingCounts {
    pub unpaid_orders: i64,
    /// Paid orders of which nothing was packed.
    pub to_pack: i64,
    /// Orders whose money is on its way back.
    pub refunds: i64,
    /// Refunds that wait for a second person.
    pub approvals: i64,
    /// Payments that need attention.
    pub cases: i64,
    /// Returns that wait for an answer.
    pub returns: i64,
    /// Questions of shoppers without an answer.
    pub questions: i64,
}

#[boxed]
impl PaymentStore<'_> {
    pub async fn pending_counts(self) -> StoreResult<PendingCounts> {
        // Orders of rehearsals are not work for the staff.
        let orders = |name: &str, condition: &str| {
            let rows = format!("SELECT 1 FROM orders WHERE {condition} AND {NOT_REHEARSED} LIMIT $1");
            format!("(SELECT COUNT(*) FROM ({rows}) AS counted) AS {name}")
        };
        let [unpaid, to_pack, refunds, returns] = [
            orders("unpaid_orders", "status = 'unpaid'"),
            orders(
                "to_pack",
                "status = 'paid' AND parcel IS NULL
                   AND (SELECT order_id FROM reservations WHERE order_id = orders.id) IS NULL",
            ),
            orders("refunds", "status = 'refund_pending'"),
            orders("returns", "return_state = 'asked'"),
        ];
        let sql = format!(
            "SELECT {unpaid}, {to_pack}, {refunds}, {returns},
               (SELECT COUNT(*) FROM (SELECT 1 FROM staff_refunds WHERE approval = 'pending' AND expires_at_ms > $2
                  LIMIT $1) AS counted) AS approvals,
               (SELECT COUNT(*) FROM (SELECT 1 FROM payment_cases WHERE settled_at_ms IS NULL LIMIT $1) AS counted) AS cases,
               (SELECT COUNT(*) FROM (SELECT 1 FROM questions WHERE status = 'open' LIMIT $1) AS counted) AS questions"
        );
        let query = query!(AssertSqlSafe(sql); MAX_COUNTED_PENDING, self.now().await?);
        let read = |row: &AnyRow| {
            read!(row => PendingCounts {
                unpaid_orders, to_pack, refunds, approvals, cases, returns, questions,
            })
        };
        Ok(self.optional(query, read).await?.unwrap_or_default())
    }
}
