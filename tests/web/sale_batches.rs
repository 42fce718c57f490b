//! Actions of the console on several sales.

use super::*;

const OPENS: &str = "2099-05-05T12:00:00Z";

/// A sale, of its own goods, that opens in many years.
async fn announced(admin: &TestClient<'_>) -> String {
    let goods = json!({"name": {"zh": "手机", "en": "Phone"}, "description": {"zh": "", "en": ""}});
    let goods = admin.post("/api/admin/goods", goods).await.json();
    sale_of(admin, goods["goods"]["id"].as_str().unwrap(), json!(OPENS), false).await
}

async fn sale_of(admin: &TestClient<'_>, goods: &str, opens: Value, draft: bool) -> String {
    let sale = json!({
        "goods_id": goods, "price": {"amount": 500, "currency": "CNY"}, "total": 10, "per_user_limit": 1,
        "opens_at": opens, "closes_at": "2099-05-05T13:00:00Z", "draft": draft,
    });
    let answer = admin.post("/api/admin/sales", sale).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["sale"]["id"].as_str().unwrap().to_owned()
}

async fn summary(admin: &TestClient<'_>, action: &str, ids: &[&str]) -> TestResponse {
    let ids: Vec<String> = ids.iter().map(|id| format!("id={id}")).collect();
    admin.send_form("/admin/sales/bulk?lang=en", &format!("{}&action={action}", ids.join("&"))).await
}

async fn act(admin: &TestClient<'_>, action: &str, ids: &[&str], more: &str) -> TestResponse {
    let form = format!("ids={}&{more}", ids.join("+"));
    admin.send_form(&format!("/admin/sales/bulk/{action}?lang=en"), &form).await
}

async fn state(admin: &TestClient<'_>, sale: &str) -> String {
    let answer = admin.get(&format!("/api/admin/sales/{sale}")).await.json();
    answer["sale"]["state"].as_str().unwrap_or("none").to_owned()
}

async fn log_lines(admin: &TestClient<'_>, action: &str, sale: &str) -> usize {
    let log = admin.get(&format!("/api/admin/audit-log?action={action}&subject=sale+{sale}")).await;
    log.json()["entries"].as_array().unwrap().len()
}

#[tokio::test]
async fn sales_are_paused_together_and_resumed_by_the_undo() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (one, other, later) =
        (shop.open_sale(&admin, 5).await, shop.open_sale(&admin, 5).await, announced(&admin).await);
    let all = [one.as_str(), later.as_str(), "999999", other.as_str()];
    let before = summary(&admin, "pause", &all).await;
    assert!(before.is_page(200) && before.text().contains("2 sales will be paused. Left out: 2."), "{}", before.text());
    assert!(before.text().contains("its status is “Scheduled”") && before.text().contains("no such item"));
    assert_eq!(state(&admin, &one).await, "live", "the summary changes nothing");
    assert!(act(&admin, "pause", &all, "").await.is_page(422), "it has to be confirmed");

    let done = act(&admin, "pause", &all, "confirm=yes").await;
    assert!(done.is_page(200) && done.text().contains("Done: 2. Not done: 2."), "{}", done.text());
    assert!(done.text().contains("Undo: Resume"));
    for (sale, expected) in [(&one, "paused"), (&other, "paused"), (&later, "scheduled")] {
        assert_eq!(state(&admin, sale).await, expected);
    }
    let again = act(&admin, "pause", &all, "confirm=yes").await;
    assert!(again.text().contains("Done: 0. Not done: 4.") && again.text().contains("its status is “Paused”"));
    assert_eq!((log_lines(&admin, "pause", &one).await, log_lines(&admin, "pause", &other).await), (1, 1));

    let undo = summary(&admin, "resume", &[&one, &other]).await;
    assert!(undo.text().contains("2 sales will be resumed."), "{}", undo.text());
    act(&admin, "resume", &[&one, &other], "confirm=yes").await;
    assert_eq!((state(&admin, &one).await, state(&admin, &other).await), ("live".into(), "live".into()));
}

