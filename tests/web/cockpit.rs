//! The cockpit's event stream and page, and dead letters.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::*;
use domain::{Refusal, SaleId};

/// An open stream of server-sent events.
struct EventStream {
    headers: HeaderMap,
    body: axum::body::BodyDataStream,
    text: String,
}

impl EventStream {
    /// The stream of a sale.
    async fn open(guest: &TestClient<'_>, sale: &str) -> EventStream {
        let path = format!("/api/admin/sales/{sale}/live");
        let request = Request::builder().uri(path).header("cookie", guest.cookie.clone().unwrap());
        let request = request.body(Body::empty()).unwrap();
        let response = guest.shop.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let (parts, body) = response.into_parts();
        EventStream { headers: parts.headers, body: body.into_data_stream(), text: String::new() }
    }

    /// The lines of the next event with this name.
    async fn event(&mut self, name: &str) -> Vec<String> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let lines: Vec<String> = event.lines().map(str::to_owned).collect();
                self.text = rest.to_owned();
                if lines.contains(&format!("event: {name}")) {
                    return lines;
                }
            }
            let chunk = self.body.next().await.expect("more events").unwrap();
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

fn data(event: &[String]) -> Value {
    serde_json::from_str(event.iter().find_map(|line| line.strip_prefix("data: ")).unwrap()).unwrap()
}

#[tokio::test]
async fn cockpit_and_dead_letters_are_for_staff() {
    open_shop!(shop, admin, [mei], id = 5);
    for path in [format!("/admin/sales/{id}"), "/admin/system".to_owned()] {
        assert!(mei.get(&path).await.is_page(404) && shop.visitor().get(&path).await.status == 303, "{path}");
        assert!(admin.get(&path).await.is_page(200), "{path}");
    }
    for path in [format!("/api/admin/sales/{id}/live"), "/api/admin/dead-letters".to_owned()] {
        assert_eq!(mei.get(&path).await.problem(), problem(404, "not_found"), "{path}");
        assert_eq!(shop.visitor().get(&path).await.problem(), problem(404, "not_found"), "{path}");
    }
    assert_eq!(admin.get("/api/admin/sales/999/live").await.problem(), problem(404, "no_such_sale"));
    assert!(admin.get("/admin/sales/999").await.is_page(404));
    for action in ["replay", "discard"] {
        let path = format!("/api/admin/dead-letters/{action}");
        assert_eq!(mei.post(&path, json!({"id": "x"})).await.problem(), problem(404, "not_found"));
        assert!(mei.send_form(&format!("/admin/dead-letters/{action}"), "confirm=yes").await.is_page(404));
    }
}

#[tokio::test]
async fn viewer_finds_no_actions() {
    open_shop!(shop, admin, id = 5);
    let page = format!("/admin/sales/{id}?lang=en");
    assert!(admin.get(&page).await.text().contains(&format!("/admin/sales/{id}/stop")));
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    let shown = vera.get(&page).await;
    assert!(shown.is_page(200) && shown.text().contains("Your role is read-only."));
    assert!(!shown.text().contains(&format!("/admin/sales/{id}/stop")));
    let path = "/api/admin/dead-letters/replay";
    assert_eq!(vera.post(path, json!({"all": true})).await.problem(), problem(403, "not_allowed"));
}

#[tokio::test]
async fn one_account_cannot_hold_all_event_streams() {
    open_shop!(shop, admin, id = 2);
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(EventStream::open(&vera, &id).await);
    }
    let refused = vera.get(&format!("/api/admin/sales/{id}/live")).await;
    assert_eq!((refused.problem(), refused.header("retry-after")), (problem(429, "too_many_streams"), "10"));
    let others = EventStream::open(&admin, &id).await;
    drop((streams.pop(), others));
    EventStream::open(&vera, &id).await.event("history").await;
}

