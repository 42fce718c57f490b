//! Accounts that pay with one card.

use super::*;

#[tokio::test]
async fn accounts_that_pay_with_one_card_are_linked() {
    open_shop!(shop = TestShop::open_at(&Clock::manual("2026-11-21T12:00:00Z".parse().unwrap())), admin, sale = 10);
    let cards = [("mei", Some("4242")), ("wang", Some("4242")), ("lin", Some("1881")), ("zhao", None)];
    for (name, card) in cards {
        let who = shop.shopper(name).await;
        let (_, url) = who.order(&sale).await;
        let begun = who.post(&format!("{url}/payments?lang=en"), json!({})).await.json();
        let cashier = begun["checkout_url"].as_str().unwrap().to_owned();
        let shown = who.get(&cashier).await;
        assert!(shown.text().contains("Pay with card ending 4242"), "{shown:?}");
        let pay = card.map_or_else(|| format!("{cashier}/pay"), |card| format!("{cashier}/pay?card={card}"));
        assert_eq!(who.send_form(&pay, "").await.status, 303);
        // The shop of this test has no socket, so the webhook waits for another attempt. The test delivers it by hand.
        shop.advance(std::time::Duration::from_secs(2));
        let queued = shop.webhooks_of(begun["payment"]["id"].as_str().unwrap()).await;
        assert_eq!(queued["data"]["instrument"].as_str(), card.map(|card| format!("card {card}")).as_deref());
        for _ in 0..2 {
            let told = shop.report(&format!("msg_{name}"), "payment.captured", queued["data"].clone()).await;
            assert_eq!(told.status, 204);
        }
        assert_eq!(who.get(&url).await.json()["order"]["status"], "paid");
        let export = who.get("/api/account/export").await.json();
        let signals = export["signals"].as_array().unwrap().iter();
        let noted: Vec<&Value> = signals.filter(|link| link["kind"] == "instrument").collect();
        assert_eq!(noted.len(), usize::from(card.is_some()), "{export}");
        assert!(noted.iter().all(|link| link["sale_id"] == sale && !link["digest"].to_string().contains("4242")));
    }
    let path = only_group(&admin, &sale, 2).await;
    let page = admin.get(&format!("{path}?lang=en")).await;
    assert!(page.text().contains("Same payment instrument: 2 accounts"), "{}", page.text());
    for (name, is_member) in [("mei", true), ("wang", true), ("lin", false), ("zhao", false)] {
        assert_eq!(page.text().contains(&format!("<bdi>{name}</bdi>")), is_member, "{name}");
    }
    assert_audit_finds_nothing(&shop).await;
}

impl TestShop {
    /// The body of the webhook about a payment that the sandbox has not delivered yet.
    async fn webhooks_of(&self, payment: &str) -> Value {
        let queued = self.parts.store.sandbox().webhooks_due(100).await.unwrap();
        let bodies = queued.iter().map(|webhook| serde_json::from_str::<Value>(&webhook.body).unwrap());
        bodies.into_iter().find(|body| body["data"]["payment_id"] == payment).unwrap()
    }
}
