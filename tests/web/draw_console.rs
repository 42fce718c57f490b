//! Draws as staff see them, the winner's mail, and what the audit finds in one.

use std::time::Duration;

use super::draw_pages::draw_among;
use super::draws::*;
use super::mail::mailed;
use super::*;
use domain::draw::{Beacon, PublicRound};

fn console(sale: &str) -> String {
    format!("/admin/sales/{sale}/draw")
}

/// Pages of the console in English.
async fn page(admin: &TestClient<'_>, sale: &str) -> TestResponse {
    let page = admin.get(&format!("{}?lang=en", console(sale))).await;
    assert!(page.is_page(200), "{page:?}");
    page
}

#[tokio::test]
async fn staff_exclude_entries_until_the_lock_and_try_the_draw_out() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 3).await);
    let sale = announce(&admin, 1).await;
    assert!(page(&admin, &sale).await.text().contains("No entries yet"));
    assert!(admin.get(&format!("/admin/sales/{sale}?lang=en")).await.text().contains(&console(&sale)), "the cockpit");
    assert!(admin.get(&format!("/admin/sales/{sale}/edit?lang=en")).await.text().contains(&console(&sale)), "the form");
    assert_eq!(clients[0].get(&console(&sale)).await.status, 404);
    open(&shop, &sale).await;
    for client in &clients {
        enter(client, &sale).await;
    }
    let cockpit = admin.get(&format!("/admin/sales/{sale}?lang=en")).await;
    assert!(cockpit.text().contains("<div data-tile=\"waiting\"><dt>Entries</dt><dd>3</dd>"), "{}", cockpit.text());
    assert!(cockpit.text().contains("Open for entries."), "{}", cockpit.text());
    let entry = own(&clients[0], &sale).await["id"].as_str().unwrap().to_owned();
    let exclude = format!("{}/entries/{entry}/exclude?lang=en", console(&sale));
    assert_eq!(admin.send_form(&exclude, "reason=duplicate").await.status, 422, "not confirmed");
    assert_eq!(own(&clients[0], &sale).await["state"], "in");
    let done = admin.send_form(&exclude, "reason=duplicate&confirm=yes").await;
    assert!(done.leads_to(&format!("{}?lang=en&done=exclude&from=", console(&sale))), "{done:?}");
    assert_eq!(own(&clients[0], &sale).await["reason"], "duplicate");
    assert!(page(&admin, &sale).await.text().contains("excluded: the same person has another entry"));
    let log = admin.audit_log().await;
    assert_eq!((&log[0]["action"], &log[0]["after"]["reason"]), (&json!("exclude"), &json!("duplicate")), "{log}");

    let tried = admin.send_form(&format!("{}/dry-run?lang=en", console(&sale)), "").await;
    assert!(tried.is_page(200) && tried.text().contains("Dry run: 2 entries"), "{}", tried.text());
    let first = between(tried.text(), "First ten", "</ol>");
    assert!(!first.contains(&entry) && first.matches("<li>").count() == 2, "{first}");
    let facts = draws::facts(&shop, &sale).await;
    assert_eq!((&facts["state"], &facts["secret"]), (&json!("announced"), &Value::Null), "nothing was stored");

    shop.advance(HOUR + REVIEW);
    let late = admin.send_form(&exclude, "reason=other&confirm=yes").await;
    assert!(late.is_page(409) && !late.text().contains("/exclude"), "{}", late.text());
}

const ROUND_123: &str =
    "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92";

/// An hour before [`draw_awaiting_round_123`] opens.
async fn early_shop() -> TestShop {
    shop_with_quicknet("2023-08-23T13:00:00Z").await
}

/// A draw with an entry of `mei`. Its list is locked, and it uses a round that has appeared: round 123.
async fn draw_awaiting_round_123(shop: &TestShop, admin: &TestClient<'_>, mei: &TestClient<'_>) -> String {
    let (opens, closes, review) = ("2023-08-23T14:00:00Z", "2023-08-23T15:10:00Z", Duration::from_secs(165));
    let sale = announce_between(admin, 1, (opens, closes), review).await;
    open(shop, &sale).await;
    enter(mei, &sale).await;
    shop.advance(Duration::from_secs(70 * 60));
    follow_schedule(shop, &sale).await;
    shop.advance(review);
    draws(shop).step().await.unwrap();
    sale
}

async fn three_steps(shop: &TestShop) {
    for _ in 0..3 {
        draws(shop).step().await.unwrap();
    }
}

