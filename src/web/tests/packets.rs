//! Red packets on the lowest rung: giving, claiming, the luckiest, what goes back; and everything that must not move.

use super::*;
use crate::domain::packet::Giver;
use crate::domain::wallet::Account;
use crate::domain::{PacketId, UserId};
use crate::packets::{ClaimRefusal, Wish};

impl TestShop {
    /// A packet of the shop; its id.
    async fn rain(&self, admin: &Guest<'_>, wish: Value) -> String {
        let answer = admin.post("/api/admin/packets", wish).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["packet"]["id"].as_str().unwrap().to_owned()
    }

    async fn user_id(&self, name: &str) -> UserId {
        self.parts.store.user_named(name).await.unwrap().unwrap().id
    }

    async fn balance(&self, name: &str) -> i64 {
        self.parts.store.wallet_balance(Account::User(self.user_id(name).await)).await.unwrap()
    }

    /// What data control does about packets.
    async fn tend(&self) {
        self.parts.control().packets.tend().await.unwrap();
    }

    async fn books_are_right(&self) {
        for check in self.parts.audit().look().await.unwrap() {
            assert!(check.violations.is_empty(), "{}: {:?}", check.promise, check.violations);
        }
    }

    /// Fills a wallet by way of a packet of the shop with one share.
    async fn enrich(&self, admin: &Guest<'_>, guest: &Guest<'_>, amount: i64) {
        let id = self.rain(admin, json!({"total": amount, "count": 1})).await;
        assert_eq!(guest.claim(&id).await.status, 200);
        self.tend().await;
    }
}

impl Guest<'_> {
    async fn claim(&self, packet: &str) -> Answer {
        self.post(&format!("/api/packets/{packet}/claims"), json!({})).await
    }
}

fn amount(answer: &Answer) -> i64 {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["claim"]["amount"]["amount"].as_i64().unwrap()
}

#[tokio::test]
async fn a_packet_is_given_claimed_and_the_luckiest_is_named() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (mei, lei, bo) = (shop.shopper("mei").await, shop.shopper("lei").await, shop.shopper("bob").await);
    shop.enrich(&admin, &mei, 1_000).await;
    let wish = json!({
        "total": {"amount": 900, "currency": "CNY"}, "count": 2, "min": 100, "max": 800,
        "greeting": " 恭喜发财 <b> ", "key": "one-wish",
    });
    let given = mei.post("/api/packets", wish.clone()).await;
    assert_eq!(given.status, 201, "{}", given.text());
    let id = given.json()["packet"]["id"].as_str().unwrap().to_owned();
    assert!(given.json()["share_url"].as_str().unwrap().ends_with(&format!("/packets/{id}")));
    assert_eq!(given.json()["packet"]["greeting"], "恭喜发财 <b>");
    assert_eq!(mei.post("/api/packets", wish).await.json()["packet"]["id"], json!(id), "the same wish gives once");
    assert_eq!(shop.balance("mei").await, 100);

    let own = amount(&mei.claim(&id).await);
    let again = mei.claim(&id).await.json();
    assert_eq!((&again["claim"]["amount"]["amount"], &again["repeated"]), (&json!(own), &json!(true)));
    let other = amount(&lei.claim(&id).await);
    assert!((100..=800).contains(&own) && own + other == 900);
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_empty"));
    assert_eq!(shop.anybody().claim(&id).await.problem(), problem(401, "not_signed_in"));

    let look = shop.anybody().get(&format!("/api/packets/{id}")).await.json();
    assert_eq!((&look["packet"]["phase"], &look["packet"]["luckiest"]), (&json!("empty"), &json!(null)));
    shop.tend().await;
    shop.tend().await;
    let look = mei.get(&format!("/api/packets/{id}")).await.json();
    let luckiest = if other > own { "lei" } else { "mei" };
    assert_eq!(
        look["packet"]["luckiest"],
        json!({"username": luckiest, "amount": {"amount": own.max(other), "currency": "CNY"}})
    );
    let claims = look["claims"].as_array().unwrap();
    let names: Vec<&str> = claims.iter().map(|claim| claim["username"].as_str().unwrap()).collect();
    assert_eq!((names, &look["mine"]["amount"]), (vec!["lei", "mei"], &json!(own)));
    assert_eq!(claims.iter().filter(|claim| claim["luckiest"] == true).count(), 1);
    // Settled packets answer from the books.
    assert_eq!(amount(&lei.claim(&id).await), other);
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_empty"));

    let given = mei.get("/api/packets?given").await.json();
    assert_eq!((&given["packets"][0]["id"], &given["next"]), (&json!(id), &json!(null)));
    let received = lei.get("/api/packets?received").await.json();
    assert_eq!((&received["packets"][0]["id"], &received["packets"][0]["mine"]["amount"]), (&json!(id), &json!(other)));
    assert_eq!((shop.balance("mei").await, shop.balance("lei").await), (100 + own, other));
    shop.books_are_right().await;
}

