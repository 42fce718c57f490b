//! Many open packets: the limit of one giver, and a directory that reads only changed packets.

use super::*;
use domain::PacketId;
use domain::packet::{Giver, Packet, PacketState, Split};
use engine::packets::give::MAX_OPEN_PER_USER;
use engine::pipeline::outbox::ActiveBuckets;
use store::GiveOutcome;

impl TestShop {
    /// Gives a packet of one minor unit from the shop, without the API.
    async fn give_one(&self, id: i64, max_open: i64) -> GiveOutcome {
        let now = self.parts.store.now().await.unwrap();
        let packet = Packet {
            id: PacketId(id),
            giver: Giver::Shop,
            total: 1,
            count: 1,
            min: 1,
            max: 1,
            split: Split::default(),
            greeting: String::new(),
            own: true,
            opens_at: now,
            expires_at: now + std::time::Duration::from_secs(3600),
            buckets: 1,
            state: PacketState::Open,
            claimed: 0,
            claimed_amount: 0,
            epoch: 0,
            created_at: now,
            settled_at: None,
            best: None,
        };
        self.parts.store.packets().give(&packet, &[1], None, None, max_open).await.unwrap()
    }

    fn listed_packets(&self) -> usize {
        self.parts.directory.buckets().len()
    }
}

#[tokio::test]
async fn giver_has_a_bounded_number_of_open_packets() {
    open_shop!(shop, admin, [mei]);
    let rain = shop.fund(&admin, json!({"total": 1_000, "count": 1})).await;
    assert_eq!(mei.claim(&rain).await.status, 200);
    let one = json!({"total": 1, "count": 1});
    let mut given = Vec::new();
    for _ in 0..MAX_OPEN_PER_USER {
        given.push(mei.post("/api/packets", one.clone()).await.json()["packet"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(mei.post("/api/packets", one.clone()).await.problem(), problem(409, "too_many_packets"));
    assert!(mei.send_form("/en/packets", "total=0.01&count=1&split=bounded&own=yes").await.is_page(409));
    assert_eq!(admin.post("/api/admin/packets", one.clone()).await.status, 201, "the bound is each giver's");
    assert_eq!(admin.post(&format!("/api/admin/packets/{}/stop", given[0]), json!({})).await.status, 200);
    shop.step_packets().await;
    assert_eq!(mei.post("/api/packets", one).await.status, 201, "one of them is over");
}

#[tokio::test]
async fn packets_cannot_be_found_by_guessing() {
    open_shop!(shop, admin, [mei]);
    let packet = shop.fund(&admin, json!({"total": 9, "count": 1})).await;
    let guess = |n: i64| format!("/api/packets/{}", 100_000_000_000 + n);
    for n in 0..10 {
        assert_eq!(shop.visitor().get(&guess(n)).await.problem(), problem(404, "no_such_packet"));
    }
    let guessed = shop.visitor().get(&guess(10)).await;
    assert_eq!((guessed.problem(), guessed.header("retry-after")), (problem(429, "rate_limited"), "10"));
    for path in ["/api/packets/{}", "/en/packets/{}", "/en/packets/{}/result"] {
        let answer = shop.visitor().get(&path.replace("{}", &packet)).await;
        assert_eq!(answer.status, 429, "{path} is not told from one that does not exist");
    }
    let claim = async |n: i64| mei.post(&format!("{}/claims", guess(n)), json!({})).await.problem();
    for n in 0..10 {
        assert_eq!(claim(n).await, problem(404, "no_such_packet"), "a user's own bound");
    }
    assert_eq!(claim(10).await, problem(429, "rate_limited"));
    assert_eq!(mei.claim(&packet).await.status, 429);
}

#[tokio::test]
async fn directory_follows_packets_that_are_given_and_settled() {
    let shop = TestShop::open().await;
    shop.parts.directory.refresh().await.unwrap();
    for id in 1..=3 {
        assert!(matches!(shop.give_one(100_000_000_000 + id, 10).await, GiveOutcome::Created(_)));
    }
    assert_eq!(shop.listed_packets(), 0);
    shop.parts.directory.refresh().await.unwrap();
    assert_eq!(shop.listed_packets(), 3);
    // Looks neither new nor newly settled, so the directory does not read the row again.
    shop.execute("UPDATE packets SET created_at_ms = 1, state = 'settled' WHERE id = 100000000001").await;
    shop.parts.directory.refresh().await.unwrap();
    assert_eq!(shop.listed_packets(), 3);
    let over = shop.parts.store.packets().stop(PacketId(100_000_000_002), "test").await.unwrap();
    assert!(matches!(over, store::StopOutcome::Done(_)), "{over:?}");
    shop.step_packets().await;
    shop.parts.directory.refresh().await.unwrap();
    assert_eq!(shop.listed_packets(), 2);
    assert!(matches!(shop.give_one(100_000_000_009, 1).await, GiveOutcome::TooMany));
}

#[tokio::test]
async fn idle_packets_are_looked_at_in_turn_and_active_ones_always() {
    let shop = TestShop::open().await;
    let rows = (1..=2_000).map(|n| {
        let id = 100_000_000_000_i64 + n * 449_000_000;
        format!("({id}, 1, 1, 1, 1, 'bounded', '', 1, 1, 9000000000000, 1, 'open', 1)")
    });
    let sql = format!(
        "INSERT INTO packets (id, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms, buckets,
         state, created_at_ms) VALUES {}",
        rows.collect::<Vec<_>>().join(",")
    );
    shop.execute(sql).await;
    let directory = &shop.parts.directory;
    directory.refresh().await.unwrap();
    let claimed = PacketId(100_000_000_000 + 449_000_000);
    assert!(directory.find(claimed).await.unwrap().is_some());
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let buckets = directory.buckets();
        assert!(buckets.len() <= 257, "{}", buckets.len());
        assert!(buckets.iter().any(|bucket| bucket.packet() == Some(claimed)), "a packet with claims");
        seen.extend(buckets);
    }
    assert_eq!(seen.len(), 2_000, "every packet has its turn");
}