/// The page of the own entry and the page of the draw.
async fn assert_pages_say(who: &TestClient<'_>, sale: &str, words: &str) {
    for page in ["entry", "draw"] {
        let shown = who.get(&format!("/en/sales/{sale}/{page}")).await;
        assert!(shown.is_page(200) && shown.text().contains(words), "{}", shown.text());
    }
}

#[tokio::test]
async fn pasted_round_of_quicknet_is_verified_and_the_draw_is_held() {
    open_shop!(shop = early_shop(), admin, [mei]);
    let sale = draw_awaiting_round_123(&shop, &admin, &mei).await;
    let waiting = page(&admin, &sale).await;
    assert!(waiting.text().contains("awaits round 123 of quicknet"));
    let url = "https://api.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971/public/123";
    assert!(waiting.text().contains(&format!("href=\"{url}\"")));
    let send = format!("{}/round?lang=en", console(&sale));
    let wrong = admin.send_form(&send, "round=%7B%22round%22%3A124%2C%22signature%22%3A%2200%22%7D").await;
    assert!(wrong.is_page(422) && wrong.text().contains("It is round 124, and round 123 is awaited."));
    assert!(wrong.text().contains("&#34;round&#34;:124"), "what was typed stays: {}", wrong.text());
    let right = admin.send_form(&send, &format!("round={ROUND_123}")).await;
    assert!(right.leads_to(&format!("{}?lang=en&done=round&from=", console(&sale))), "{right:?}");
    draws(&shop).step().await.unwrap();
    let held = page(&admin, &sale).await;
    assert!(held.text().contains("Drawn. Winners are paying") && held.text().contains("Waiting for payment"));
    assert_eq!(own(&mei, &sale).await["rank"], 1);
    let again = admin.send_form(&send, &format!("round={ROUND_123}")).await;
    assert!(again.is_page(409), "{again:?}");
    support::assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn draw_whose_round_never_comes_is_called_off_and_its_entrants_are_told_once() {
    open_shop!(shop = early_shop(), admin, [mei]);
    mei.verify("mei@shop.example").await;
    let sale = draw_awaiting_round_123(&shop, &admin, &mei).await;
    let before = shop.mailed().await.len();
    let path = format!("/api/admin/sales/{sale}/draw/call-off");
    let refused = admin.post(&path, json!({"reason": "it rains"})).await;
    assert_eq!(refused.problem(), problem(409, "round_not_overdue"));
    assert!(!page(&admin, &sale).await.text().contains("draw/call-off"));

    shop.advance(2 * HOUR);
    let form = format!("{}/call-off?lang=en", console(&sale));
    assert!(page(&admin, &sale).await.text().contains("draw/call-off"));
    assert_eq!(admin.send_form(&form, "reason=drand+is+silent").await.status, 422, "not confirmed");
    assert_eq!(admin.send_form(&form, "reason=+&confirm=yes").await.status, 422, "without a reason");
    let done = admin.send_form(&form, "reason=drand+is+silent&confirm=yes").await;
    assert!(done.leads_to(&format!("{}?lang=en&done=call-off&from=", console(&sale))), "{done:?}");
    assert!(page(&admin, &sale).await.text().contains("drand is silent"));
    let logged = admin.audit_log().await[0].clone();
    assert_eq!((&logged["action"], &logged["after"]["reason"]), (&json!("call-off-draw"), &json!("drand is silent")));

    // A round that comes later is too late.
    let round = admin.post(&format!("/api/admin/sales/{sale}/draw/round"), json!({"round": "00"})).await;
    assert_eq!(round.problem(), problem(409, "round_not_awaited"));
    three_steps(&shop).await;
    assert_eq!(shop.mailed().await[before..], [mailed("draw_called_off", "mei@shop.example")]);
    let facts = draws::facts(&shop, &sale).await;
    assert_eq!((&facts["state"], &facts["called_off"]["reason"]), (&json!("called_off"), &json!("drand is silent")));
    assert_pages_say(&mei, &sale, "drand is silent").await;
    // The sale is over, so deposits go back as after every sale.
    let retired = shop.parts.store.sales().sales_retired_since(jiff::Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(retired.iter().map(|of| of.id).collect::<Vec<_>>(), [id(&sale)]);
    support::assert_audit_finds_nothing(&shop).await;
}

/// Round 657413 of quicknet is the first one that appears more than ten minutes after 2023-09-15T10:50:01Z.
#[tokio::test]
async fn draw_whose_round_never_comes_is_decided_by_the_later_round_that_the_rule_names() {
    let signature = "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b";
    open_shop!(shop = early_shop(), admin, [mei]);
    mei.verify("mei@shop.example").await;
    let sale = draw_awaiting_round_123(&shop, &admin, &mei).await;
    let before = shop.mailed().await.len();
    let path = format!("/api/admin/sales/{sale}/draw/later-round");
    let refused = admin.post(&path, json!({"reason": "it rains"})).await;
    assert_eq!(refused.problem(), problem(409, "round_not_overdue"));
    assert!(!page(&admin, &sale).await.text().contains("draw/later-round"));

    let wait =
        |until: &str| until.parse::<jiff::Timestamp>().unwrap().duration_since(shop.parts.clock.now()).unsigned_abs();
    shop.advance(wait("2023-08-23T17:00:01Z"));
    let form = format!("{}/later-round?lang=en", console(&sale));
    assert!(page(&admin, &sale).await.text().contains("draw/later-round"));
    assert_eq!(admin.send_form(&form, "reason=drand+is+silent").await.status, 422, "not confirmed");
    let done = admin.send_form(&form, "reason=drand+is+silent&confirm=yes").await;
    assert!(done.leads_to(&format!("{}?lang=en&done=later-round&from=", console(&sale))), "{done:?}");
    let change = json!({"from": 123, "to": 2413, "at": "2023-08-23T17:00:01Z", "reason": "drand is silent"});
    let logged = admin.audit_log().await[0].clone();
    assert_eq!((&logged["action"], &logged["after"]), (&json!("change-round"), &change));
    assert!(page(&admin, &sale).await.text().contains("awaits round 2413 of quicknet"));
    assert_eq!(admin.post(&path, json!({"reason": "again"})).await.problem(), problem(409, "round_not_overdue"));

    // The round that was given up is too late, also for a request that read the draw before the change.
    let late = admin.post(&format!("/api/admin/sales/{sale}/draw/round"), json!({"round": ROUND_123})).await;
    assert_eq!(late.status, 422);
    let known = PublicRound { beacon: Beacon::Quicknet, round: 123 }.verify(ROUND_123).unwrap();
    assert!(!shop.parts.store.draws().give_randomness(id(&sale), &known, "mei").await.unwrap());

    shop.advance(wait("2023-09-15T10:50:01Z"));
    let again = async |name: &str| shop.open_session(&shop.user(name).await, SignedDuration::ZERO).await;
    let (admin, mei) = (again("admin").await, again("mei").await);
    assert_eq!(admin.post(&path, json!({"reason": "drand is still silent"})).await.status, 204);
    three_steps(&shop).await;
    assert_eq!(shop.mailed().await[before..], [mailed("draw_delayed", "mei@shop.example")], "of the latest change");
    let letter = shop.letter(shop.mails().await.last().unwrap());
    assert!(letter.text.contains("2023-09-15 11:00 UTC") && letter.text.contains("still silent"), "{}", letter.text);
    let facts = draws::facts(&shop, &sale).await;
    assert_eq!((&facts["stage"], &facts["until"]), (&json!("locked"), &json!("2023-09-15T11:00:03Z")));
    assert_eq!((&facts["changes"][0], &facts["changes"][1]["to"]), (&change, &json!(657_413)));
    assert_pages_say(&mei, &sale, "drand is still silent").await;

    shop.advance(Duration::from_secs(700));
    let given = admin.post(&format!("/api/admin/sales/{sale}/draw/round"), json!({"round": signature})).await;
    assert_eq!(given.status, 204);
    assert_eq!(admin.post(&path, json!({"reason": "no"})).await.problem(), problem(409, "round_not_overdue"));
    draws(&shop).step().await.unwrap();
    assert_eq!(own(&mei, &sale).await["rank"], 1);
    let proof = shop.visitor().get(&format!("/api/sales/{sale}/draw/proof.json")).await.json();
    assert_eq!((&proof["changes"], &proof["round"]), (&facts["changes"], &json!(657_413)));
    support::assert_audit_finds_nothing(&shop).await;
    // An audit proves the draw again: it sees a change that does not follow, and one that the proof has not.
    shop.execute("UPDATE draws SET round_changes = NULL").await;
    assert_eq!(shop.violations("").await.len(), 1);
}

#[tokio::test]
async fn round_that_arrives_while_staff_give_it_up_has_one_winner() {
    open_shop!(shop = early_shop(), admin, [mei]);
    let sale = draw_awaiting_round_123(&shop, &admin, &mei).await;
    shop.advance(2 * HOUR);
    let send = async |verb, body| admin.post(&format!("/api/admin/sales/{sale}/draw/{verb}"), body).await;
    let (round, reason) = (json!({"round": ROUND_123}), json!({"reason": "drand is silent"}));
    let (given, changed) = tokio::join!(send("round", round), send("later-round", reason));
    assert!((given.status == 204) != (changed.status == 204), "{given:?} {changed:?}");
    draws(&shop).step().await.unwrap();
    let facts = draws::facts(&shop, &sale).await;
    let (state, changes) = if given.status == 204 { ("drawn", 0) } else { ("locked", 1) };
    assert_eq!((&facts["state"], facts["changes"].as_array().unwrap().len()), (&json!(state), changes));
}

#[tokio::test]
async fn winners_are_told_once_until_when_they_may_pay_and_others_that_the_result_is_there() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 2).await);
    for (n, client) in clients.iter().enumerate() {
        client.verify(&format!("shopper{n}@shop.example")).await;
    }
    let sale = announce(&admin, 1).await;
    let before = shop.mails().await.len();
    draw_among(&shop, &sale, &clients).await;
    draws(&shop).step().await.unwrap();
    let ranked = by_rank(&clients, &sale).await;
    let winner = if std::ptr::eq(ranked[0], &clients[0]) { 0 } else { 1 };
    let told = shop.mailed().await.split_off(before);
    let address = |n: usize| format!("shopper{n}@shop.example");
    assert_eq!(told, [mailed("draw_won", &address(winner)), mailed("draw_result", &address(1 - winner))]);
    let order = ranked[0].get("/api/orders").await.json()["orders"][0].clone();
    let mut mails = shop.mails().await;
    let result = shop.letter(&mails.pop().unwrap()).text;
    assert!(result.contains("the draw for Phone is there.") && result.contains("/entry\n"), "{result}");
    let letter = shop.letter(mails.last().unwrap());
    assert!(letter.text.contains("Phone is held for you") && letter.text.contains(order["id"].as_str().unwrap()));
    let pay_by: jiff::Timestamp = order["pay_by"].as_str().unwrap().parse().unwrap();
    assert!(letter.text.contains(&pay_by.strftime("Pay before %Y-%m-%d %H:%M UTC").to_string()), "{}", letter.text);
    assert_eq!(mails.last().unwrap().expires_at, pay_by, "later it says nothing");
    let other = ranked[1].get(&format!("/en/sales/{sale}/entry")).await;
    assert!(other.text().contains("class=\"goods\"><img"), "the goods with their picture: {}", other.text());
    assert!(other.text().contains("Not drawn yet"), "an entry that was not drawn says so on its page");

    let won = ranked[0].get(&format!("/en/sales/{sale}/entry")).await;
    assert!(won.text().contains("You have won! Please pay"));

    shop.advance(WINDOW + Duration::from_secs(60));
    shop.parts.expiry().cancel_overdue().await.unwrap();
    let lapsed = ranked[0].get(&format!("/en/sales/{sale}/entry")).await;
    assert!(lapsed.text().contains("You had won, but the order was cancelled"));
    draws(&shop).step().await.unwrap();
    let told = shop.mailed().await.split_off(before);
    assert_eq!(told[2..], [mailed("draw_won", &address(1 - winner))], "the next in order");
}

