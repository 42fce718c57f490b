//! Crashes while users claim shares of a packet: every granted share is stored, no user has two, and the money adds up.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use domain::ledger::LedgerAccount;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::task::JoinSet;

use super::crash::{CrashTarget, crash};
use super::{SETTLE_TIMEOUT, start_shop};
use crate::contract::packets::give_packet;
use crate::support::{Shop, Shopper, Stack, eventually, pause, seed};

const KILLS: u64 = 4;
/// Users around each crash. Every one of them gets a share.
const PER_KILL: u64 = 60;
const SHARES: u64 = 300;
const ARRIVAL_TIME: Duration = Duration::from_millis(1_500);
/// Longer than any fault that a test injects.
const PATIENCE: Duration = Duration::from_secs(90);
/// The most winners that claim again in the end.
const MAX_REPEATS: usize = 300;

/// Claims until there is a share or the packet is empty. Returns the share and its amount.
pub async fn claim_until_settled(shopper: Arc<Shopper>, id: String) -> Option<(i64, i64)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let request = shopper.client.request(Method::POST, &format!("/api/packets/{id}/claims")).json(&json!({}));
        let seen = match request.try_send().await {
            Ok(answer) if answer.status == 200 => {
                let claim = answer.json()["claim"].take();
                return Some((claim["share"].as_i64().unwrap(), claim["amount"]["amount"].as_i64().unwrap()));
            }
            Ok(answer) if answer.code() == "packet_empty" => return None,
            Ok(answer) => format!("{} {}", answer.status, answer.text()),
            Err(error) => error,
        };
        assert!(Instant::now() < deadline, "a user lost patience after {seen}");
        pause(250).await;
    }
}

/// Starts `count` users, evenly over [`ARRIVAL_TIME`].
fn arrive(shop: &Shop, id: &str, first: u64, count: u64) -> JoinSet<(u64, Option<(i64, i64)>)> {
    let mut users = JoinSet::new();
    for n in 0..count {
        let (shopper, id) = (Arc::new(shop.shopper(first + n)), id.to_owned());
        let wait = ARRIVAL_TIME.mul_f64(n as f64 / count as f64);
        users.spawn(async move {
            tokio::time::sleep(wait).await;
            (first + n, claim_until_settled(shopper, id).await)
        });
    }
    users
}

async fn survives(target: CrashTarget) {
    let _restore = Stack::get().restore_on_drop();
    let mut random = StdRng::seed_from_u64(seed());
    let mut shop = start_shop().await;
    let total = SHARES * 100;
    let id = give_packet(&shop, json!({"total": total, "count": SHARES, "min": 1, "max": 300})).await;
    let mut granted: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    for kill in 0..KILLS {
        target.settle().await;
        let mut users = arrive(&shop, &id, kill * PER_KILL, PER_KILL);
        pause(random.random_range(0..1_300)).await;
        let down_for_ms = random.random_range(50..600);
        crash(&mut shop, target, random.random_range(0..2), down_for_ms).await;
        while let Some(answer) = users.join_next().await {
            let (n, share) = answer.unwrap();
            granted.insert(n, share.expect("there were shares for all users"));
        }
    }
    let mut late = arrive(&shop, &id, KILLS * PER_KILL, 3 * (SHARES - KILLS * PER_KILL));
    while let Some(answer) = late.join_next().await {
        let (n, share) = answer.unwrap();
        granted.extend(share.map(|share| (n, share)));
    }
    assert_eq!(granted.len() as u64, SHARES, "every share is claimed");
    assert_claims_are_stored(&shop, &id, &granted, total as i64, SETTLE_TIMEOUT).await;
}

/// Fails unless the database has exactly the granted claims, which are all shares of the packet.
pub async fn assert_claims_are_stored(
    shop: &Shop,
    id: &str,
    granted: &BTreeMap<u64, (i64, i64)>,
    total: i64,
    settle_timeout: Duration,
) {
    let (store, packet) = (shop.store(), id.parse().unwrap());
    let settled = eventually("the packet is settled", settle_timeout, async || {
        let packet = store.packets().get(packet).await.map_err(|error| error.to_string())?.unwrap();
        if packet.settled_at.is_some() { Ok(packet) } else { Err(format!("{packet:?}")) }
    })
    .await;
    assert_eq!((settled.claimed as usize, settled.claimed_amount, settled.left()), (granted.len(), total, 0));
    let stored = store.packets().claims_after(packet, None, granted.len() as i64 + 1).await.unwrap();
    let mut found: Vec<(i64, i64)> = stored.iter().map(|claim| (claim.share, claim.amount)).collect();
    let mut promised: Vec<(i64, i64)> = granted.values().copied().collect();
    found.sort_unstable();
    promised.sort_unstable();
    assert_eq!(found, promised, "stored claims and granted claims");
    let users: HashSet<_> = stored.iter().map(|claim| claim.user_id).collect();
    assert_eq!(users.len(), granted.len(), "no user has two");
    for (n, (share, amount)) in granted.iter().step_by(granted.len() / MAX_REPEATS + 1) {
        let again = claim_until_settled(Arc::new(shop.shopper(*n)), id.to_owned()).await;
        assert_eq!(again, Some((*share, *amount)), "a repeated claim returns the same share");
    }
    assert_eq!(store.wallet().balance(LedgerAccount::Packet(packet)).await.unwrap(), 0);
    shop.audit_is_clean().await;
}

cases! { survives:
    serve_dies_during_claims: CrashTarget::Role("serve"),
    relay_dies_during_claims: CrashTarget::Role("relay"),
    consume_dies_during_claims: CrashTarget::Role("consume"),
    control_dies_during_claims: CrashTarget::Role("control"),
    redis_dies_during_claims: CrashTarget::Service("redis"),
    rabbitmq_dies_during_claims: CrashTarget::Service("rabbitmq"),
    postgres_dies_during_claims: CrashTarget::Service("postgres"),
    redis_loses_its_data_during_claims: CrashTarget::RedisData,
}
