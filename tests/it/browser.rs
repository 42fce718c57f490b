//! The shop in a real browser: `tests/browser` drives Chromium through it in both languages, on a phone and on a
//! desktop. With `SCREENSHOTS=1` in the environment, pictures of every page are in `tests/browser/artifacts`
//! afterwards.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use domain::draw::EntryId;
use domain::waiting_room::Segment;
use domain::{Place, WaitingRoomSeed};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{Plan, Rung, SECRET, Shop, free_address};

/// A shop with the demo's goods.
async fn shop(rung: Rung) -> Shop {
    Plan::on(rung).await.set("SECKILL_DEMO", "true").start().await
}

/// A phone and a desktop.
const BOTH: [(&str, u32); 2] = [("en", 390), ("zh", 1280)];

/// Where a journey is played: in English on a phone, because its words are the longest, or in Chinese on a desktop. Half of
/// the journeys are played at each place; with `SECKILL_TEST_LONG=1` all are played at both.
fn places(journey: &str) -> Value {
    const DESKTOP: [&str; 20] = [
        "purchase",
        "recovery",
        "console_details",
        "questions",
        "offline",
        "spread",
        "categories",
        "waitlist",
        "deposit",
        "waiting_room_console",
        "account",
        "registration",
        "step_up",
        "wallet",
        "contention",
        "packets",
        "sale_management",
        "slow_shop",
        "page_details",
        "payments",
    ];
    // This goes another way on a phone.
    if is_long() || journey == "first_purchase" {
        json!(BOTH)
    } else if DESKTOP.contains(&journey) {
        json!([["zh", 1280]])
    } else {
        json!([["en", 390]])
    }
}

/// The first of these places; with `SECKILL_TEST_LONG=1` all of them.
fn first_of(mut places: Vec<Value>) -> Value {
    places.truncate(if is_long() { places.len() } else { 1 });
    places.into()
}

fn is_long() -> bool {
    std::env::var("SECKILL_TEST_LONG").is_ok_and(|value| value == "1")
}

/// Runs a journey of `tests/browser/journeys` at its places.
async fn journey(name: &str, shop: &Shop) {
    journey_with(name, shop, json!({})).await;
}

/// Runs a journey that shows every page: on a phone and on a desktop, with `SECKILL_TEST_LONG=1` in every language on both.
async fn tour(name: &str, shop: &Shop) {
    let places = if is_long() { Value::Null } else { json!(BOTH) };
    journey_with(name, shop, json!({ "places": places })).await;
}

/// Runs a journey with additional settings.
async fn journey_with(name: &str, shop: &Shop, more: Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let installed = folder.join("node_modules/playwright-core").exists();
    assert!(installed, "tests/browser/node_modules is missing: run scripts/test, which installs it");
    let mut settings = json!({
        "origin": shop.origins()[0],
        "admin": {"username": "admin", "password": shop.setting("SECKILL_ADMIN_PASSWORD")},
        "journeys": [name],
        "places": places(name),
    });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut node = Command::new("node");
    node.arg(folder.join("run.mjs")).arg(settings.to_string()).kill_on_drop(true);
    let done = node.output().await.unwrap_or_else(|error| {
        panic!("node does not start ({error}): install Node 20 or newer; scripts/test installs the rest")
    });
    let output = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the journey {name} failed:\n{output}");
    print!("{output}");
}

/// Runs a journey at `localhost`: browsers have no passkeys at an IP address.
async fn journey_at_localhost(name: &str) {
    let shop = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true").at_localhost().start().await;
    let origin = shop.origins()[0].replace("127.0.0.1", "localhost");
    journey_with(name, &shop, json!({"origin": origin})).await;
    shop.audit_is_clean().await;
}

/// Plays a journey in a shop of its own, which then passes the audit.
async fn play_on(rung: Rung, name: &str) {
    let shop = shop(rung).await;
    journey(name, &shop).await;
    shop.audit_is_clean().await;
}

async fn play(name: &str) {
    play_on(Rung::Sqlite, name).await;
}

cases! { play:
    pages_are_ready_before_the_rush: "ready",
    pages_are_right_in_their_details: "page_details",
    pages_fit_between_phone_and_wide_screen: "layouts",
    visitor_asks_logs_in_and_reads_the_answer: "questions",
    shopper_learns_how_it_went_and_finds_the_next_sale: "outcome",
    pages_are_read_without_a_connection_and_sell_nothing: "offline",
    stranger_buys_and_pays_for_the_first_time: "first_purchase",
    page_tells_the_own_moment_and_buys_at_it: "spread",
    entry_of_a_draw_wins_pays_and_checks_the_proof: "draw",
    sold_out_shopper_waits_and_gets_the_unit_that_comes_back: "waitlist",
    shopper_reads_the_rules_of_a_sale_and_takes_part: "eligibility",
    shopper_leaves_a_deposit_and_reads_of_it: "deposit",
    linked_accounts_are_held_appeal_and_are_released_or_refunded: "linked_accounts",
    waiting_room_calls_in_order_and_tells_the_truth: "waiting_room",
    shopper_manages_and_deletes_an_account: "account",
    wallet_is_topped_up_and_pays_an_order: "wallet",
}

