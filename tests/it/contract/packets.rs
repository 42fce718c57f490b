//! Red packets: every share goes to one user, and the money adds up.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use domain::ledger::LedgerAccount;
use futures::future::join_all;
use serde_json::json;

use crate::support::{Answer, Plan, Rung, Shop, Shopper, eventually, pause};

/// `SECKILL_TEST_SHARES=100000` tests the size of a large shop-funded packet (红包雨).
const SHARES: u64 = 2_000;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Users who claim at the same time.
const CONCURRENT_USERS: usize = 250;

pub fn shares() -> u64 {
    std::env::var("SECKILL_TEST_SHARES").ok().and_then(|text| text.parse().ok()).unwrap_or(SHARES)
}

/// Gives a packet of the shop and returns its id.
pub async fn give_packet(shop: &Shop, request: serde_json::Value) -> String {
    let given = shop.admin().await.post("/api/admin/packets", request).await.expect(201).json();
    given["packet"]["id"].as_str().unwrap().to_owned()
}

/// Waits until the packet is settled, and returns it.
pub async fn settled(shop: &Shop, id: &str) -> serde_json::Value {
    eventually(&format!("packet {id} is settled"), SETTLE_TIMEOUT, async || {
        let answer = shop.client().request(Method::GET, &format!("/api/packets/{id}")).try_send().await?;
        let packet = if answer.status == 200 { answer.json()["packet"].take() } else { serde_json::Value::Null };
        if packet["settled_at"].is_string() { Ok(packet) } else { Err(answer.text()) }
    })
    .await
}

/// One claim, repeated while the answer is 429 or 503, as on a busy machine.
async fn claim(shopper: &Shopper, id: &str) -> Answer {
    loop {
        match shopper
            .client
            .request(Method::POST, &format!("/api/packets/{id}/claims"))
            .json(&json!({}))
            .try_send()
            .await
        {
            Ok(answer) if answer.status != 503 && answer.status != 429 => return answer,
            Ok(_) | Err(_) => pause(200).await,
        }
    }
}

/// The share that one user gets by two claims at once, if any.
async fn claim_twice(shopper: Arc<Shopper>, id: String) -> Option<(i64, i64)> {
    let answers = join_all([claim(&shopper, &id), claim(&shopper, &id)]).await;
    let share = |answer: &Answer| {
        if answer.status == 409 {
            assert_eq!(answer.code(), "packet_empty");
            return None;
        }
        let claim = answer.clone().expect(200).json()["claim"].take();
        Some((claim["share"].as_i64().unwrap(), claim["amount"]["amount"].as_i64().unwrap()))
    };
    assert_eq!(share(&answers[0]), share(&answers[1]), "a repeated claim returns the same share");
    share(&answers[0])
}