#[tokio::test]
async fn what_is_left_goes_back_once() {
    let shop = TestShop::open().await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    shop.enrich(&admin, &mei, 500).await;
    let wish = json!({"total": 500, "count": 5, "split": "equal", "own": false});
    let id = mei.post("/api/packets", wish).await.json()["packet"]["id"].as_str().unwrap().to_owned();
    assert_eq!(mei.claim(&id).await.problem(), problem(409, "own_packet"));
    assert_eq!(amount(&lei.claim(&id).await), 100);
    assert_eq!(
        mei.post(&format!("/api/admin/packets/{id}/stop"), json!({})).await.problem(),
        problem(404, "not_found")
    );
    let stopped = admin.post(&format!("/api/admin/packets/{id}/stop"), json!({})).await;
    assert_eq!(stopped.json()["packet"]["phase"], "expired");
    assert_eq!(
        admin.post(&format!("/api/admin/packets/{id}/stop"), json!({})).await.problem(),
        problem(409, "packet_expired")
    );
    let bo = shop.shopper("bob").await;
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_expired"));
    for _ in 0..3 {
        shop.tend().await;
    }
    assert_eq!(bo.claim(&id).await.problem(), problem(409, "packet_expired"));
    assert_eq!(amount(&lei.claim(&id).await), 100, "whoever has a share keeps it");
    let look = shop.anybody().get(&format!("/api/packets/{id}")).await.json();
    assert_eq!(look["packet"]["returned"]["amount"], 400);
    assert_eq!(look["packet"]["luckiest"]["username"], "lei");
    assert_eq!((shop.balance("mei").await, shop.balance("lei").await), (400, 100));
    let log = admin.get("/api/admin/audit-log").await.json();
    assert_eq!(
        (&log["entries"][0]["action"], &log["entries"][0]["subject"]),
        (&json!("stop"), &json!(format!("packet {id}")))
    );
    shop.books_are_right().await;
}

#[tokio::test]
async fn nothing_moves_when_the_wish_cannot_be() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    shop.enrich(&admin, &mei, 1_000).await;
    let wrong = async |wish: Value| {
        let answer = mei.post("/api/packets", wish).await;
        let fields = answer.json()["fields"][0].clone();
        (answer.status.as_u16(), fields["field"].as_str().unwrap_or_default().to_owned(), answer.code())
    };
    let invalid = |field: &str| (422, field.to_owned(), "invalid".to_owned());
    for (wish, field) in [
        (json!({"total": 0, "count": 1}), "total"),
        (json!({"total": -5, "count": 1}), "total"),
        (json!({"total": 1.5, "count": 1}), "total"),
        (json!({"total": "5", "count": 1}), "total"),
        (json!({"total": {"amount": 5, "currency": "USD"}, "count": 1}), "total"),
        (json!({"total": 9_007_199_254_740_992_i64, "count": 1}), "total"),
        (json!({"total": 5, "count": 0}), "count"),
        (json!({"total": 5, "count": 2.5}), "count"),
        (json!({"total": 5_000, "count": 1_001}), "count"),
        (json!({"total": 5, "count": 6}), "min"),
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
        assert_eq!(wrong(wish.clone()).await, invalid(field), "{wish}");
    }
    let poor = mei.post("/api/packets", json!({"total": 1_001, "count": 2})).await;
    assert_eq!(poor.problem(), problem(409, "not_enough"));
    let shops = mei.post("/api/packets", json!({"total": 5, "count": 2, "from": "shop"})).await;
    assert_eq!(shops.problem(), problem(403, "not_allowed"));
    assert_eq!(
        mei.post("/api/admin/packets", json!({"total": 5, "count": 2})).await.problem(),
        problem(404, "not_found")
    );
    let nobody = shop.anybody().post("/api/packets", json!({"total": 5, "count": 2})).await;
    assert_eq!(nobody.problem(), problem(401, "not_signed_in"));
    assert_eq!(mei.claim("7").await.problem(), problem(404, "no_such_packet"));
    assert_eq!(mei.claim("0").await.problem(), problem(404, "not_found"));
    assert_eq!(shop.anybody().get("/api/packets/7").await.problem(), problem(404, "no_such_packet"));
    assert_eq!(shop.balance("mei").await, 1_000);
    assert_eq!(mei.get("/api/packets?given").await.json()["packets"], json!([]));
    shop.books_are_right().await;
}