#[tokio::test]
async fn event_stream_reports_a_sale_as_it_sells() {
    open_shop!(shop, admin, [mei, lin], id = 2);
    let bad = json!({"quantity": 1, "token": "x"});
    assert_eq!(lin.post(&format!("/api/sales/{id}/orders"), bad).await.problem(), problem(403, "bad_token"));
    assert_eq!(mei.buy(&id, 2).await.status, 202);
    assert_eq!(mei.buy(&id, 2).await.status, 200);
    shop.parts.gate.refresh_winners().await;
    assert_eq!(lin.buy(&id, 1).await.problem(), problem(409, "sold_out"));

    let mut stream = EventStream::open(&admin, &id).await;
    let header = |name: &str| stream.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!((header("cache-control"), header("x-accel-buffering")), ("no-store".into(), "no".into()));
    let history = stream.event("history").await;
    assert!(history.contains(&"retry: 2000".to_owned()), "{history:?}");
    let event = stream.event("sample").await;
    let sample = data(&event);
    let requests = &sample["requests"]["value"];
    assert_eq!((&requests["asked"], &requests["let_in"]), (&json!(4), &json!(2)), "{sample}");
    assert_eq!((&requests["reserved"], &requests["repeated"]), (&json!(1), &json!(1)));
    assert_eq!(requests["refused"], json!({"bad_token": 1, "sold_out": 1}));
    assert_eq!((&sample["sale"]["value"]["sold"], &sample["sale"]["value"]["total"]), (&json!(2), &json!(2)));
    let (phase, unpaid) = (&sample["gate"]["value"]["phase"], &sample["orders"]["value"]["unpaid"]);
    assert_eq!((phase, unpaid), (&json!("sold_out"), &json!(1)));
    assert_eq!((&sample["keeper"], &sample["queue"], &sample["drift"]), (&json!(null), &json!(null), &json!(null)));
    let at = sample["point"]["at"].to_string();
    assert!(event.contains(&format!("id: {at}")), "{event:?}");

    // Without a script the page shows the same.
    let page = admin.get(&format!("/admin/sales/{id}?lang=en")).await;
    for (key, value) in [("requests.asked", 4), ("stock.sold", 2), ("stock.left", 0)] {
        assert!(page.text().contains(&format!("data-key=\"{key}\">{value}<")), "{key}");
    }
    assert!(page.text().contains("http-equiv=\"refresh\""));
}

#[tokio::test]
async fn every_refusal_has_a_reason_in_the_words_of_the_cockpit() {
    open_shop!(shop, admin, id = 2);
    let page = admin.get(&format!("/admin/sales/{id}?lang=en")).await;
    for refusal in Refusal::ALL {
        // The script draws a line of the plot for each of these words.
        assert!(page.text().contains(&format!("<i data-key=\"reason_{refusal}\">")), "{refusal}");
    }
}

#[tokio::test]
async fn stock_that_is_nearly_gone_is_an_alarm() {
    open_shop!(shop, admin, id = 10);
    let page = async || admin.get(&format!("/admin/sales/{id}?lang=en")).await.text().to_owned();
    let quiet = page().await;
    assert_contains(&quiet, &["data-mood=\"good\">All clear. No alarms.<", "data-tile=\"revenue\""]);
    for name in ["mei", "lin", "tom", "zoe"] {
        assert_eq!(shop.shopper(name).await.buy(&id, 2).await.status, 202);
    }
    assert_eq!(shop.shopper("ada").await.buy(&id, 1).await.status, 202);
    let alarmed = page().await;
    assert!(alarmed.contains("data-mood=\"warn\">90% sold<"), "{alarmed}");
    for absent in ["data-source=\"queue\"", "data-slot=\"drift\""] {
        assert!(!alarmed.contains(absent), "of services that are not there");
    }
    for link in ["orders?sale={id}", "sales/new?from={id}", "sales/{id}/report"] {
        assert!(alarmed.contains(&format!("/admin/{}", link.replace("{id}", &id))), "{link}");
    }
    let mut stream = EventStream::open(&admin, &id).await;
    let sample = data(&stream.event("sample").await);
    assert_eq!((&sample["alarms"], &sample["point"]["left"]), (&json!(["nearly_sold"]), &json!(1)), "{sample}");
    assert_eq!((&sample["point"]["paid_units"], &sample["point"]["paid_share"]), (&json!(0), &json!(0.0)));
}