pub async fn every_share_goes_to_one_user(rung: Rung) {
    let shop = Plan::on(rung).await.one_role_per_process().start().await;
    let (count, total) = (shares(), shares() * 100);
    let id = give_packet(&shop, json!({"total": total, "count": count, "min": 1, "max": 500})).await;
    let mut claimed = BTreeMap::new();
    let mut losers = 0;
    let users: Vec<u64> = (0..count + count / 5).collect();
    for group in users.chunks(CONCURRENT_USERS) {
        let tries = group.iter().map(|n| tokio::spawn(claim_twice(Arc::new(shop.shopper(*n)), id.clone())));
        for (n, share) in group.iter().zip(join_all(tries).await) {
            match share.unwrap() {
                Some((share, amount)) => assert_eq!(claimed.insert(share, (*n, amount)), None, "share {share} twice"),
                None => losers += 1,
            }
        }
    }
    assert_eq!((claimed.len() as u64, losers), (count, count / 5));
    assert_eq!(claimed.values().map(|(_, amount)| *amount as u64).sum::<u64>(), total);
    assert!(claimed.values().all(|(_, amount)| (1..=500).contains(amount)));

    let packet = settled(&shop, &id).await;
    assert_eq!((&packet["claimed"], &packet["returned"]["amount"]), (&count.into(), &0.into()));
    let best = claimed.values().map(|(_, amount)| *amount).max().unwrap();
    assert_eq!(packet["luckiest"]["amount"]["amount"], best);
    let (store, packet) = (shop.store(), id.parse().unwrap());
    assert_eq!(store.wallet().balance(LedgerAccount::Packet(packet)).await.unwrap(), 0);
    assert_eq!(store.wallet().balance(LedgerAccount::Shop).await.unwrap(), -(total as i64));
    let written = store.packets().claims_after(packet, None, count as i64 + 1).await.unwrap();
    assert_eq!(written.len() as u64, count);
    assert_eq!(written.iter().map(|claim| claim.user_id).collect::<HashSet<_>>().len() as u64, count);
    assert!(written.iter().all(|claim| claimed[&claim.share].1 == claim.amount));
    // A replay of a claim on a settled packet is answered from the database.
    let (share, (n, amount)) = claimed.iter().next().unwrap();
    assert_eq!(claim_twice(Arc::new(shop.shopper(*n)), id.clone()).await, Some((*share, *amount)));
    shop.audit_is_clean().await;
}

pub async fn expired_packet_returns_what_is_left(rung: Rung) {
    let shop = Plan::on(rung).await.set("SECKILL_PACKET_LIFETIME", "3s").start().await;
    let id = give_packet(&shop, json!({"total": 1_000, "count": 10, "split": "equal"})).await;
    claim(&shop.shopper(1), &id).await.expect(200);
    let packet = settled(&shop, &id).await;
    assert_eq!((&packet["claimed"], &packet["returned"]["amount"]), (&1.into(), &900.into()));
    assert_eq!((&packet["phase"], &packet["luckiest"]["amount"]["amount"]), (&"expired".into(), &100.into()));
    claim(&shop.shopper(2), &id).await.expect_problem(409, "packet_expired");
    let again = claim(&shop.shopper(1), &id).await.expect(200).json();
    assert_eq!((&again["claim"]["amount"]["amount"], &again["repeated"]), (&100.into(), &true.into()));

    let stopped = give_packet(&shop, json!({"total": 1_000, "count": 10})).await;
    let admin = shop.admin().await;
    admin.post(&format!("/api/admin/packets/{stopped}/stop"), json!({})).await.expect(200);
    claim(&shop.shopper(3), &stopped).await.expect_problem(409, "packet_expired");
    assert_eq!(settled(&shop, &stopped).await["returned"]["amount"], 1_000);
    assert_eq!(shop.store().wallet().balance(LedgerAccount::Shop).await.unwrap(), -100);
    shop.audit_is_clean().await;
}

/// A large packet is split into buckets. `packet_empty` is answered only when no bucket has a share.
pub async fn packet_in_buckets_gives_away_every_share(rung: Rung) {
    const COUNT: i64 = 50_000;
    let shop = Plan::on(rung).await.set("SECKILL_USER_RATE", "1000").start().await;
    let id = give_packet(&shop, json!({"total": COUNT * 3, "count": COUNT})).await;
    let (packet, store) = (id.parse().unwrap(), shop.store());
    assert!(store.packets().get(packet).await.unwrap().unwrap().buckets > 1);
    let mut shares = HashSet::new();
    for group in (0..1_000_u64).collect::<Vec<_>>().chunks(CONCURRENT_USERS) {
        let tries = group.iter().map(|n| tokio::spawn(claim_twice(Arc::new(shop.shopper(*n)), id.clone())));
        for share in join_all(tries).await {
            assert!(shares.insert(share.unwrap().expect("a share").0));
        }
    }
    shop.admin().await.post(&format!("/api/admin/packets/{id}/stop"), json!({})).await.expect(200);
    assert_eq!(settled(&shop, &id).await["claimed"], 1_000);
    shop.audit_is_clean().await;
}