#[tokio::test]
async fn nobody_claims_too_early_and_the_shop_pays_for_what_its_staff_gives() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let soon = (shop.parts.clock.now() + std::time::Duration::from_secs(3600)).to_string();
    let wish = json!({"total": 100_000, "count": 2_000, "opens_at": soon});
    let given = admin.post("/api/packets", wish).await.json();
    let id = given["packet"]["id"].as_str().unwrap();
    assert_eq!((&given["packet"]["from"], &given["packet"]["phase"]), (&json!("shop"), &json!("upcoming")));
    assert_eq!(mei.claim(id).await.problem(), problem(409, "packet_not_open"));
    // Whatever the board believes, the backend decides.
    let outcome = shop.parts.packets.claim(shop.user_id("mei").await, id.parse().unwrap()).await;
    assert_eq!(outcome, Err(ClaimRefusal::NotOpen));
    let all = admin.get("/api/admin/packets").await.json();
    assert_eq!((&all["packets"][0]["id"], &all["packets"][0]["giver"]), (&json!(id), &json!(null)));
    assert_eq!(shop.parts.store.wallet_balance(Account::Shop).await.unwrap(), -100_000);
    admin.post(&format!("/api/admin/packets/{id}/stop"), json!({})).await;
    shop.tend().await;
    assert_eq!(shop.parts.store.wallet_balance(Account::Shop).await.unwrap(), 0);
    shop.books_are_right().await;
}

#[tokio::test]
async fn many_claim_at_once_and_pages_show_them_all() {
    const SHARES: i64 = 120;
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let id = shop.rain(&admin, json!({"total": 100_000, "count": SHARES, "split": "double_average"})).await;
    let packet: PacketId = id.parse().unwrap();
    let users: Vec<UserId> = (0..SHARES as u128 + 30).map(|n| UserId(uuid::Uuid::from_u128(n + 1))).collect();
    let tries = users.iter().chain(&users).map(|user| shop.parts.packets.claim(*user, packet));
    let outcomes = futures::future::join_all(tries).await;
    let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.ok()).map(|claimed| claimed.share()).collect();
    assert_eq!(won.len() as i64, 2 * SHARES);
    let distinct: std::collections::BTreeSet<_> = won.iter().copied().collect();
    assert_eq!(distinct.len() as i64, SHARES);
    assert_eq!(distinct.iter().map(|share| share.amount).sum::<i64>(), 100_000);
    let (mut seen, mut before) = (0, String::new());
    loop {
        let page = shop.anybody().get(&format!("/api/packets/{id}{before}")).await.json();
        seen += page["claims"].as_array().unwrap().len();
        let Some(next) = page["next"].as_i64() else { break };
        before = format!("?before={next}");
    }
    assert_eq!(seen as i64, SHARES);
    shop.books_are_right().await;
}

#[tokio::test]
async fn a_preview_is_a_split_that_gives_nothing() {
    let shop = TestShop::open().await;
    let wish = Wish {
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
    let shares = shop.parts.packets.preview(Giver::Shop, &wish).unwrap();
    assert_eq!((shares.len(), shares.iter().sum::<i64>()), (9, 1_000));
    assert_eq!(shop.parts.store.open_packets().await.unwrap(), []);
}