#[tokio::test]
async fn stop_of_sales_says_what_it_costs_and_asks_for_their_number() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (running, sold_out, later) =
        (shop.open_sale(&admin, 5).await, shop.open_sale(&admin, 1).await, announced(&admin).await);
    let (buyer, waiter) = (shop.shopper("buyer").await, shop.shopper("waiter").await);
    assert_eq!(buyer.buy(&running, 2).await.status, 202);
    assert_eq!(buyer.buy(&sold_out, 1).await.status, 202);
    shop.parts.gate.refresh_winners().await;
    shop.parts.gate.refresh().await;
    let wait = waiter.post(&format!("/api/sales/{sold_out}/waitlist"), json!({"quantity": 1})).await;
    assert!(wait.status.is_success(), "{}", wait.text());
    let remind = waiter.send("PUT", &format!("/api/sales/{later}/reminder"), &[], Body::empty()).await;
    assert!(remind.status.is_success(), "{}", remind.text());

    let all = [running.as_str(), sold_out.as_str(), later.as_str()];
    let before = summary(&admin, "stop", &all).await;
    let costs = |part: &str| {
        assert!(before.text().contains(part), "{part}: {}", before.text());
    };
    costs("Unsold units: 3.");
    costs("Unpaid orders, which can still be paid: 1.");
    costs("People on the waitlist: 1.");
    costs("People who asked for a reminder: 1.");
    costs("Type the number of sales, 3, to confirm");
    for more in ["confirm=yes", "confirm=yes&typed=2", "typed=3"] {
        let refused = act(&admin, "stop", &all, more).await;
        assert!(refused.is_page(422), "{more}: {refused:?}");
    }
    assert!(act(&admin, "stop", &all, "confirm=yes").await.text().contains("This isn’t the number of items."));
    assert_eq!(state(&admin, &running).await, "live");
    let done = act(&admin, "stop", &all, "confirm=yes&typed=3").await;
    assert!(done.text().contains("Done: 3. Not done: 0.") && !done.text().contains("Undo:"), "{}", done.text());
    for sale in all {
        assert_eq!((state(&admin, sale).await.as_str(), log_lines(&admin, "stop", sale).await), ("ended", 1));
    }
}

#[tokio::test]
async fn drafts_of_the_same_goods_are_not_announced_for_the_same_time() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let first = announced(&admin).await;
    act(&admin, "unschedule", &[&first], "confirm=yes").await;
    let second = sale_of(&admin, "1", json!(OPENS), true).await;
    let past = sale_of(&admin, "1", json!("2020-05-05T12:00:00Z"), true).await;
    let all = [first.as_str(), second.as_str(), past.as_str()];
    let before = summary(&admin, "schedule", &all).await;
    assert!(before.text().contains("1 sale will be scheduled. Left out: 2."), "{}", before.text());
    let overlaps = format!("the same product is on sale then in sale {first}");
    assert!(before.text().contains(&overlaps) && before.text().contains("The start time has passed."));
    assert!(before.text().contains("<time datetime=\"2099-05-05T12:00:00Z\">"), "{}", before.text());
    let done = act(&admin, "schedule", &all, "confirm=yes").await;
    assert!(done.text().contains("Done: 1. Not done: 2.") && done.text().contains(&overlaps), "{}", done.text());
    assert!(done.text().contains("Undo: Return to draft"));
    assert_eq!((state(&admin, &first).await, state(&admin, &second).await), ("scheduled".into(), "draft".into()));
}

#[tokio::test]
async fn only_drafts_are_deleted_and_archived_goods_are_not_announced() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let running = shop.open_sale(&admin, 5).await;
    let draft = announced(&admin).await;
    act(&admin, "unschedule", &[&draft], "confirm=yes").await;
    assert_eq!(admin.post("/api/admin/goods/2/archive", json!({})).await.status, 200);
    let archived = summary(&admin, "schedule", &[&draft]).await;
    assert!(archived.text().contains("Restore the product before you sell it."), "{}", archived.text());

    let before = summary(&admin, "delete", &[&running, &draft]).await;
    assert!(
        before.text().contains("1 draft will be deleted. Left out: 1.")
            && before.text().contains("its status is “Live”")
    );
    let done = act(&admin, "delete", &[&running, &draft], "confirm=yes").await;
    assert!(done.text().contains("Done: 1. Not done: 1.") && !done.text().contains("Undo:"), "{}", done.text());
    assert_eq!((state(&admin, &running).await, state(&admin, &draft).await), ("live".into(), "none".into()));
    let again = act(&admin, "delete", &[&draft], "confirm=yes").await;
    assert!(again.text().contains("Done: 0. Not done: 1.") && again.text().contains("no such item"));
}

#[tokio::test]
async fn list_of_sales_offers_what_its_rows_and_the_role_allow() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let (running, ended) = (shop.open_sale(&admin, 5).await, shop.open_sale(&admin, 5).await);
    act(&admin, "stop", &[&ended], "confirm=yes&typed=1").await;
    let list = admin.get("/admin?lang=en&state=all").await;
    let offers = |action: &str| list.text().contains(&format!("name=\"action\" value=\"{action}\""));
    assert!(offers("pause") && offers("stop") && !offers("resume") && !offers("schedule") && !offers("delete"));
    let tickable = |page: &TestResponse, id: &str| page.text().contains(&format!("name=\"id\" value=\"{id}\""));
    assert!(tickable(&list, &running) && !tickable(&list, &ended), "nothing can be done with an ended sale");
    let viewer = shop.staff(&admin, "wang", Role::Viewer).await;
    let list = viewer.get("/admin?lang=en").await;
    assert!(list.is_page(200) && !tickable(&list, &running) && !list.text().contains("name=\"action\""));
    assert_eq!(admin.send_form("/admin/sales/bulk/burn?lang=en", "ids=1").await.status, 404);
    assert!(summary(&admin, "pause", &[]).await.text().contains("Nothing is selected."));
}