#[tokio::test]
async fn unwatched_sales_wait_for_a_permit_and_watched_ones_do_not() {
    open_shop!(shop, admin);
    let id = SaleId(shop.open_sale(&admin, 2).await.parse().unwrap());
    let (cockpit, stop) = (shop.parts.cockpit.clone(), CancellationToken::new());
    let permits = cockpit.take_unwatched_permits().await;
    let running = tokio::spawn(cockpit.clone().run(stop.clone()));
    until("a sampler begins", || cockpit.samplers() > 0).await;
    assert_eq!(cockpit.sampled_at(id), None);

    let mut viewer = cockpit.watch(id);
    let first = viewer.next().await.unwrap().at;
    assert!(first < viewer.next().await.unwrap().at, "a sample every second, although no permit is free");

    // A sample in progress may still complete.
    drop(viewer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let last = cockpit.sampled_at(id);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(cockpit.sampled_at(id), last, "sampled without a permit");
    drop(permits);
    until("it is sampled again", || cockpit.sampled_at(id) != last).await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn stop_ends_open_streams() {
    open_shop!(shop, admin, id = 2);
    let mut stream = EventStream::open(&admin, &id).await;
    stream.event("sample").await;
    shop.parts.cockpit.close();
    assert_eq!(data(&stream.event("end").await), json!({"reason": "stopping"}));
    assert!(stream.body.next().await.is_none(), "no event follows the end");
}

#[tokio::test]
async fn log_out_ends_the_streams_of_the_session_at_the_next_sample() {
    open_shop!(shop, admin, id = 2);
    let mut stream = EventStream::open(&admin, &id).await;
    stream.event("sample").await;
    assert_eq!(admin.post("/api/logout", json!({})).await.status, 204);
    let end = tokio::time::timeout(Duration::from_secs(4), stream.event("end")).await;
    assert_eq!(data(&end.expect("no end within four seconds")), json!({"reason": "not_allowed"}));
}

/// Waits for something that another task does.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect(what);
}

#[tokio::test]
async fn viewers_share_a_sampler_that_ends_with_the_last_viewer() {
    open_shop!(shop, admin);
    shop.open_sale(&admin, 2).await;
    let cockpit = &shop.parts.cockpit;
    let (mut one, mut two) = (cockpit.watch(SaleId(1)), cockpit.watch(SaleId(1)));
    let (first, same) = (one.next().await.unwrap(), two.next().await.unwrap());
    assert!(std::sync::Arc::ptr_eq(&first, &same));
    assert_eq!(cockpit.samplers(), 1);
    drop(one);
    assert!(two.next().await.is_some(), "the other viewer still gets samples");
    drop(two);
    until("the sampler ends", || cockpit.samplers() == 0).await;
    let again = cockpit.watch(SaleId(1));
    assert!(again.history.iter().any(|point| point.at == first.point.at), "a later viewer gets the history");
}

#[tokio::test]
async fn actions_in_the_cockpit_lead_back_to_it() {
    open_shop!(shop, admin, id = 5);
    let send = async |action: &str, form: &str| {
        admin.send_form(&format!("/admin/sales/{id}/{action}?lang=en"), &format!("back=sale&{form}")).await
    };
    let here = format!("/admin/sales/{id}?lang=en");
    assert!(send("pause", "confirm=yes").await.leads_to(&format!("{here}&done=paused&sale={id}")));
    assert!(admin.get(&format!("{here}&done=paused&sale={id}")).await.text().contains("paused."));
    for (action, form, status) in [("stop", "&typed=999", 422), ("top-up", "&units=x", 422), ("pause", "", 409)] {
        let refused = send(action, &format!("confirm=yes{form}")).await;
        assert!(refused.is_page(status) && refused.text().contains("data-cockpit="), "{action}");
    }
}

#[tokio::test]
async fn without_redis_and_rabbitmq_there_are_no_dead_letters() {
    open_shop!(shop, admin);
    let found = admin.get("/api/admin/dead-letters").await.json();
    assert_eq!(found, json!({"letters": [], "queue": "not_configured", "outboxes": "not_configured"}));
    assert!(admin.get("/admin/system?lang=en").await.text().contains("without Redis and RabbitMQ"));
    let act = async |action: &str, body: Value| admin.post(&format!("/api/admin/dead-letters/{action}"), body).await;
    assert_eq!(act("discard", json!({"id": "00"})).await.problem(), problem(404, "not_found"));
    assert_eq!(act("replay", json!({})).await.problem(), problem(422, "invalid"));
    assert_eq!(act("replay", json!({"all": true})).await.json(), json!({"settled": 0}));
    let unsure = admin.send_form("/admin/dead-letters/discard?lang=en", "id=00&confirm=yes&typed=01").await;
    assert!(unsure.is_page(422));
}
