//! Deposits: taken once with the right to take part, and given back in full.

use super::*;
use crate::draws::{draws, hold, order_of, own};
use crate::support::{assert_audit_finds_nothing, paid_order, pay};
use crate::wallet::fill;
use control::schedule::Deposits;
use domain::ledger::LedgerAccount;

const PRICE: i64 = 199_900;
const DEPOSIT: i64 = 1_000;

fn deposit() -> Value {
    json!({"deposit": {"amount": DEPOSIT, "currency": "CNY"}})
}

/// A deposit, with other fields of the sale.
fn deposit_and(mut more: Value) -> Value {
    more["deposit"] = deposit()["deposit"].clone();
    more
}

/// The balance, and the money that is set aside.
async fn wallet(client: &TestClient<'_>) -> (i64, i64) {
    let wallet = client.get("/api/wallet").await.json();
    let amounts = wallet["deposits"].as_array().unwrap().iter().map(|of| of["amount"]["amount"].as_i64().unwrap());
    let sum: i64 = amounts.sum();
    assert_eq!(wallet["set_aside"]["amount"], sum);
    (wallet["balance"]["amount"].as_i64().unwrap(), sum)
}

async fn give_back(shop: &TestShop) {
    Deposits::new(shop.parts.store.clone()).step().await.unwrap();
}

/// Closes the sale, and retires it.
async fn end(shop: &TestShop, sale: &str) {
    shop.advance(HOUR);
    shop.parts.store.sales().follow_schedule(id(sale)).await.unwrap().unwrap();
    shop.parts.store.sales().retire(id(sale), shop.parts.clock.now()).await.unwrap();
}

#[tokio::test]
async fn token_takes_the_deposit_once_and_the_paid_order_returns_it() {
    let (shop, sale) = rush(deposit()).await;
    let mei = shop.shopper("mei").await;
    assert_eq!(token(&mei, &sale).await.problem(), problem(409, "deposit_needed"));
    fill(&shop, &mei, DEPOSIT - 1).await;
    assert_eq!(token(&mei, &sale).await.problem(), problem(409, "deposit_needed"), "a cent is missing");
    assert_eq!(wallet(&mei).await, (DEPOSIT - 1, 0));
    fill(&shop, &mei, 501).await;
    let own = mei.get(&format!("/api/sales/{sale}/eligibility")).await.json();
    assert_eq!((&own["eligible"], &own["deposit"]["amount"]), (&json!(true), &json!(DEPOSIT)));
    assert_eq!(wallet(&mei).await, (1_500, 0), "to look takes nothing");

    let (one, two) = tokio::join!(token(&mei, &sale), token(&mei, &sale));
    assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200));
    assert_eq!(token(&mei, &sale).await.status, 200);
    assert_eq!(wallet(&mei).await, (500, DEPOSIT));
    let listed = mei.get("/api/wallet").await.json();
    assert_eq!(listed["deposits"][0]["sale_id"], sale);
    // The clock stands still, so all entries have the same time.
    let of_sale = |entry: &&Value| entry["sale"]["id"] == sale;
    let entries = listed["entries"].as_array().unwrap();
    let kinds: Vec<&Value> = entries.iter().filter(of_sale).map(|of| &of["kind"]).collect();
    assert_eq!(kinds, ["deposit"]);
    let page = mei.get("/en/wallet").await;
    assert!(page.text().contains("Set aside · ¥10<") && page.text().contains("Phone"), "{page:?}");
    assert!(mei.get("/zh/account").await.text().contains("暂存中 · ¥10<"));
    assert_audit_finds_nothing(&shop).await;
    give_back(&shop).await;
    assert_eq!(wallet(&mei).await, (500, DEPOSIT), "the sale goes on");

    paid_order(&shop, &mei, &sale).await;
    assert_eq!(wallet(&mei).await, (1_500, 0));
    assert_eq!(token(&mei, &sale).await.status, 200);
    assert_eq!(wallet(&mei).await, (1_500, 0), "the owner of an order owes none");
    let export = mei.get("/api/account/export").await.json();
    assert!(export["wallet"]["deposits"][0]["returned_at"].is_string(), "{export}");
    assert_audit_finds_nothing(&shop).await;
    end(&shop, &sale).await;
    give_back(&shop).await;
    assert_eq!(wallet(&mei).await, (1_500, 0), "it comes back once");
}

