//! An administrator who pauses, resumes and tops up sales while everything breaks.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::Method;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Answer, Client, pause};

const PATIENCE: Duration = Duration::from_secs(8);
/// Time between two decisions.
const THINK_MS: std::ops::Range<u64> = 1_500..5_000;
/// How long a sale stays paused.
const PAUSE_MS: std::ops::Range<u64> = 500..2_500;
/// Units of one top-up.
const TOP_UP: i64 = 5;

/// The answers that the administrator got.
#[derive(Default)]
pub struct AdminDiary {
    /// Units by sale that were added for certain.
    pub added: BTreeMap<String, i64>,
    /// Units by sale whose answer was lost.
    pub perhaps: BTreeMap<String, i64>,
    pub answers: BTreeMap<String, u32>,
}

impl AdminDiary {
    /// Works until `end`. A sale that was paused is resumed, here or later by [`resume`].
    pub async fn work(mut self, client: Client, sales: Vec<String>, seed: u64, end: Instant) -> AdminDiary {
        let mut random = StdRng::seed_from_u64(!seed);
        while Instant::now() < end {
            pause(random.random_range(THINK_MS)).await;
            let sale = sales.choose(&mut random).expect("a sale");
            if random.random_ratio(1, 3) {
                self.top_up(&client, sale).await;
                continue;
            }
            self.ask(&client, sale, "pause", json!({})).await;
            pause(random.random_range(PAUSE_MS)).await;
            while !self.ask(&client, sale, "resume", json!({})).await.is_some_and(is_decided) && Instant::now() < end {
                pause(300).await;
            }
        }
        self
    }

    async fn top_up(&mut self, client: &Client, sale: &str) {
        let answer = self.ask(client, sale, "top-up", json!({"units": TOP_UP})).await;
        let units = match answer.map(|answer| answer.status) {
            Some(200) => &mut self.added,
            Some(400..500) => return,
            // The answer was lost, or a service refused the request although it may have taken it.
            _ => &mut self.perhaps,
        };
        *units.entry(sale.to_owned()).or_default() += TOP_UP;
    }

    async fn ask(&mut self, client: &Client, sale: &str, action: &str, body: Value) -> Option<Answer> {
        let answer = act(client, sale, action, body).await;
        let name = answer.as_ref().map_or("lost".to_owned(), |answer| format!("{} {}", answer.status, answer.code()));
        *self.answers.entry(format!("{action} {}", name.trim_end())).or_default() += 1;
        answer
    }
}

/// Resumes every sale of a shop whose faults are lifted.
pub async fn resume(client: &Client, sales: &[String], within: Duration) -> Vec<String> {
    let mut broken = Vec::new();
    for sale in sales {
        let deadline = Instant::now() + within;
        loop {
            let answer = act(client, sale, "resume", json!({})).await;
            let seen =
                answer.as_ref().map_or("no answer".to_owned(), |answer| format!("{} {}", answer.status, answer.text()));
            if answer.is_some_and(is_decided) {
                break;
            }
            if Instant::now() >= deadline {
                broken.push(format!("sale {sale} cannot be resumed: {seen}"));
                break;
            }
            pause(300).await;
        }
    }
    broken
}

/// Whether the sale is resumed, or was never paused.
fn is_decided(answer: Answer) -> bool {
    answer.status == 200 || answer.code() == "wrong_state"
}

async fn act(client: &Client, sale: &str, action: &str, body: Value) -> Option<Answer> {
    let path = format!("/api/admin/sales/{sale}/{action}");
    let answer = client.request(Method::POST, &path).json(&body).try_send();
    tokio::time::timeout(PATIENCE, answer).await.ok()?.ok()
}
