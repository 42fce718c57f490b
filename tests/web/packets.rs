//! Red packets with SQLite only: giving, claiming, the luckiest, the return of unclaimed money, and refused requests.

use super::support::assert_audit_finds_nothing;
use super::*;
use domain::ledger::LedgerAccount;
use domain::packet::Giver;
use domain::{PacketId, UserId};
use engine::packets::{ClaimRefusal, ClaimedShare, GiveRequest};

impl TestShop {
    /// Gives a packet of the shop. Returns its id.
    pub(super) async fn fund(&self, admin: &TestClient<'_>, request: Value) -> String {
        let answer = admin.post("/api/admin/packets", request).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["packet"]["id"].as_str().unwrap().to_owned()
    }

    async fn balance(&self, name: &str) -> i64 {
        self.parts.store.wallet().balance(LedgerAccount::User(self.user(name).await.id)).await.unwrap()
    }

    /// One step of data control for packets.
    pub(super) async fn step_packets(&self) {
        self.parts.packet_settler().step().await.unwrap();
    }

    /// Fills a wallet with a one-share packet of the shop.
    async fn fill_wallet(&self, admin: &TestClient<'_>, client: &TestClient<'_>, amount: i64) {
        let id = self.fund(admin, json!({"total": amount, "count": 1})).await;
        assert_eq!(client.claim(&id).await.status, 200);
        self.step_packets().await;
    }
}

impl TestClient<'_> {
    pub(super) async fn claim(&self, packet: &str) -> TestResponse {
        self.post(&format!("/api/packets/{packet}/claims"), json!({})).await
    }
}

fn amount(answer: &TestResponse) -> i64 {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["claim"]["amount"]["amount"].as_i64().unwrap()
}