#[tokio::test]
async fn payment_from_the_wallet_may_spend_the_deposit() {
    let (shop, sale) = rush(deposit()).await;
    let mei = shop.shopper("mei").await;
    fill(&shop, &mei, PRICE).await;
    let (order, url) = mei.order(&sale).await;
    assert_eq!(wallet(&mei).await, (PRICE - DEPOSIT, DEPOSIT));
    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.text().contains("value=\"wallet\"") && page.text().contains("deposit of ¥10"), "{page:?}");
    let paid = mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await;
    assert_eq!(paid.status, 201, "{paid:?}");
    assert_eq!(wallet(&mei).await, (0, 0));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn deposits_come_back_when_the_sale_is_over() {
    let (shop, sale) = rush(deposit()).await;
    let (late, none) = (shop.shopper("late").await, shop.shopper("none").await);
    for client in [&late, &none] {
        fill(&shop, client, DEPOSIT).await;
        assert_eq!(token(client, &sale).await.status, 200);
    }
    // The first account lets the order expire.
    assert_eq!(late.buy(&sale, 1).await.status, 202);
    shop.advance(HOUR - Duration::from_secs(1));
    shop.parts.expiry().cancel_overdue().await.unwrap();
    shop.parts.expiry().release().await.unwrap();
    give_back(&shop).await;
    assert_eq!((wallet(&late).await, wallet(&none).await), ((0, DEPOSIT), (0, DEPOSIT)));
    end(&shop, &sale).await;
    let outlasting = shop.violations("").await;
    assert_eq!(outlasting.len(), 2, "{outlasting:?}");
    assert!(outlasting[0].contains("is over and still has a deposit of"), "{outlasting:?}");
    give_back(&shop).await;
    give_back(&shop).await;
    assert_eq!((wallet(&late).await, wallet(&none).await), ((DEPOSIT, 0), (DEPOSIT, 0)));
    let entries = none.get("/api/wallet").await.json()["entries"].as_array().unwrap().len();
    assert_eq!(entries, 3, "top-up, deposit, return");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn entry_of_a_draw_has_a_deposit_until_it_is_withdrawn_or_the_draw_is_settled() {
    let shop = TestShop::open_at(&hour_before()).await;
    let draw = deposit_and(json!({"mode": "draw", "total": 1, "draw_window_s": 7200, "draw_review_s": 600}));
    let sale = announce(&shop.admin().await, draw).await;
    let clients = [shop.shopper("mei").await, shop.shopper("wang").await, shop.shopper("lei").await];
    for client in &clients[..2] {
        fill(&shop, client, DEPOSIT).await;
    }
    open(&shop, &sale).await;
    let path = format!("/api/sales/{sale}/entry");
    let enter = async |client: &TestClient<'_>| client.post(&path, json!({})).await;
    assert_eq!(enter(&clients[2]).await.problem(), problem(409, "deposit_needed"));
    assert_eq!(clients[2].get(&path).await.status, 404, "no entry without its deposit");
    assert_eq!(enter(&clients[0]).await.status, 201);
    assert_eq!(enter(&clients[0]).await.status, 200);
    assert_eq!(wallet(&clients[0]).await, (0, DEPOSIT));
    for _ in 0..2 {
        assert_eq!(clients[0].delete(&path).await.status, 204);
        assert_eq!(wallet(&clients[0]).await, (DEPOSIT, 0));
    }
    for client in &clients[..2] {
        assert_eq!(enter(client).await.status, 201);
        assert_eq!(wallet(client).await, (0, DEPOSIT));
    }
    assert_audit_finds_nothing(&shop).await;

    hold(&shop, &sale).await;
    give_back(&shop).await;
    assert_eq!(wallet(&clients[0]).await.1 + wallet(&clients[1]).await.1, 2 * DEPOSIT, "the second may be next");
    let winner = if own(&clients[0], &sale).await["rank"] == 1 { &clients[0] } else { &clients[1] };
    pay(&shop, &winner.begin_payment(&order_of(winner, &sale).await).await).await;
    assert_eq!(wallet(winner).await, (DEPOSIT, 0));
    draws(&shop).step().await.unwrap();
    draws(&shop).step().await.unwrap();
    give_back(&shop).await;
    for client in &clients[..2] {
        assert_eq!(wallet(client).await, (DEPOSIT, 0));
    }
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn place_in_a_waiting_room_has_a_deposit_and_a_draft_returns_it() {
    let shop = TestShop::open_at(&hour_before()).await;
    let queue = deposit_and(json!({"mode": "queue", "queue_prequeue_s": 7200}));
    let admin = shop.admin().await;
    let sale = announce(&admin, queue).await;
    let (mei, poor) = (shop.shopper("mei").await, shop.shopper("poor").await);
    fill(&shop, &mei, DEPOSIT).await;
    shop.parts.catalogue.refresh().await.unwrap();
    let place = format!("/api/sales/{sale}/place");
    let (rich, refused) = tokio::join!(mei.post(&place, json!({})), poor.post(&place, json!({})));
    assert_eq!((rich.status.as_u16(), refused.problem()), (201, problem(409, "deposit_needed")));
    assert_eq!(mei.post(&place, json!({})).await.status, 200);
    assert_eq!(wallet(&mei).await, (0, DEPOSIT));
    assert!(poor.get(&place).await.json()["place"].is_null(), "no place without its deposit");
    assert_audit_finds_nothing(&shop).await;

    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/unschedule"), json!({})).await.status, 200);
    give_back(&shop).await;
    assert_eq!(wallet(&mei).await, (DEPOSIT, 0));
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/schedule"), json!({})).await.status, 200);
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(mei.post(&place, json!({})).await.status, 200, "the place stays");
    assert_eq!(wallet(&mei).await, (0, DEPOSIT), "the deposit is taken again");
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn waitlist_of_a_sale_has_a_deposit_that_leaving_returns() {
    let (shop, sale) = rush(deposit_and(json!({"total": 1}))).await;
    let (buyer, mei) = (shop.shopper("buyer").await, shop.shopper("mei").await);
    for client in [&buyer, &mei] {
        fill(&shop, client, DEPOSIT).await;
    }
    assert_eq!(buyer.buy(&sale, 1).await.status, 202);
    shop.parts.gate.refresh().await;
    let path = format!("/api/sales/{sale}/waitlist");
    assert_eq!(mei.post(&path, json!({"quantity": 1})).await.status, 201);
    assert_eq!(wallet(&mei).await, (0, DEPOSIT));
    assert_eq!(mei.delete(&path).await.status, 204);
    assert_eq!(wallet(&mei).await, (DEPOSIT, 0));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn deposit_of_a_deleted_account_is_given_up_with_its_wallet() {
    let (shop, sale) = rush(deposit()).await;
    let mei = shop.shopper("mei").await;
    fill(&shop, &mei, DEPOSIT).await;
    assert_eq!(token(&mei, &sale).await.status, 200);
    assert!(mei.get("/en/account").await.text().contains("I give up the ¥10 in my wallet, deposits"));
    assert_eq!(mei.delete_account("mei").await.problem(), problem(409, "wallet_not_empty"));
    assert_eq!(wallet(&mei).await, (0, DEPOSIT));
    let deletion = json!({"username": "mei", "password": "correct horse", "give_up_wallet": true});
    assert_eq!(mei.post("/api/account/delete", deletion).await.status, 204);
    let of_shop = LedgerAccount::Shop;
    assert_eq!(shop.parts.store.wallet().balance(of_shop).await.unwrap(), DEPOSIT);
    assert_audit_finds_nothing(&shop).await;
    end(&shop, &sale).await;
    give_back(&shop).await;
    assert_eq!(shop.parts.store.wallet().balance(of_shop).await.unwrap(), DEPOSIT);
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn pages_tell_of_the_deposit_and_lead_through_the_top_up_back() {
    let (shop, sale) = rush(deposit()).await;
    let mei = shop.shopper("mei").await;
    fill(&shop, &mei, 750).await;
    let buy = mei.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await;
    let rules = format!("/en/sales/{sale}/eligibility");
    assert_eq!((buy.status.as_u16(), buy.header("location")), (303, rules.as_str()));
    let page = mei.get(&rules).await;
    let link = format!("href=\"/en/wallet?sale={sale}\"");
    assert_contains(page.text(), &["<strong>¥10</strong>", "It comes back in full", "Please top up first", &link]);
    let top_up = mei.get(&format!("/en/wallet?sale={sale}")).await;
    let hidden = format!("<input type=\"hidden\" name=\"sale\" value=\"{sale}\">");
    assert!(top_up.text().contains("value=\"2.50\"") && top_up.text().contains(&hidden), "{top_up:?}");
    let wrong = mei.send_form("/en/wallet/top-ups", &format!("amount=0&sale={sale}")).await;
    assert!(wrong.is_page(422) && wrong.text().contains(&hidden));
    let begun = mei.send_form("/en/wallet/top-ups", &format!("amount=2.50&sale={sale}")).await;
    let cashier = begun.header("location").to_owned();
    assert!(mei.get(&cashier).await.text().contains(&format!("href=\"{rules}\"")), "{begun:?}");
    shop.make_payment(cashier.rsplit('/').next().unwrap().parse().unwrap()).await;
    assert!(mei.get(&rules).await.text().contains("You meet every condition"));
    assert_eq!(mei.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await.status, 303);
    assert_eq!(wallet(&mei).await, (0, DEPOSIT));
    shop.publish();
    let public = mei.get(&format!("/zh/sales/{sale}")).await;
    assert!(public.text().contains("保证金") && public.text().contains("¥10"), "{public:?}");
}

#[tokio::test]
async fn deposit_has_bounds_and_needs_the_currency_of_wallets() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let sale = announce(&admin, deposit()).await;
    let path = format!("/api/admin/sales/{sale}");
    for (amount, currency) in [(99, "CNY"), (1_000_001, "CNY"), (0, "CNY"), (-1, "CNY"), (1_000, "USD")] {
        let wanted = json!({"deposit": {"amount": amount, "currency": currency}});
        let refused = admin.patch(&path, wanted).await;
        let field = json!([{"field": "deposit", "code": "bad_deposit"}]);
        assert_eq!((refused.status.as_u16(), &refused.json()["fields"]), (422, &field), "{amount} {currency}");
    }
    let dollars = json!({"price": {"amount": 100, "currency": "USD"}});
    assert_eq!(admin.patch(&path, dollars.clone()).await.status, 422, "the deposit stays");
    let raised = admin.patch(&path, json!({"deposit": {"amount": 1_000_000, "currency": "CNY"}})).await.json();
    assert_eq!(raised["sale"]["deposit"]["amount"], 1_000_000);
    let removed = admin.patch(&path, json!({"deposit": null})).await.json();
    assert_eq!(removed["sale"]["deposit"], Value::Null);
    assert_eq!(admin.patch(&path, dollars).await.status, 200);
    let form = admin.get(&format!("/admin/sales/{sale}/edit?lang=en")).await;
    assert!(form.text().contains("name=\"deposit\"") && form.text().contains("Refundable deposit (CNY)"), "{form:?}");
}
