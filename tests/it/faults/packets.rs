//! Crashes while people claim shares of a packet: whoever was told of a share has it in the end, nobody has two, and the
//! money adds up.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use seckill::domain::wallet::Account;
use serde_json::json;
use tokio::task::JoinSet;

use super::strike::{Victim, strike};
use super::{QUEUES_REST, SETTLED_WITHIN};
use crate::contract::packets::rain;
use crate::support::{Plan, Rung, Shop, Shopper, Stack, eventually, pause, seed};

const KILLS: u64 = 4;
/// People around each crash; all of them find shares.
const PER_KILL: u64 = 60;
const SHARES: u64 = 300;
const RUSH: Duration = Duration::from_millis(1_500);
/// Longer than anything that is broken by a test stays broken.
const PATIENCE: Duration = Duration::from_secs(90);
/// So many winners are asked again in the end.
const ASK_AGAIN: usize = 300;

/// Claims until there is a share or nothing left; the answer is the share and its amount.
pub async fn insist(shopper: Arc<Shopper>, id: String) -> Option<(i64, i64)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asked = shopper.client.ask(Method::POST, &format!("/api/packets/{id}/claims")).json(&json!({}));
        let seen = match asked.try_send().await {
            Ok(answer) if answer.status == 200 => {
                let claim = answer.json()["claim"].take();
                return Some((claim["share"].as_i64().unwrap(), claim["amount"]["amount"].as_i64().unwrap()));
            }
            Ok(answer) if answer.code() == "packet_empty" => return None,
            Ok(answer) => format!("{} {}", answer.status, answer.text()),
            Err(error) => error,
        };
        assert!(Instant::now() < deadline, "somebody lost patience after {seen}");
        pause(250).await;
    }
}

/// So many more people come, evenly over the rush.
fn arrive(shop: &Shop, id: &str, first: u64, count: u64) -> JoinSet<(u64, Option<(i64, i64)>)> {
    let mut people = JoinSet::new();
    for n in 0..count {
        let (shopper, id) = (Arc::new(shop.shopper(first + n)), id.to_owned());
        let wait = RUSH.mul_f64(n as f64 / count as f64);
        people.spawn(async move {
            tokio::time::sleep(wait).await;
            (first + n, insist(shopper, id).await)
        });
    }
    people
}

async fn survives(victim: Victim) {
    let _mended = Stack::get().mended();
    let mut random = StdRng::seed_from_u64(seed());
    let roles = ["serve", "serve", "relay", "relay", "consume", "consume", "control", "control"];
    let mut shop = Plan::on(Rung::Rabbit).await.roles(&roles).start().await;
    let total = SHARES * 100;
    let id = rain(&shop, json!({"total": total, "count": SHARES, "min": 1, "max": 300})).await;
    pause(QUEUES_REST).await;
    let mut told: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    for kill in 0..KILLS {
        let mut people = arrive(&shop, &id, kill * PER_KILL, PER_KILL);
        pause(random.random_range(0..1_300)).await;
        let down_for = random.random_range(50..600);
        strike(&mut shop, victim, random.random_range(0..2), down_for).await;
        while let Some(answer) = people.join_next().await {
            let (n, share) = answer.unwrap();
            told.insert(n, share.expect("there were shares for everybody"));
        }
    }
    let mut late = arrive(&shop, &id, KILLS * PER_KILL, 3 * (SHARES - KILLS * PER_KILL));
    while let Some(answer) = late.join_next().await {
        let (n, share) = answer.unwrap();
        told.extend(share.map(|share| (n, share)));
    }
    assert_eq!(told.len() as u64, SHARES, "everything is given away");
    promises_are_kept(&shop, &id, &told, total as i64, SETTLED_WITHIN).await;
}

/// `told` is what each of those who won was answered; everything of the packet was won.
pub async fn promises_are_kept(
    shop: &Shop,
    id: &str,
    told: &BTreeMap<u64, (i64, i64)>,
    total: i64,
    settled_within: Duration,
) {
    let (store, packet) = (shop.store(), id.parse().unwrap());
    let settled = eventually("the packet is settled", settled_within, async || {
        let packet = store.packet(packet).await.map_err(|error| error.to_string())?.unwrap();
        if packet.settled_at.is_some() { Ok(packet) } else { Err(format!("{packet:?}")) }
    })
    .await;
    assert_eq!((settled.claimed as usize, settled.claimed_amount, settled.left()), (told.len(), total, 0));
    let written = store.packet_claims_after(packet, None, told.len() as i64 + 1).await.unwrap();
    let mut kept: Vec<(i64, i64)> = written.iter().map(|claim| (claim.share, claim.amount)).collect();
    let mut promised: Vec<(i64, i64)> = told.values().copied().collect();
    kept.sort_unstable();
    promised.sort_unstable();
    assert_eq!(kept, promised, "what people were told and what is in the books");
    let people: HashSet<_> = written.iter().map(|claim| claim.user_id).collect();
    assert_eq!(people.len(), told.len(), "nobody has two");
    for (n, (share, amount)) in told.iter().step_by(told.len() / ASK_AGAIN + 1) {
        let again = insist(Arc::new(shop.shopper(*n)), id.to_owned()).await;
        assert_eq!(again, Some((*share, *amount)), "asking again is answered with the same");
    }
    assert_eq!(store.wallet_balance(Account::Packet(packet)).await.unwrap(), 0);
    shop.audit_is_clean().await;
}

outlives! { survives:
    serve_dies_while_people_claim: Victim::Role("serve"),
    relay_dies_while_people_claim: Victim::Role("relay"),
    consume_dies_while_people_claim: Victim::Role("consume"),
    control_dies_while_people_claim: Victim::Role("control"),
    redis_dies_while_people_claim: Victim::Service("redis"),
    rabbitmq_dies_while_people_claim: Victim::Service("rabbitmq"),
    postgres_dies_while_people_claim: Victim::Service("postgres"),
    redis_forgets_everything_while_people_claim: Victim::Memory,
}
