//! A rain while everything dies, one after the other, at random instants: every share goes to one person, nobody is told of
//! one that is not in the books, and the money adds up.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join;
use futures::stream::{self, StreamExt};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;

use super::QUEUES_REST;
use super::packets::{insist, promises_are_kept};
use super::strike::{Victim, strike};
use crate::contract::packets::{rain, shares};
use crate::support::{Plan, Rung, Shop, Shopper, Stack, pause, seed};

/// Who claim at the same time, each by two tries at once.
const TOGETHER: usize = 100;
/// At least so many crashes.
const KILLS: usize = 4;
/// A hundred thousand shares take a while to be written.
const SETTLED_WITHIN: Duration = Duration::from_secs(180);

type Share = (i64, i64);

/// Everything that can die, in any order.
fn victims(rung: Rung, random: &mut StdRng) -> Vec<Victim> {
    let services: &[&str] = match rung {
        Rung::Sqlite => &[],
        Rung::Postgres => &["postgres"],
        Rung::Redis => &["postgres", "redis", "replica"],
        Rung::Rabbit => &["postgres", "redis", "replica", "rabbitmq"],
        Rung::Cluster => &["postgres", "shard0", "shard1", "shard2", "rabbitmq"],
    };
    let mut roles = rung.roles_apart().to_vec();
    roles.dedup();
    let mut victims: Vec<Victim> = roles.into_iter().map(Victim::Role).collect();
    victims.extend(services.iter().copied().map(Victim::Service));
    victims.shuffle(random);
    let kills = victims.len().max(KILLS);
    victims.into_iter().cycle().take(kills).collect()
}

/// Everybody tries twice at once and insists; what each of those who got something was told.
async fn everybody(people: Vec<(u64, Shopper)>, id: String, served: Arc<AtomicU64>) -> Vec<(u64, Share)> {
    let tries = people.into_iter().map(|(n, shopper)| {
        let (shopper, id, served) = (Arc::new(shopper), id.clone(), served.clone());
        async move {
            let (one, other) = join(insist(shopper.clone(), id.clone()), insist(shopper, id)).await;
            assert_eq!(one, other, "asking again is answered with the same");
            served.fetch_add(1, Ordering::Relaxed);
            one.map(|share| (n, share))
        }
    });
    stream::iter(tries).buffer_unordered(TOGETHER).filter_map(async |told| told).collect().await
}

async fn ends_well(rung: Rung) {
    let _mended = rung.needs_stack().then(|| Stack::get().mended());
    let mut random = StdRng::seed_from_u64(seed());
    let mut shop: Shop = Plan::on(rung).await.apart().set("SECKILL_USER_RATE", "1000").start().await;
    let (count, total) = (shares(), shares() * 100);
    let id = rain(&shop, json!({"total": total, "count": count, "min": 1, "max": 500})).await;
    pause(QUEUES_REST).await;
    let victims = victims(rung, &mut random);
    let (people, groups) = (count + count / 5, victims.len() as u64);
    let (mut told, served) = (BTreeMap::new(), Arc::new(AtomicU64::new(0)));
    for (group, victim) in (0..).zip(victims) {
        let group = people * group / groups..people * (group + 1) / groups;
        let crowd = group.clone().map(|n| (n, shop.shopper(n))).collect();
        let crowd = tokio::spawn(everybody(crowd, id.clone(), served.clone()));
        let instant = random.random_range(group);
        while served.load(Ordering::Relaxed) < instant && !crowd.is_finished() {
            pause(1).await;
        }
        let several = match victim {
            Victim::Role(role) => rung.roles_apart().iter().filter(|other| **other == role).count(),
            _ => 1,
        };
        strike(&mut shop, victim, random.random_range(0..several), random.random_range(50..600)).await;
        told.extend(crowd.await.unwrap());
    }
    assert_eq!(told.len() as u64, count, "everything is given away");
    let shares: HashSet<i64> = told.values().map(|(share, _)| *share).collect();
    assert_eq!(shares.len() as u64, count, "each share once");
    promises_are_kept(&shop, &id, &told, total as i64, SETTLED_WITHIN).await;
}

outlives! { ends_well:
    a_rain_on_sqlite_outlives_everything: Rung::Sqlite,
    a_rain_on_postgres_outlives_everything: Rung::Postgres,
    a_rain_on_redis_outlives_everything: Rung::Redis,
    a_rain_on_rabbit_outlives_everything: Rung::Rabbit,
    a_rain_on_a_cluster_outlives_everything: Rung::Cluster,
}
