//! Money under `kill -9` of every process, while the provider's reports are lost, repeated, late and wrong: every
//! captured amount ends as paid or refunded.

use std::time::Duration;

use axum::http::Method;
use base::clock::Clock;
use futures::StreamExt;
use serde_json::{Value, json};
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use uuid::Uuid;

use crate::contract::payments::{SignedWebhook, webhook_key};
use crate::support::{Client, NewSale, Plan, Rung, Shop, Shopper, eventually, pause, seed};
use crate::torture::providers::decide;

const ORDERS: u64 = 500;
/// Customers at the same time.
const CONCURRENCY: usize = 40;
const PRICE: i64 = 1999;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(120);

/// What customers and the lying provider use while processes die.
struct World {
    sale: String,
    client: Client,
    admin: Client,
    database: String,
}

impl World {
    async fn execute(&self, sql: &str) -> u64 {
        let mut connection = AnyConnection::connect(&self.database).await.unwrap();
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap().rows_affected()
    }

    /// Delivers a report with its own id until it is accepted.
    async fn report(&self, event: &str, payment: &str, amount: i64) {
        let data = json!({"payment_id": payment, "amount": {"amount": amount, "currency": "CNY"}});
        let id = format!("msg_{}", Uuid::new_v4().simple());
        let webhook = SignedWebhook::of(
            &webhook_key(),
            &id,
            Clock::system().now().as_second(),
            json!({"type": event, "data": data}),
        );
        for _ in 0..200 {
            if webhook.try_deliver(&self.client).await == Some(204) {
                return;
            }
            pause(50).await;
        }
        panic!("the report {event} was not accepted");
    }

    /// The provider captures the money, but its report is lost.
    async fn capture_silently(&self, payment: &str) -> bool {
        let sql = format!(
            "UPDATE sandbox_payments SET status = 'captured'
             WHERE id = '{payment}' AND status = 'open' AND expires_at_ms > 0"
        );
        self.execute(&sql).await == 1
    }

    async fn customer(&self, n: u64, shopper: Shopper) {
        let Some(order) = shopper.insist_on_a_unit(&self.sale).await else { return };
        let Some(payment) = self.begin(&shopper, &order).await else { return };
        let path = format!("/api/sales/{}/orders/{order}", self.sale);
        match n % 16 {
            0 => {}
            1 => drop(shopper.client.insist(&format!("{path}/cancel"), &json!({})).await),
            2 => drop(self.capture_silently(&payment).await),
            3 if self.capture_silently(&payment).await => self.report("payment.captured", &payment, 1).await,
            4 => {
                self.pay(&shopper, &payment).await;
                for _ in 0..3 {
                    self.report("payment.captured", &payment, PRICE).await;
                }
            }
            5 => {
                let second = self.begin(&shopper, &order).await;
                self.pay(&shopper, &payment).await;
                if let Some(second) = second {
                    self.pay(&shopper, &second).await;
                }
            }
            6 => self.report("payment.captured", &Uuid::now_v7().to_string(), PRICE).await,
            7 => {
                let cancel = format!("{path}/cancel");
                let cancel = shopper.client.insist(&cancel, &Value::Null);
                tokio::join!(self.pay(&shopper, &payment), cancel);
            }
            8 => {
                self.pay(&shopper, &payment).await;
                let refund = format!("/api/admin/orders/{order}/refund");
                self.admin.insist(&refund, &json!({"reason": "broken"})).await;
                self.report("refund.failed", &payment, PRICE).await;
            }
            9 => {
                self.report("payment.declined", &payment, PRICE).await;
                self.pay(&shopper, &payment).await;
            }
            _ => self.pay(&shopper, &payment).await,
        }
    }