#[tokio::test]
async fn audit_finds_ranks_and_offers_that_do_not_follow_from_the_proof() {
    let shop = TestShop::open_at(&hour_before()).await;
    let (admin, clients) = (shop.admin().await, crowd(&shop, 4).await);
    let sale = announce(&admin, 1).await;
    draw_among(&shop, &sale, &clients).await;
    let violations = async || shop.violations("the ranks of a draw").await;
    assert_eq!(violations().await, Vec::<String>::new());
    shop.execute("UPDATE draw_entries SET rank = 5 - rank WHERE rank IN (2, 3)").await;
    assert_eq!(violations().await.len(), 2);
    shop.execute("UPDATE draw_entries SET rank = 5 - rank WHERE rank IN (2, 3)").await;
    shop.execute("UPDATE draw_entries SET order_id = NULL WHERE rank = 0").await;
    let found = violations().await;
    assert!(found.len() == 2 && found[0].contains("was passed over") && found[1].contains("no entry"), "{found:?}");
    shop.execute("UPDATE draws SET next_rank = 0").await;
    assert_eq!(violations().await.len(), 1, "the order still belongs to no entry");
    shop.execute("DELETE FROM draw_entries WHERE rank = 3").await;
    assert!(violations().await.iter().any(|what| what.contains("published root")), "the list has changed");
}
