//! The shop in a real browser: `tests/browser` leads Chromium through it in both languages, on a phone and on a desktop.
//! Pictures of every page lie in `tests/browser/artifacts` afterwards.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Plan, Rung, Shop};

/// What one journey sees of a shop, with goods that are worth looking at.
async fn shop(rung: Rung) -> Shop {
    Plan::on(rung).await.set("SECKILL_DEMO", "true").start().await
}

/// Runs a journey of `tests/browser/journeys` in every language on every screen.
async fn journey(name: &str, shop: &Shop) {
    walk(name, &[shop], json!({})).await;
}

/// The same with more settings than every journey has, in several shops at once.
async fn walk(name: &str, shops: &[&Shop], more: Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let installed = folder.join("node_modules/playwright-core").exists();
    assert!(installed, "tests/browser/node_modules is missing: run scripts/test, which installs it");
    let mut settings = json!({
        "origins": shops.iter().map(|shop| &shop.origins()[0]).collect::<Vec<_>>(),
        "admin": {"username": "admin", "password": shops[0].setting("SECKILL_ADMIN_PASSWORD")},
        "journeys": [name],
    });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut node = Command::new("node");
    node.arg(folder.join("run.mjs")).arg(settings.to_string()).kill_on_drop(true);
    let done = node.output().await.unwrap_or_else(|error| {
        panic!(
            "node does not start ({error}): install Node 20 or newer; scripts/test brings the rest of what is needed"
        )
    });
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the journey {name} failed:\n{said}");
    print!("{said}");
}

/// Each language once, on a screen of its own: for journeys that are more about what happens than about how it looks.
fn both_languages() -> Value {
    json!({"places": [["en", 390], ["zh", 1280]]})
}

#[tokio::test]
async fn on_sqlite_a_shopper_sees_the_sale_open_buys_and_pays() {
    let shop = shop(Rung::Sqlite).await;
    // The pages are the same as on rung 3, where they are examined.
    walk("shopper", &[&shop], json!({"examine": false, "places": [["zh", 390], ["en", 1280]]})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn a_shopper_sees_the_sale_open_buys_and_pays() {
    let shop = shop(Rung::Rabbit).await;
    journey("shopper", &shop).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn every_page_is_good_to_look_at() {
    journey("tour", &shop(Rung::Rabbit).await).await;
}

#[tokio::test]
async fn every_desk_is_good_to_look_at() {
    journey("desks", &shop(Rung::Rabbit).await).await;
}

#[tokio::test]
async fn impatience_buys_once_and_cancelled_units_are_sold_again() {
    let shop = shop(Rung::Rabbit).await;
    walk("contest", &[&shop], both_languages()).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn a_slow_shop_says_so_and_loses_nothing() {
    let plan = Plan::on(Rung::Rabbit).await.set("SECKILL_DEMO", "true");
    let mut shop = plan.roles(&["serve", "relay", "consume", "control"]).start().await;
    let consumer = shop.process("consume", 0).id();
    walk("waiting", &[&shop], json!({"consumer": consumer})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn without_scripts_forms_buy_and_pay() {
    let shop = shop(Rung::Rabbit).await;
    walk("no_script", &[&shop], both_languages()).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn a_shopper_keeps_an_account_and_leaves_for_good() {
    let shop = shop(Rung::Sqlite).await;
    walk("account", &[&shop], both_languages()).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn a_wallet_is_filled_and_pays_an_order() {
    let shop = shop(Rung::Sqlite).await;
    journey("wallet", &shop).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn a_red_packet_is_given_claimed_and_what_is_left_comes_back() {
    let shop = shop(Rung::Rabbit).await;
    journey("packets", &shop).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn an_administrator_runs_a_sale() {
    // Two at one desk would see each other's doings.
    let shops: [Shop; 2] = tokio::join!(shop(Rung::Rabbit), shop(Rung::Rabbit)).into();
    walk("admin", &shops.each_ref(), json!({})).await;
    for shop in &shops {
        shop.audit_is_clean().await;
    }
}

#[tokio::test]
async fn an_administrator_helps_shoppers_and_staff() {
    let shop = shop(Rung::Rabbit).await;
    walk("support", &[&shop], both_languages()).await;
    shop.audit_is_clean().await;
}

/// Not a browser, but what runs in one: ten thousand pages that came at different times and wait for the same opening.
#[tokio::test]
async fn the_pages_that_wait_arrive_spread_over_the_window() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("static/spread.js");
    let simulation = format!(
        r#"
        const {{ nextLook }} = await import('file://{}');
        const opens = 60_000;
        const arrivals = (spread_ms) => Array.from({{ length: 10_000 }}, (_, n) => {{
            let now = n * 5;
            while (now < opens) {{
                // As the gate answers.
                const poll_after_ms = Math.min(5000, Math.max(1000, (opens - now) / 4));
                now += nextLook({{ poll_after_ms, spread_ms }}, opens - now);
            }}
            return now - opens;
        }});
        console.log(JSON.stringify([600, 10_000, 0].map(arrivals)));
        "#,
        script.display()
    );
    let done = Command::new("node").args(["--input-type=module", "-e", &simulation]).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let arrivals: Vec<Vec<f64>> = serde_json::from_slice(&done.stdout).unwrap();
    for (arrivals, window) in arrivals.iter().zip([600.0, 10_000.0]) {
        let mut tenths = [0_usize; 10];
        arrivals.iter().for_each(|late| tenths[(late / window * 10.0) as usize] += 1);
        let fair = arrivals.len() / 10;
        assert!(tenths.iter().all(|n| (fair * 8 / 10..fair * 12 / 10).contains(n)), "over {window} ms: {tenths:?}");
    }
    assert!(arrivals[2].iter().all(|late| *late < 1.0), "nobody is held up where nothing is spread");
}
