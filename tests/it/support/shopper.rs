//! Signed-in shoppers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use accounts::{Accounts, Session};
use axum::http::Method;
use base::clock::Clock;
use base::signing::Signer;
use domain::Role;
use domain::UserId;
use futures::future::join_all;
use secrecy::SecretString;
use serde_json::{Value, json};
use store::{Store, User};
use uuid::Uuid;

use super::SECRET;
use super::client::{Answer, Client};
use super::wait::{eventually, pause, until};

/// How long an order or a payment may take to reach its next status while all services work.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Signs session cookies as the shop does. A shopper needs no account row to buy with one.
pub struct SessionSigner(Accounts, Clock);

impl SessionSigner {
    pub fn new(secret: &str) -> SessionSigner {
        SessionSigner::at(secret, Clock::system())
    }

    fn at(secret: &str, clock: Clock) -> SessionSigner {
        // This store is never read.
        let store = Store::open("sqlite::memory:").unwrap();
        SessionSigner(Accounts::new(store, clock.clone(), &SecretString::from(secret.to_owned()).into(), false), clock)
    }

    /// The cookie of the n-th shopper.
    pub fn cookie(&self, n: u64) -> String {
        let username = format!("shopper-{n}");
        let user = User::new(user_id(n), &username, String::new(), Role::User, self.1.now());
        let cookie = self.0.cookie(&Session::of(&user, self.1.now()));
        cookie.to_str().unwrap().split(';').next().unwrap().to_owned()
    }
}

/// A cookie signed with another secret.
pub fn forged_cookie() -> String {
    SessionSigner::new(&"x".repeat(64)).cookie(1)
}

/// A cookie of a session that has expired.
pub fn old_cookie() -> String {
    let long_ago = "2020-01-01T00:00:00Z".parse().unwrap();
    SessionSigner::at(SECRET, Clock::manual(long_ago)).cookie(1)
}

/// An expired purchase token of the n-th shopper.
pub fn expired_token(sale: &str, n: u64) -> String {
    let signer = Signer::new(&SecretString::from(SECRET.to_owned()).into(), "purchase token");
    let expired = Clock::system().now().as_millisecond() - 1;
    signer.sign(&format!("{sale} {} {expired}", user_id(n)))
}

/// The account of the n-th shopper.
pub fn user_id(n: u64) -> UserId {
    UserId(Uuid::from_u128((0x0198_c0de_0000_7000_8000 << 48) + u128::from(n)))
}

/// A signed-in client with its purchase tokens.
pub struct Shopper {
    pub client: Client,
    /// Purchase tokens by sale.
    tokens: Mutex<HashMap<String, String>>,
}

impl Shopper {
    pub fn new(client: Client) -> Shopper {
        Shopper { client, tokens: Mutex::default() }
    }

    pub async fn token(&self, sale: &str) -> Answer {
        self.client.post(&format!("/api/sales/{sale}/token"), json!({})).await
    }