#[tokio::test]
async fn packet_is_given_claimed_and_settled_with_the_luckiest() {
    open_shop!(shop, admin);
    let (mei, lei, bo) = (shop.shopper("mei").await, shop.shopper("lei").await, shop.shopper("bob").await);
    shop.fill_wallet(&admin, &mei, 1_000).await;
    let request = json!({
        "total": {"amount": 900, "currency": "CNY"}, "count": 2, "min": 100, "max": 800,
        "greeting": " 恭喜发财 <b> ", "key": "one-request",
    });
    let given = mei.post("/api/packets", request.clone()).await;
    assert_eq!(given.status, 201, "{}", given.text());
    let id = given.json()["packet"]["id"].as_str().unwrap().to_owned();
    assert!(given.json()["share_url"].as_str().unwrap().ends_with(&format!("/packets/{id}")));
    assert_eq!(given.json()["packet"]["greeting"], "恭喜发财 <b>");
    assert_eq!(mei.post("/api/packets", request).await.json()["packet"]["id"], json!(id), "the same key gives once");
    assert_eq!(shop.balance("mei").await, 100);

    let own = amount(&mei.claim(&id).await);
    let again = mei.claim(&id).await.json();
    assert_eq!((&again["claim"]["amount"]["amount"], &again["repeated"]), (&json!(own), &json!(true)));
    let other = amount(&lei.claim(&id).await);
    assert!((100..=800).contains(&own) && own + other == 900);
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_empty"));
    assert_eq!(shop.visitor().claim(&id).await.problem(), problem(401, "not_signed_in"));

    let shown = shop.visitor().get(&format!("/api/packets/{id}")).await.json();
    assert_eq!((&shown["packet"]["phase"], &shown["packet"]["luckiest"]), (&json!("empty"), &json!(null)));
    shop.step_packets().await;
    shop.step_packets().await;
    let shown = mei.get(&format!("/api/packets/{id}")).await.json();
    let luckiest = if other > own { "lei" } else { "mei" };
    let luckiest = json!({"username": luckiest, "amount": {"amount": own.max(other), "currency": "CNY"}});
    assert_eq!(shown["packet"]["luckiest"], luckiest);
    let claims = shown["claims"].as_array().unwrap();
    let names: Vec<&str> = claims.iter().map(|claim| claim["username"].as_str().unwrap()).collect();
    assert_eq!((names, &shown["mine"]["amount"]), (vec!["lei", "mei"], &json!(own)));
    assert_eq!(claims.iter().filter(|claim| claim["luckiest"] == true).count(), 1);
    // Claims on a settled packet are answered from the database.
    assert_eq!(amount(&lei.claim(&id).await), other);
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_empty"));

    let given = mei.get("/api/packets?given").await.json();
    assert_eq!((&given["packets"][0]["id"], &given["next"]), (&json!(id), &json!(null)));
    let received = lei.get("/api/packets?received").await.json();
    assert_eq!((&received["packets"][0]["id"], &received["packets"][0]["mine"]["amount"]), (&json!(id), &json!(other)));
    assert_eq!((shop.balance("mei").await, shop.balance("lei").await), (100 + own, other));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn unclaimed_rest_returns_to_the_giver_once() {
    open_shop!(shop, admin, [mei, lei]);
    shop.fill_wallet(&admin, &mei, 500).await;
    let request = json!({"total": 500, "count": 5, "split": "equal", "own": false});
    let id = mei.post("/api/packets", request).await.json()["packet"]["id"].as_str().unwrap().to_owned();
    assert_eq!(mei.claim(&id).await.problem(), problem(409, "own_packet"));
    assert_eq!(amount(&lei.claim(&id).await), 100);
    let stop = format!("/api/admin/packets/{id}/stop");
    assert_eq!(mei.post(&stop, json!({})).await.problem(), problem(404, "not_found"));
    assert_eq!(admin.post(&stop, json!({})).await.json()["packet"]["phase"], "expired");
    assert_eq!(admin.post(&stop, json!({})).await.problem(), problem(409, "packet_expired"));
    let bo = shop.shopper("bob").await;
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_expired"));
    for _ in 0..3 {
        shop.step_packets().await;
    }
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_expired"));
    assert_eq!(amount(&lei.claim(&id).await), 100, "a claimed share stays");
    let shown = shop.visitor().get(&format!("/api/packets/{id}")).await.json();
    assert_eq!(shown["packet"]["returned"]["amount"], 400);
    assert_eq!(shown["packet"]["luckiest"]["username"], "lei");
    assert_eq!((shop.balance("mei").await, shop.balance("lei").await), (400, 100));
    let log = admin.audit_log().await;
    assert_eq!((&log[0]["action"], &log[0]["subject"]), (&json!("stop"), &json!(format!("packet {id}"))));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn refused_packet_moves_no_money() {
    open_shop!(shop, admin, [mei]);
    shop.fill_wallet(&admin, &mei, 1_000).await;
    let wrong = async |request: Value| {
        let answer = mei.post("/api/packets", request).await;
        let fields = answer.json()["fields"][0].clone();
        (answer.status.as_u16(), fields["field"].as_str().unwrap_or_default().to_owned(), answer.code())
    };
    let invalid = |field: &str| (422, field.to_owned(), "invalid".to_owned());
    for (request, field) in [
        (json!({"total": 0, "count": 1}), "total"),
        (json!({"total": -5, "count": 1}), "total"),
        (json!({"total": 1.5, "count": 1}), "total"),
        (json!({"total": "5", "count": 1}), "total"),
        (json!({"total": {"amount": 5, "currency": "USD"}, "count": 1}), "total"),
        (json!({"total": 9_007_199_254_740_992_i64, "count": 1}), "total"),
        (json!({"total": 5, "count": 0}), "count"),
        (json!({"total": 5, "count": 2.5}), "count"),
        (json!({"total": 5_000, "count": 1_001}), "count"),
        (json!({"total": 5, "count": 6}), "count"),
        (json!({"total": 5, "count": 6, "min": 1}), "min"),
        (json!({"total": 5, "count": 5, "min": 0}), "min"),
        (json!({"total": 5, "count": 2, "min": 2, "max": 1}), "max"),
        (json!({"total": 5, "count": 2, "min": 1, "max": 2}), "max"),
        (json!({"total": 5, "count": 2, "greeting": "x".repeat(101)}), "greeting"),
        (json!({"total": 5, "count": 2, "greeting": "a\u{0}b"}), "greeting"),
        (json!({"total": 5, "count": 2, "split": "fair"}), "split"),
        (json!({"total": 5, "count": 2, "opens_at": "2020-01-01T00:00:00Z"}), "opens_at"),
        (json!({"total": 5, "count": 2, "opens_at": "2099-01-01T00:00:00Z"}), "opens_at"),
        (json!({"total": 5, "count": 2, "to": "lei"}), "to"),
        (json!({"count": 2}), "total"),
    ] {
        assert_eq!(wrong(request.clone()).await, invalid(field), "{request}");
    }
    let poor = mei.post("/api/packets", json!({"total": 1_001, "count": 2})).await;
    assert_eq!(poor.problem(), problem(409, "not_enough"));
    let shops = mei.post("/api/packets", json!({"total": 5, "count": 2, "from": "shop"})).await;
    assert_eq!(shops.problem(), problem(403, "not_allowed"));
    let small = json!({"total": 5, "count": 2});
    assert_eq!(mei.post("/api/admin/packets", small.clone()).await.problem(), problem(404, "not_found"));
    assert_eq!(shop.visitor().post("/api/packets", small).await.problem(), problem(401, "not_signed_in"));
    assert_eq!(mei.claim("7").await.problem(), problem(404, "no_such_packet"));
    assert_eq!(mei.claim("0").await.problem(), problem(404, "not_found"));
    assert_eq!(shop.visitor().get("/api/packets/7").await.problem(), problem(404, "no_such_packet"));
    assert_eq!(shop.balance("mei").await, 1_000);
    assert_eq!(mei.get("/api/packets?given").await.json()["packets"], json!([]));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn packet_of_the_staff_is_paid_by_the_shop_and_not_claimable_early() {
    open_shop!(shop, admin, [mei]);
    let soon = (shop.parts.clock.now() + std::time::Duration::from_secs(3600)).to_string();
    let request = json!({"total": 100_000, "count": 2_000, "opens_at": soon});
    let given = admin.post("/api/packets", request).await.json();
    let id = given["packet"]["id"].as_str().unwrap();
    assert_eq!((&given["packet"]["from"], &given["packet"]["phase"]), (&json!("shop"), &json!("upcoming")));
    assert_eq!(mei.claim(id).await.problem(), problem(409, "packet_not_open"));
    // The backend decides, not the directory.
    let outcome = shop.parts.packets.claim(shop.user("mei").await.id, id.parse().unwrap()).await;
    assert_eq!(outcome, Err(ClaimRefusal::NotOpen));
    let all = admin.get("/api/admin/packets").await.json();
    assert_eq!((&all["packets"][0]["id"], &all["packets"][0]["giver"]), (&json!(id), &json!(null)));
    assert_eq!(shop.parts.store.wallet().balance(LedgerAccount::Shop).await.unwrap(), -100_000);
    admin.post(&format!("/api/admin/packets/{id}/stop"), json!({})).await;
    shop.step_packets().await;
    assert_eq!(shop.parts.store.wallet().balance(LedgerAccount::Shop).await.unwrap(), 0);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn concurrent_claims_get_distinct_shares_and_pages_list_all() {
    const SHARES: i64 = 120;
    open_shop!(shop, admin);
    let id = shop.fund(&admin, json!({"total": 100_000, "count": SHARES, "split": "double_average"})).await;
    let packet: PacketId = id.parse().unwrap();
    let users: Vec<UserId> = (0..SHARES as u128 + 30).map(|n| UserId(uuid::Uuid::from_u128(n + 1))).collect();
    let tries = users.iter().chain(&users).map(|user| shop.parts.packets.claim(*user, packet));
    let outcomes = futures::future::join_all(tries).await;
    let share = |claimed| match claimed {
        ClaimedShare::New(share) | ClaimedShare::Repeated(share) => share,
    };
    let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.ok()).map(share).collect();
    assert_eq!(won.len() as i64, 2 * SHARES);
    let distinct: std::collections::BTreeSet<_> = won.iter().copied().collect();
    assert_eq!(distinct.len() as i64, SHARES);
    assert_eq!(distinct.iter().map(|share| share.amount).sum::<i64>(), 100_000);
    let (mut seen, mut before) = (0, String::new());
    loop {
        let page = shop.visitor().get(&format!("/api/packets/{id}{before}")).await.json();
        seen += page["claims"].as_array().unwrap().len();
        let Some(next) = page["next"].as_i64() else { break };
        before = format!("?before={next}");
    }
    assert_eq!(seen as i64, SHARES);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn preview_splits_without_giving() {
    let shop = TestShop::open().await;
    let request = GiveRequest {
        total: 1_000,
        count: 9,
        min: None,
        max: None,
        split: Default::default(),
        greeting: String::new(),
        own: true,
        opens_at: None,
        key: None,
    };
    let shares = shop.parts.packets.preview(Giver::Shop, &request).unwrap();
    assert_eq!((shares.len(), shares.iter().sum::<i64>()), (9, 1_000));
    assert_eq!(shop.parts.store.packets().open().await.unwrap(), []);
}
