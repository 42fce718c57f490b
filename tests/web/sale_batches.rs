//! Actions of the console on several sales.

use super::*;

const OPENS: &str = "2099-05-05T12:00:00Z";
const CLOSES: &str = "2099-05-05T13:00:00Z";

/// A sale, of its own goods, that opens in many years.
async fn announced(admin: &TestClient<'_>) -> String {
    admin.new_sale(json!({"opens_at": OPENS, "closes_at": CLOSES})).await
}

/// A draft of the first goods.
async fn draft_of_goods(admin: &TestClient<'_>, opens_at: &str) -> String {
    admin.new_sale(json!({"goods_id": "1", "opens_at": opens_at, "closes_at": CLOSES, "draft": true})).await
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
    let before = summary(&admin, "pause", &all).await.shows(200, &["2 sales will be paused. Left out: 2."]);
    assert!(before.text().contains("its status is “Scheduled”") && before.text().contains("no such item"));
    assert_eq!(state(&admin, &one).await, "live", "the summary changes nothing");
    assert!(act(&admin, "pause", &all, "").await.is_page(422), "it has to be confirmed");

    act(&admin, "pause", &all, "confirm=yes").await.shows(200, &["Done: 2. Not done: 2.", "Undo: Resume"]);
    for (sale, expected) in [(&one, "paused"), (&other, "paused"), (&later, "scheduled")] {
        assert_eq!(state(&admin, sale).await, expected);
    }
    act(&admin, "pause", &all, "confirm=yes").await.has(&["Done: 0. Not done: 4.", "its status is “Paused”"]);
    assert_eq!((log_lines(&admin, "pause", &one).await, log_lines(&admin, "pause", &other).await), (1, 1));

    summary(&admin, "resume", &[&one, &other]).await.has(&["2 sales will be resumed."]);
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
        act(&admin, "stop", &all, more).await.shows(422, &[]);
    }
    assert!(act(&admin, "stop", &all, "confirm=yes").await.text().contains("This isn’t the number of items."));
    assert_eq!(state(&admin, &running).await, "live");
    act(&admin, "stop", &all, "confirm=yes&typed=3").await.has(&["Done: 3. Not done: 0."]).lacks(&["Undo:"]);
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
    let second = draft_of_goods(&admin, OPENS).await;
    let past = draft_of_goods(&admin, "2020-05-05T12:00:00Z").await;
    let all = [first.as_str(), second.as_str(), past.as_str()];
    let before = summary(&admin, "schedule", &all).await.has(&["1 sale will be scheduled. Left out: 2."]);
    let overlaps = format!("the same product is on sale then in sale {first}");
    assert!(before.text().contains(&overlaps) && before.text().contains("The start time has passed."));
    assert!(before.text().contains("<time datetime=\"2099-05-05T12:00:00Z\">"), "{}", before.text());
    let done = act(&admin, "schedule", &all, "confirm=yes").await.has(&["Done: 1. Not done: 2.", &overlaps]);
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
    summary(&admin, "schedule", &[&draft]).await.has(&["Restore the product before you sell it."]);

    summary(&admin, "delete", &[&running, &draft])
        .await
        .has(&["1 draft will be deleted. Left out: 1.", "its status is “Live”"]);
    let done = act(&admin, "delete", &[&running, &draft], "confirm=yes").await;
    assert!(done.text().contains("Done: 1. Not done: 1.") && !done.text().contains("Undo:"), "{}", done.text());
    assert_eq!((state(&admin, &running).await, state(&admin, &draft).await), ("live".into(), "none".into()));
    act(&admin, "delete", &[&draft], "confirm=yes").await.has(&["Done: 0. Not done: 1.", "no such item"]);
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