cases! { journey_at_localhost:
    passkey_logs_in_and_proves_who_the_staff_are: "passkeys",
    refund_asks_who_the_staff_are_and_loses_nothing: "step_up",
    wallet_asks_again_who_spends_and_loses_nothing: "spending",
}

#[tokio::test]
async fn shopper_buys_and_pays_on_sqlite() {
    let shop = shop(Rung::Sqlite).await;
    // On a phone here, on a desktop on rung 3. The pages are the same as there, where their layout is inspected.
    journey_with("purchase", &shop, json!({"examine": false, "places": [["en", 390]]})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn shopper_gets_back_in_by_mail() {
    let shop = shop(Rung::Sqlite).await;
    journey("recovery", &shop).await;
}

#[tokio::test]
async fn console_shows_goods_days_and_openings_as_they_are() {
    let shop = shop(Rung::Sqlite).await;
    journey_with("console_details", &shop, json!({"secret": SECRET})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn browser_is_told_by_push_and_reminded_on_every_device() {
    let shop = shop(Rung::Sqlite).await;
    journey_with("push", &shop, json!({"browser": "chromium"})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn shopper_filters_by_category_and_staff_manage_categories() {
    journey("categories", &shop(Rung::Sqlite).await).await;
}

#[tokio::test]
async fn lists_of_the_console_are_sorted_saved_searched_and_acted_on() {
    let shop = shop(Rung::Sqlite).await;
    let places = first_of(vec![json!(["zh", 1280]), json!(["en", 390]), json!(["en", 1920])]);
    journey_with("tables", &shop, json!({ "places": places })).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn sale_is_watched_and_reported() {
    let shop = shop(Rung::Sqlite).await;
    let places = first_of(vec![json!(["en", 1280]), json!(["zh", 390]), json!(["zh", 1920])]);
    journey_with("report", &shop, json!({"browser": "chromium", "places": places})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn report_of_a_rehearsal_is_read_by_keyboard() {
    let shop = shop(Rung::Sqlite).await;
    let report = shop.dir().join("report.html");
    let crowd = ["--shoppers", "60", "--units", "5", "--ramp", "1s", "--bots", "1"];
    let file = ["--report", report.to_str().unwrap()];
    // Whether this machine is fast enough is not tested here.
    let done = shop.run(&[&["rehearse"], &crowd[..], &file].concat()).await;
    assert!(report.exists(), "{}", String::from_utf8_lossy(&done.stderr));
    journey_with("rehearsal_report", &shop, json!({"places": [["en", 390]], "report": report})).await;
}

#[tokio::test]
async fn staff_choose_and_steer_a_waiting_room() {
    journey("waiting_room_console", &shop(Rung::Sqlite).await).await;
}

#[tokio::test]
async fn account_of_a_busy_network_costs_a_computation_a_wait_or_an_address() {
    let plan = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true").set("SECKILL_FREE_REGISTRATIONS", "1");
    // The journey itself is the mail server.
    let smtp = free_address();
    let plan = plan.set("SECKILL_TRUSTED_PROXIES", "127.0.0.1").set("SECKILL_SMTP_URL", &format!("smtp://{smtp}"));
    let shop = plan.start().await;
    journey_with("registration", &shop, json!({ "smtp": smtp.port() })).await;
    shop.audit_is_clean().await;
}

/// Starts stand-ins of all payment providers, with pages for payers. Returns the settings of a shop that is paid there.
async fn stand_ins(shop: SocketAddr, pages: SocketAddr) -> (Child, Vec<(String, String)>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers/cashier.mjs");
    let mut node = Command::new("node");
    node.arg(script).args([shop, pages].map(|at| format!("http://{at}"))).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = node.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut settings = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line == "# ready" {
            return (child, settings);
        }
        let given = line.trim_start_matches("export ").split(' ').filter_map(|given| given.split_once('='));
        settings.extend(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    panic!("the stand-ins do not start: run scripts/test, which installs their packages");
}

#[tokio::test]
async fn shopper_pays_at_three_providers() {
    let (listen, pages) = (free_address(), free_address());
    let (_payers, settings) = stand_ins(listen, pages).await;
    let plan = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true").set("SECKILL_LISTEN", &listen.to_string());
    // Long enough for every payment of the journey; the last one is left until it expires.
    let plan = plan.set("SECKILL_PAYMENT_WINDOW", "40s");
    let shop = settings.iter().fold(plan, |plan, (name, value)| plan.set(name, value)).start().await;
    let providers = [format!("http://{pages}"), shop.setting("SECKILL_ALIPAY_API").to_owned()];
    journey_with("payments", &shop, json!({ "providers": providers })).await;
    shop.audit_is_clean().await;
}

/// Journeys whose shops need the services.
mod stack {
    use super::*;

    async fn play(name: &str) {
        play_on(Rung::Rabbit, name).await;
    }

    cases! { play:
        shopper_buys_and_pays: "purchase",
        repeated_presses_buy_once_and_cancelled_units_return: "contention",
        forms_buy_and_pay_without_scripts: "no_script",
        red_packet_is_claimed_and_the_rest_is_returned: "packets",
        administrator_runs_a_sale: "sale_management",
        administrator_supports_shoppers_and_staff: "support",
    }

    #[tokio::test]
    async fn shop_pages_pass_the_visual_checks() {
        tour("shop_pages", &shop(Rung::Rabbit).await).await;
    }

    #[tokio::test]
    async fn console_pages_pass_the_visual_checks() {
        tour("console_pages", &shop(Rung::Rabbit).await).await;
    }

    #[tokio::test]
    async fn slow_consumer_is_shown_and_loses_no_order() {
        let plan = Plan::on(Rung::Rabbit).await.set("SECKILL_DEMO", "true");
        let mut shop = plan.roles(&["serve", "relay", "consume", "control"]).start().await;
        let consumer = shop.process("consume", 0).id();
        journey_with("slow_shop", &shop, json!({ "consumer": consumer })).await;
        shop.audit_is_clean().await;
    }
}

/// What a module prints as JSON in Node.
async fn printed_by_node<T: DeserializeOwned>(module: &str) -> T {
    let done = Command::new("node").args(["--input-type=module", "-e", module]).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The script of the proof's page gives the same verdict on the golden draws as both programs.
#[tokio::test]
async fn golden_draws_verify_in_the_script_of_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = format!(
        r#"
        const {{ readFileSync }} = await import('node:fs');
        const {{ check }} = await import('file://{script}');
        const list = readFileSync('{draws}/entries.csv');
        const results = {{}};
        for (const name of ['quicknet', 'sandbox', 'none', 'later']) {{
            const proof = JSON.parse(readFileSync(`{draws}/${{name}}/proof.json`, 'utf8'));
            const order = readFileSync(`{draws}/${{name}}/order.txt`, 'utf8').trim().split('\n');
            const ranks = [];
            const findings = new Set();
            for (const own of order) {{
                const found = await check(list, proof, {{ known: proof, own }});
                ranks.push(found.entry.rank);
                found.findings.forEach((finding) => findings.add(`${{finding.words}} ${{finding.holds}}`));
            }}
            const altered = await check(list, {{ ...proof, secret: '00'.repeat(32) }}, {{ known: proof }});
            const broken = altered.findings.filter((finding) => !finding.holds).map((finding) => finding.words);
            results[name] = {{ ranks, findings: [...findings], broken }};
        }}
        const proof = JSON.parse(readFileSync('{draws}/later/proof.json', 'utf8'));
        const [first, ...rest] = proof.changes;
        results.altered = [];
        for (const change of [{{ to: 2414 }}, {{ from: 122 }}, {{ at: '2023-08-23T16:10:00Z' }}, {{ by: 'mei' }}]) {{
            const found = await check(list, {{ ...proof, changes: [{{ ...first, ...change }}, ...rest] }}, {{ known: proof }});
            results.altered.push(found.findings.filter((finding) => !finding.holds).map((finding) => finding.words));
        }}
        console.log(JSON.stringify(results));
        "#,
        script = root.join("static/draw_verify.js").display(),
        draws = root.join("tests/draw").display(),
    );
    let results: Value = printed_by_node(&script).await;
    for (name, rounds) in [
        ("quicknet", &["round_ok"][..]),
        ("sandbox", &["round_sandbox"]),
        ("none", &["round_none"]),
        ("later", &["changes_ok", "round_ok"]),
    ] {
        let result = &results[name];
        assert_eq!(result["ranks"], json!((1..=9).collect::<Vec<_>>()), "{name}");
        let names = [&["fields_ok", "rules_ok", "list_ok", "count_ok", "root_ok", "secret_ok"], rounds, &["seed_ok"]];
        let names: Vec<String> = names.concat().iter().map(|words| format!("{words} true")).collect();
        assert_eq!(result["findings"], json!(names), "{name}");
        assert_eq!(result["broken"], json!(["secret_wrong", "seed_wrong"]), "{name}");
    }
    let wrong = json!([["changes_wrong"], ["changes_wrong"], ["changes_wrong"], ["fields_wrong"]]);
    assert_eq!(results["altered"], wrong);
}

/// The page's script finds the same place in a waiting room as the server, in segments of all sizes.
#[tokio::test]
async fn script_finds_the_same_place_as_the_server() {
    let seed = WaitingRoomSeed::new([7; 32]);
    let mut entries = Vec::new();
    let mut line = json!({"segments": [], "serving": {"segment": 0, "number": 0}, "called_last_minute": 90});
    let mut segments = Vec::new();
    for (number, people) in [(0, 5_000_u32), (1, 1), (2, 64), (5, 66), (6, 3_000)] {
        let of_segment: Vec<EntryId> = (0..people).map(|n| entry_of(number, n)).collect();
        let mut numbers: Vec<i64> = of_segment.iter().map(|entry| Place::of(&seed, number, *entry).number).collect();
        numbers.sort_unstable();
        segments.push(Segment { called: i64::from(people / 3), ..Segment::closed(number, &numbers) });
        entries.extend(of_segment.into_iter().step_by(7).map(|entry| (number, entry)));
    }
    line["segments"] = json!(segments);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("static/place.js");
    let simulation = format!(
        r#"
        const {{ ahead, placeNumber }} = await import('file://{}');
        const line = {line};
        const found = [];
        for (const [segment, entry] of {}) {{
            const number = await placeNumber('{}', entry);
            found.push([number, ahead(line, {{ segment, number }})]);
        }}
        console.log(JSON.stringify(found));
        "#,
        script.display(),
        json!(entries.iter().map(|(segment, entry)| json!([segment, entry.to_string()])).collect::<Vec<_>>()),
        seed.to_hex(),
    );
    let found: Vec<(i64, i64)> = printed_by_node(&simulation).await;
    assert_eq!(found.len(), entries.len());
    for ((segment, entry), (number, ahead)) in entries.into_iter().zip(found) {
        let place = Place::of(&seed, segment, entry);
        let earlier = segments.iter().take_while(|other| other.segment < segment);
        let earlier: i64 = earlier.map(|other| other.places - other.called).sum();
        let own = segments.iter().find(|other| other.segment == segment).unwrap();
        let expected = earlier + (own.before(place.number) - own.called).max(0);
        assert_eq!(number, place.number);
        // The script's numbers have 53 bits, so between two marks it may be off by one.
        assert!((ahead - expected).abs() <= 1, "{ahead} and {expected}");
    }
}

fn entry_of(segment: i64, n: u32) -> EntryId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&segment.to_be_bytes());
    bytes[8..12].copy_from_slice(&n.to_be_bytes());
    EntryId::new(bytes)
}

/// Simulates the page's script in Node: ten thousand pages, loaded at different times, wait for the same opening. If
/// the shop enforces a spread, they ask for their moments early.
#[tokio::test]
async fn waiting_pages_poll_spread_over_the_window() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("static/spread.js");
    let simulation = format!(
        r#"
        const {{ nextPoll }} = await import('file://{}');
        const opens = 60_000;
        const arrivals = (spread_ms) => Array.from({{ length: 10_000 }}, (_, n) => {{
            let now = n * 5;
            while (now < opens) {{
                // The same interval as in the gate's answer.
                const poll_after_ms = Math.min(5000, Math.max(1000, (opens - now) / 4));
                now += nextPoll({{ poll_after_ms, spread_ms }}, opens - now);
            }}
            return now - opens;
        }});
        console.log(JSON.stringify([600, 10_000, 120_000, 0].map(arrivals)));
        "#,
        script.display()
    );
    let arrivals: Vec<Vec<f64>> = printed_by_node(&simulation).await;
    for (arrivals, window) in arrivals.iter().zip([600.0, 600.0, 600.0]) {
        let mut tenths = [0_usize; 10];
        arrivals.iter().for_each(|late| tenths[(late / window * 10.0) as usize] += 1);
        let fair = arrivals.len() / 10;
        assert!(tenths.iter().all(|n| (fair * 8 / 10..fair * 12 / 10).contains(n)), "over {window} ms: {tenths:?}");
    }
    assert!(arrivals[3].iter().all(|late| *late < 1.0), "without a window no page is delayed");
}