    /// Begins a payment, once the order can be paid.
    async fn begin(&self, shopper: &Shopper, order: &str) -> Option<String> {
        let path = format!("/api/sales/{}/orders/{order}/payments", self.sale);
        for _ in 0..100 {
            let (status, json) = shopper.client.insist(&path, &json!({})).await;
            if status == 201 {
                return json["payment"]["id"].as_str().map(str::to_owned);
            }
            pause(50).await;
        }
        None
    }

    async fn pay(&self, shopper: &Shopper, payment: &str) {
        for _ in 0..200 {
            let paid = shopper.client.request(Method::POST, &format!("/sandbox/cashier/{payment}/pay")).form(&[]);
            if paid.try_send().await.is_ok_and(|answer| matches!(answer.status, 303 | 409)) {
                return;
            }
            pause(50).await;
        }
    }
}

async fn count(shop: &Shop, sql: &str) -> i64 {
    let mut connection = shop.database().await;
    sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await.unwrap().get(0)
}

async fn every_captured_amount_is_paid_or_refunded(rung: Rung) {
    let plan = Plan::on(rung).await.one_role_per_process().set("SECKILL_PAYMENT_WINDOW", "20s");
    let plan = plan.set("SECKILL_USER_RATE", "1000").set("SECKILL_SECOND_PERSON_ABOVE", "off");
    let (mut shop, sale) = plan.open(NewSale::of(ORDERS as i64)).await;
    let shoppers = shop.shoppers();
    let (client, admin) = (shop.client(), shop.admin().await);
    let admin = shop.client().with_cookie(&admin.cookie().unwrap());
    let world = World { sale, client, admin, database: shop.database_url() };
    let ended = std::cell::Cell::new(false);
    let customers = async {
        let all = futures::stream::iter(1..=ORDERS).map(|n| world.customer(n, shoppers(n)));
        all.buffer_unordered(CONCURRENCY).collect::<Vec<()>>().await;
        ended.set(true);
    };
    let ((), kills) = tokio::join!(customers, shop.kill_until(seed(), 100..1200, &ended));
    println!("{kills} processes were killed");
    shop.wait_until_ready().await;

    let store = shop.store();
    let sql = "SELECT (SELECT COUNT(*) FROM orders WHERE status IN ('unpaid', 'refund_pending'))
        + (SELECT COUNT(*) FROM payments WHERE status = 'refund_pending' OR close_at_ms IS NOT NULL)
        + (SELECT COUNT(*) FROM sandbox_webhooks) + (SELECT COUNT(*) FROM payment_cases WHERE settled_at_ms IS NULL)";
    eventually("every payment has ended", SETTLE_TIMEOUT, async || {
        decide(&store).await.unwrap();
        match count(&shop, sql).await {
            0 => Ok(()),
            left => Err(format!("{left} orders, payments, webhooks or cases are open")),
        }
    })
    .await;
    let stranded = "SELECT COUNT(*) FROM sandbox_payments s LEFT JOIN payments p ON p.id = s.id
        WHERE s.status IN ('captured', 'refunded') AND (p.id IS NULL OR p.status <> s.status)";
    assert_eq!(count(&shop, stranded).await, 0, "captured money is neither paid nor refunded");
    let captured = count(&shop, "SELECT COUNT(*) FROM sandbox_payments WHERE status = 'captured'").await;
    let refunded = count(&shop, "SELECT COUNT(*) FROM sandbox_payments WHERE status = 'refunded'").await;
    let paid = count(&shop, "SELECT COUNT(*) FROM orders WHERE status = 'paid'").await;
    println!("{captured} payments captured, {refunded} refunded, {paid} orders paid");
    assert_eq!(captured, paid, "one captured payment for each paid order");
    // On a slow machine many customers pay too late.
    assert!(paid > 50 && refunded > 25, "there was little to see");
    shop.audit_is_clean().await;
}

cases! { every_captured_amount_is_paid_or_refunded:
    money_is_conserved_on_sqlite: Rung::Sqlite,
    money_is_conserved_on_postgres: Rung::Postgres,
}