    /// The next purchase fetches a new token.
    pub fn forget_token(&self, sale: &str) {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).remove(sale);
    }

    /// Tries to buy. Fetches a token first if there is none; when the token is refused, returns that answer.
    pub async fn try_buy(&self, sale: &str, quantity: i64) -> Result<Answer, String> {
        let known = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(sale).cloned();
        let token = match known {
            Some(token) => token,
            None => {
                let answer = self.client.request(Method::POST, &format!("/api/sales/{sale}/token")).try_send().await?;
                if answer.status != 200 {
                    return Ok(answer);
                }
                let token = answer.json()["token"].as_str().unwrap().to_owned();
                self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(sale.into(), token.clone());
                token
            }
        };
        self.try_buy_with(sale, json!({"quantity": quantity, "token": token})).await
    }

    async fn try_buy_with(&self, sale: &str, body: Value) -> Result<Answer, String> {
        self.client.request(Method::POST, &format!("/api/sales/{sale}/orders")).json(&body).try_send().await
    }

    pub async fn buy(&self, sale: &str, quantity: i64) -> Answer {
        self.try_buy(sale, quantity).await.unwrap()
    }

    /// Buys one unit, fails unless it is granted, and returns the order's id.
    pub async fn buy_one(&self, sale: &str) -> String {
        self.buy(sale, 1).await.expect(202).order_id()
    }

    /// Buys one unit, and waits until its order is unpaid. Returns the order's id.
    pub async fn unpaid_order(&self, sale: &str) -> String {
        let order = self.buy_one(sale).await;
        self.wait_for_status(sale, &order, "unpaid").await;
        order
    }

    /// Buys one unit as soon as the shop sells again. Returns the order's id.
    pub async fn buy_when_possible(&self, sale: &str, within: Duration) -> String {
        eventually("the shopper buys", within, async || {
            let answer = self.try_buy(sale, 1).await?;
            if matches!(answer.status, 200 | 202) { Ok(answer.order_id()) } else { Err(answer.text()) }
        })
        .await
    }

    /// Buys one unit however often it takes, within reason. Returns the order's id.
    pub async fn insist_on_a_unit(&self, sale: &str) -> Option<String> {
        for _ in 0..200 {
            match self.try_buy(sale, 1).await {
                Ok(answer) if matches!(answer.status, 200 | 202) => return Some(answer.order_id()),
                _ => pause(50).await,
            }
        }
        None
    }

    pub async fn order(&self, sale: &str, order: &str) -> Answer {
        self.client.get(&format!("/api/sales/{sale}/orders/{order}")).await
    }

    pub async fn cancel(&self, sale: &str, order: &str) -> Answer {
        self.client.post(&format!("/api/sales/{sale}/orders/{order}/cancel"), json!({})).await
    }

    /// Starts a payment and returns the address of the checkout.
    pub async fn begin_payment(&self, sale: &str, order: &str) -> String {
        let answer = self.client.post(&format!("/api/sales/{sale}/orders/{order}/payments"), json!({})).await;
        answer.expect(201).json()["checkout_url"].as_str().unwrap().to_owned()
    }

    /// The shopper's `place`, `entry` or `waitlist` in a sale.
    pub async fn own(&self, sale: &str, what: &str) -> Value {
        self.client.get(&format!("/api/sales/{sale}/{what}")).await.expect(200).json()[what].take()
    }

    /// Joins a waiting room (`place`) or a draw (`entry`) twice at once, which makes one place.
    pub async fn join_twice(&self, sale: &str, what: &str) {
        let path = format!("/api/sales/{sale}/{what}");
        let tries = join_all((0..2).map(|_| self.client.post(&path, json!({})))).await;
        let created = tries.iter().filter(|answer| answer.status == 201).count();
        assert_eq!((created, tries[0].json()[what].clone()), (1, tries[1].json()[what].clone()), "{tries:?}");
    }

    /// The wallet's balance, and the part of it that is set aside.
    pub async fn wallet(&self) -> (i64, i64) {
        let wallet = self.client.get("/api/wallet").await.expect(200).json();
        (wallet["balance"]["amount"].as_i64().unwrap(), wallet["set_aside"]["amount"].as_i64().unwrap())
    }

    /// Asks no more often than an account may.
    pub async fn wait_for_wallet(&self, expected: (i64, i64), within: Duration) {
        eventually("the wallet has what it should", within, async || {
            pause(200).await;
            match self.wallet().await {
                found if found == expected => Ok(()),
                found => Err(format!("{found:?}, not {expected:?}")),
            }
        })
        .await;
    }

    /// Tops up an empty wallet.
    pub async fn top_up(&self, amount: i64) {
        let top_up = json!({"amount": {"amount": amount, "currency": "CNY"}});
        let top_up = self.client.post("/api/wallet/top-ups", top_up).await.expect(201).json();
        let cashier = format!("/sandbox/cashier/{}", top_up["payment"]["id"].as_str().unwrap());
        self.pay_at(&cashier).await.expect(303);
        self.wait_for_wallet((amount, 0), TIMEOUT).await;
    }

    /// Pays at the checkout.
    pub async fn pay_at(&self, checkout: &str) -> Answer {
        self.client.request(Method::POST, &format!("{checkout}/pay")).form(&[]).send().await
    }

    /// Pays an unpaid order at the checkout, and waits until it is paid.
    pub async fn pay(&self, sale: &str, order: &str) {
        let checkout = self.begin_payment(sale, order).await;
        self.pay_at(&checkout).await.expect(303);
        self.wait_for_status(sale, order, "paid").await;
    }

    /// Waits until the order has this status, and returns the order.
    pub async fn wait_for_status(&self, sale: &str, order: &str, status: &str) -> Value {
        self.reaches(sale, order, status, TIMEOUT).await
    }

    /// The same for this time.
    pub async fn reaches(&self, sale: &str, order: &str, status: &str, within: Duration) -> Value {
        let read = async || self.order(sale, order).await.expect(200).json()["order"].take();
        until(&format!("order {order} is {status}"), within, read, |order| order["status"] == status).await
    }
}

/// Waits until each of these orders has the status.
pub async fn all_become(orders: &[(Shopper, String)], sale: &str, status: &str) {
    for (shopper, order) in orders {
        shopper.wait_for_status(sale, order, status).await;
    }
}

impl Answer {
    /// The id of the order in this answer.
    #[track_caller]
    pub fn order_id(&self) -> String {
        let json = self.json();
        json["order"]["id"].as_str().unwrap_or_else(|| panic!("no order in {json}")).to_owned()
    }
}
