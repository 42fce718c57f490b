//! The shop in a real browser: `tests/browser` drives Chromium through it in both languages, on a phone and on a desktop.
//! With `SCREENSHOTS=1` in the environment, pictures of every page are in `tests/browser/artifacts` afterwards.
//!
//! Journeys of one subject share a shop and a browser, each in sales of its own. A journey is played in one place, on a phone
//! in English or on a desktop in Chinese, and looks at its pages in the other place as well. With `SECKILL_TEST_LONG=1` it is
//! played in both languages at both widths.

use std::path::Path;

use domain::draw::EntryId;
use domain::queue::Segment;
use domain::{Place, QueueSeed};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Plan, Rung, Shop, free_address};

/// A language and the width of a screen.
type Screen = (&'static str, u16);

/// English on a phone, because its words are the longest.
const PHONE: &[Screen] = &[("en", 390)];
const DESKTOP: &[Screen] = &[("zh", 1280)];
/// For journeys that go another way on a phone or in Chinese.
const BOTH: &[Screen] = &[("en", 390), ("zh", 1280)];
/// For tours, which show the most pages.
const EVERYWHERE: &[Screen] = &[("zh", 390), ("zh", 1280), ("en", 390), ("en", 1280)];

/// A shop with the demo's goods.
async fn shop(rung: Rung) -> Shop {
    Plan::on(rung).await.set("SECKILL_DEMO", "true").start().await
}

/// A journey of `tests/browser/journeys` and where it is played.
fn journey(name: &str, places: &[Screen]) -> Value {
    let is_long = std::env::var("SECKILL_TEST_LONG").is_ok_and(|value| value == "1");
    let more = EVERYWHERE.iter().filter(|place| is_long && !places.contains(place));
    json!({"name": name, "places": places.iter().chain(more).collect::<Vec<_>>()})
}

/// The same with additional settings.
fn journey_with(name: &str, places: &[Screen], more: Value) -> Value {
    with(journey(name, places), more)
}

fn with(mut settings: Value, more: Value) -> Value {
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

/// Plays journeys in one browser. While one waits, another goes on.
async fn play(shop: &Shop, journeys: &[Value]) {
    play_with(shop, journeys, json!({"lanes": 2})).await;
}

/// Plays journeys with additional settings of the browser. Fails with the names of all that failed.
async fn play_with(shop: &Shop, journeys: &[Value], more: Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let installed = folder.join("node_modules/playwright-core").exists();
    assert!(installed, "tests/browser/node_modules is missing: run scripts/test, which installs it");
    let settings = json!({
        "origin": shop.origins()[0],
        "admin": {"username": "admin", "password": shop.setting("SECKILL_ADMIN_PASSWORD")},
        "journeys": journeys,
    });
    let mut node = Command::new("node");
    node.arg(folder.join("run.mjs")).arg(with(settings, more).to_string()).kill_on_drop(true);
    let done = node.output().await.unwrap_or_else(|error| {
        panic!("node does not start ({error}): install Node 20 or newer; scripts/test installs the rest")
    });
    let output = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    print!("{output}");
    let failed = output.lines().find_map(|line| line.strip_prefix("failed: ")).unwrap_or("all, without a word");
    assert!(done.status.success(), "journeys that failed: {failed}");
}

/// These journeys mostly wait for a clock, so more are played at a time.
#[tokio::test]
async fn shoppers_are_ready_and_buy_when_a_sale_opens() {
    let shop = shop(Rung::Sqlite).await;
    let journeys = [
        // The list of what to prepare stays above the button of a phone, and the button of a wide screen does not move.
        journey("ready", BOTH),
        // The pages are the same as on rung 3, where their layout is checked.
        journey_with("purchase", PHONE, json!({"examine": false})),
        journey("spread", DESKTOP),
        // An address is typed in English and chosen from lists in Chinese; neither may take more clicks.
        journey("first_purchase", BOTH),
        journey("console_details", DESKTOP),
    ];
    play_with(&shop, &journeys, json!({"lanes": 4})).await;
    shop.audit_is_clean().await;
}

/// More at a time, as above.
#[tokio::test]
async fn shoppers_take_turns_win_draws_and_move_up() {
    let shop = shop(Rung::Sqlite).await;
    let journeys = [
        journey("waiting_room", PHONE),
        journey("draw", PHONE),
        journey("waiting_room_console", DESKTOP),
        journey("waitlist", DESKTOP),
    ];
    play_with(&shop, &journeys, json!({"lanes": 4})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn visitors_find_goods_and_learn_how_it_went() {
    let shop = shop(Rung::Sqlite).await;
    let journeys = [
        journey("outcome", PHONE),
        journey("categories", PHONE),
        // What is asked stays in the visitor's own language on pages of the other one.
        journey("questions", BOTH),
        // A phone has the main pages along the bottom, a wide screen in the header.
        journey("page_details", BOTH),
    ];
    play(&shop, &journeys).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn shoppers_meet_rules_and_pay() {
    let shop = shop(Rung::Sqlite).await;
    let journeys = [
        journey("clusters", PHONE),
        journey("eligibility", PHONE),
        journey("deposit", DESKTOP),
        journey("wallet", DESKTOP),
    ];
    play(&shop, &journeys).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn shoppers_manage_accounts_and_get_back_in() {
    let shop = shop(Rung::Sqlite).await;
    let journeys = [
        // The places of an address are chosen from lists in Chinese.
        journey("account", DESKTOP),
        journey("recovery", DESKTOP),
        // Without a connection a page cannot be looked at in another place.
        journey("offline", BOTH),
    ];
    play(&shop, &journeys).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn pages_fit_between_phone_and_wide_screen() {
    let shop = shop(Rung::Sqlite).await;
    // It sets the width itself, and gives the goods other pictures while it runs.
    play_with(&shop, &[journey("layouts", BOTH)], json!({"lanes": 1})).await;
    shop.audit_is_clean().await;
}

#[tokio::test]
async fn lists_of_the_console_are_sorted_saved_searched_and_acted_on() {
    let shop = shop(Rung::Sqlite).await;
    // Rows of a phone are for fingers; the console of a wide screen is listed by keys.
    play(&shop, &[journey("tables", &[("en", 390), ("zh", 1920)])]).await;
    shop.audit_is_clean().await;
}

/// The browser without windows has neither messages nor a full screen.
#[tokio::test]
async fn browser_shows_messages_and_a_dashboard_on_the_wall() {
    let shop = shop(Rung::Sqlite).await;
    // Only a wide screen has the wall.
    let journeys = [journey("push", PHONE), journey("report", &[("zh", 390), ("en", 1280)])];
    play_with(&shop, &journeys, json!({"browser": "chromium", "lanes": 2})).await;
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
    let journey = json!({"name": "rehearsal_report", "places": PHONE, "report": report});
    play(&shop, &[journey]).await;
}

#[tokio::test]
async fn account_of_a_busy_network_costs_a_computation_a_wait_or_an_address() {
    let plan = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true").set("SECKILL_FREE_REGISTRATIONS", "1");
    // The journey itself is the mail server.
    let smtp = free_address();
    let plan = plan.set("SECKILL_TRUSTED_PROXIES", "127.0.0.1").set("SECKILL_SMTP_URL", &format!("smtp://{smtp}"));
    let shop = plan.start().await;
    play(&shop, &[journey_with("registration", DESKTOP, json!({ "smtp": smtp.port() }))]).await;
    shop.audit_is_clean().await;
}

/// The shop is at `localhost`: browsers have no passkeys at an IP address.
#[tokio::test]
async fn staff_and_shoppers_prove_again_who_they_are() {
    let shop = Plan::on(Rung::Sqlite).await.set("SECKILL_DEMO", "true").at_localhost().start().await;
    let origin = shop.origins()[0].replace("127.0.0.1", "localhost");
    let journeys = [journey("passkeys", DESKTOP), journey("step_up", DESKTOP), journey("spending", PHONE)];
    play_with(&shop, &journeys, json!({"origin": origin, "lanes": 2})).await;
    shop.audit_is_clean().await;
}

/// Journeys whose shops need the services.
mod stack {
    use super::*;

    #[tokio::test]
    async fn shopper_buys_once_pays_and_shares() {
        let shop = shop(Rung::Rabbit).await;
        let journeys = [
            journey("purchase", DESKTOP),
            journey("contention", DESKTOP),
            journey("no_script", PHONE),
            journey("packets", PHONE),
        ];
        play(&shop, &journeys).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn staff_run_a_sale_and_support_shoppers() {
        let shop = shop(Rung::Rabbit).await;
        play(&shop, &[journey("sale_management", DESKTOP), journey("support", PHONE)]).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn shop_pages_pass_the_visual_checks() {
        play(&shop(Rung::Rabbit).await, &[journey("shop_pages", EVERYWHERE)]).await;
    }

    #[tokio::test]
    async fn console_pages_pass_the_visual_checks() {
        play(&shop(Rung::Rabbit).await, &[journey("console_pages", EVERYWHERE)]).await;
    }

    #[tokio::test]
    async fn slow_consumer_is_shown_and_loses_no_order() {
        let plan = Plan::on(Rung::Rabbit).await.set("SECKILL_DEMO", "true");
        let mut shop = plan.roles(&["serve", "relay", "consume", "control"]).start().await;
        let consumer = shop.process("consume", 0).id();
        play(&shop, &[journey_with("slow_shop", PHONE, json!({ "consumer": consumer }))]).await;
        shop.audit_is_clean().await;
    }
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
        for (const name of ['quicknet', 'sandbox', 'none']) {{
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
        console.log(JSON.stringify(results));
        "#,
        script = root.join("static/draw_verify.js").display(),
        draws = root.join("tests/draw").display(),
    );
    let done = Command::new("node").args(["--input-type=module", "-e", &script]).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let results: Value = serde_json::from_slice(&done.stdout).unwrap();
    for (name, round) in [("quicknet", "round_ok"), ("sandbox", "round_sandbox"), ("none", "round_none")] {
        let result = &results[name];
        assert_eq!(result["ranks"], json!((1..=9).collect::<Vec<_>>()), "{name}");
        let names = ["rules_ok", "list_ok", "count_ok", "root_ok", "secret_ok", round, "seed_ok"];
        assert_eq!(result["findings"], json!(names.map(|words| format!("{words} true"))), "{name}");
        assert_eq!(result["broken"], json!(["secret_wrong", "seed_wrong"]), "{name}");
    }
}

/// The page's script finds the same place in a waiting room as the server, in segments of all sizes.
#[tokio::test]
async fn script_finds_the_same_place_as_the_server() {
    let seed = QueueSeed::new([7; 32]);
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
    let done = Command::new("node").args(["--input-type=module", "-e", &simulation]).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Vec<(i64, i64)> = serde_json::from_slice(&done.stdout).unwrap();
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
    let done = Command::new("node").args(["--input-type=module", "-e", &simulation]).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let arrivals: Vec<Vec<f64>> = serde_json::from_slice(&done.stdout).unwrap();
    for (arrivals, window) in arrivals.iter().zip([600.0, 600.0, 600.0]) {
        let mut tenths = [0_usize; 10];
        arrivals.iter().for_each(|late| tenths[(late / window * 10.0) as usize] += 1);
        let fair = arrivals.len() / 10;
        assert!(tenths.iter().all(|n| (fair * 8 / 10..fair * 12 / 10).contains(n)), "over {window} ms: {tenths:?}");
    }
    assert!(arrivals[3].iter().all(|late| *late < 1.0), "without a window no page is delayed");
}
