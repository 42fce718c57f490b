//! A large packet while every process and service crashes in turn, at random instants: every share goes to one user,
//! every granted share is stored, and the money adds up.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join;
use futures::stream::{self, StreamExt};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use super::crash::{CrashTarget, crash};
use super::packets::{assert_claims_are_stored, claim_until_settled};
use crate::contract::packets::{give_packet, shares};
use crate::support::{Plan, Rung, Shop, Shopper, Stack, pause, seed};

/// Users who claim at the same time, each with two tries at once.
const CONCURRENT_USERS: usize = 100;
/// The minimum number of crashes.
const MIN_CRASHES: usize = 4;
/// A hundred thousand shares take minutes to be stored.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(180);

type Share = (i64, i64);

/// Everything that can crash, in random order.
fn targets(rung: Rung, random: &mut StdRng) -> Vec<CrashTarget> {
    let mut roles = rung.split_roles().to_vec();
    roles.dedup();
    let mut targets: Vec<CrashTarget> = roles.into_iter().map(CrashTarget::Role).collect();
    targets.extend(rung.services().iter().copied().map(CrashTarget::Service));
    targets.shuffle(random);
    let crashes = targets.len().max(MIN_CRASHES);
    targets.into_iter().cycle().take(crashes).collect()
}

/// Every user claims twice at once until settled. Returns the granted shares.
async fn claim_all(users: Vec<(u64, Shopper)>, id: String, served: Arc<AtomicU64>) -> Vec<(u64, Share)> {
    let tries = users.into_iter().map(|(n, shopper)| {
        let (shopper, id, served) = (Arc::new(shopper), id.clone(), served.clone());
        async move {
            let (one, other) =
                join(claim_until_settled(shopper.clone(), id.clone()), claim_until_settled(shopper, id)).await;
            assert_eq!(one, other, "a repeated claim returns the same share");
            served.fetch_add(1, Ordering::Relaxed);
            one.map(|share| (n, share))
        }
    });
    let granted: Vec<Option<(u64, Share)>> = stream::iter(tries).buffer_unordered(CONCURRENT_USERS).collect().await;
    granted.into_iter().flatten().collect()
}

async fn survives_every_crash(rung: Rung) {
    let _restore = rung.needs_stack().then(|| Stack::get().restore_on_drop());
    let mut random = StdRng::seed_from_u64(seed());
    let plan = Plan::on(rung).await.one_role_per_process().set("SECKILL_USER_RATE", "1000");
    let mut shop: Shop = plan.set("SECKILL_SECOND_PERSON_ABOVE", "off").start().await;
    let (count, total) = (shares(), shares() * 100);
    let id = give_packet(&shop, json!({"total": total, "count": count, "min": 1, "max": 500})).await;
    let targets = targets(rung, &mut random);
    let (users, groups) = (count + count / 5, targets.len() as u64);
    let (mut granted, served) = (BTreeMap::new(), Arc::new(AtomicU64::new(0)));
    for (group, target) in (0..).zip(targets) {
        target.settle().await;
        let group = users * group / groups..users * (group + 1) / groups;
        let claimants = group.clone().map(|n| (n, shop.shopper(n))).collect();
        let claims = tokio::spawn(claim_all(claimants, id.clone(), served.clone()));
        let instant = random.random_range(group);
        while served.load(Ordering::Relaxed) < instant && !claims.is_finished() {
            pause(1).await;
        }
        let several = match target {
            CrashTarget::Role(role) => rung.split_roles().iter().filter(|other| **other == role).count(),
            _ => 1,
        };
        crash(&mut shop, target, random.random_range(0..several), random.random_range(50..600)).await;
        granted.extend(claims.await.unwrap());
    }
    assert_eq!(granted.len() as u64, count, "every share is claimed");
    let shares: HashSet<i64> = granted.values().map(|(share, _)| *share).collect();
    assert_eq!(shares.len() as u64, count, "each share once");
    assert_claims_are_stored(&shop, &id, &granted, total as i64, SETTLE_TIMEOUT).await;
}

cases! { survives_every_crash:
    packet_survives_crashes_on_sqlite: Rung::Sqlite,
    packet_survives_crashes_on_postgres: Rung::Postgres,
    packet_survives_crashes_on_redis: Rung::Redis,
    packet_survives_crashes_on_rabbit: Rung::Rabbit,
    packet_survives_crashes_on_a_cluster: Rung::Cluster,
}
