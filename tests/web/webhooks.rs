//! Events for programs of the merchant: endpoints over the API and on the console's pages, and what becomes an event. What
//! becomes of slow, dead and failing endpoints is in the tests of `mail::webhooks`.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::HeaderMap;

use super::support::{paid_order, sendable_order};
use super::*;

/// A program of the merchant, and what it got.
#[derive(Clone)]
struct Program {
    url: String,
    received: Arc<Mutex<Vec<(HeaderMap, String)>>>,
}

impl Program {
    async fn start() -> Program {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let program = Program { url, received: Arc::default() };
        let received = program.received.clone();
        let take = move |headers: HeaderMap, body: Bytes| {
            let received = received.clone();
            async move { received.lock().unwrap().push((headers, String::from_utf8(body.to_vec()).unwrap())) }
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(take)).await.unwrap() });
        program
    }

    /// Subject, sequence and type of each event since the last call, sorted.
    fn take(&self) -> Vec<(String, i64, String)> {
        let received = std::mem::take(&mut *self.received.lock().unwrap());
        let of = |(_, body): (HeaderMap, String)| {
            let event: Value = serde_json::from_str(&body).unwrap();
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            (text("subject"), event["sequence"].as_i64().unwrap(), text("type"))
        };
        let mut events: Vec<_> = received.into_iter().map(of).collect();
        events.sort();
        events
    }
}

impl TestShop {
    /// Makes events of what happened and sends them.
    async fn send_events(&self) {
        self.parts.webhooks.step().await.unwrap();
        self.parts.webhooks.settle().await;
    }
}

async fn added(admin: &TestClient<'_>, program: &Program, events: Value) -> (String, String) {
    let answer = admin.post("/api/admin/webhooks", json!({"url": program.url, "events": events})).await.is(201);
    let new = answer.json();
    let id = new["webhook"]["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.header("location"), format!("/api/admin/webhooks/{id}"));
    (id, new["secret"].as_str().unwrap().to_owned())
}

fn of(subject: &str, events: &[(i64, &str)]) -> Vec<(String, i64, String)> {
    events.iter().map(|(sequence, kind)| (subject.to_owned(), *sequence, (*kind).to_owned())).collect()
}

#[tokio::test]
async fn life_of_an_order_is_told_once_signed_and_numbered() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    let early = lei.buy(&sale, 1).await.json()["order"]["id"].as_str().unwrap().to_owned();
    shop.send_events().await;
    assert_eq!(shop.execute("DELETE FROM events").await, 0, "nobody wants events yet");
    let program = Program::start().await;
    let events = json!(["order.*", "payment.*", "refund.*", "shipment.*", "sale.*"]);
    let (_, secret) = added(&admin, &program, events).await;
    assert!(secret.starts_with("whsec_"));
    shop.send_events().await;
    assert_eq!(program.take(), [], "what happened before is not told");

    let (order, url) = sendable_order(&shop, &mei, &sale).await;
    shop.send_events().await;
    let (headers, body) = program.received.lock().unwrap()[0].clone();
    standardwebhooks::Webhook::new(&secret).unwrap().verify(body.as_bytes(), &headers).unwrap();
    let event: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(event["data"]["order"]["id"], order);
    assert!(event["data"]["order"].get("address").is_none(), "who gets events need not know the recipient");
    let subject = format!("order {order}");
    let paid = [(1, "order.created"), (2, "payment.captured"), (3, "order.paid")];
    assert_eq!(program.take(), of(&subject, &paid));

    // The owner of the early order cancels it: the sequence tells that something came before.
    assert_eq!(lei.post(&format!("/api/sales/{sale}/orders/{early}/cancel"), json!({})).await.status, 200);
    admin.post(&format!("/api/admin/orders/{order}/parcel"), json!({"state": "packed"})).await;
    shop.send_events().await;
    let mut told = of(&format!("order {early}"), &[(2, "order.cancelled")]);
    told.extend(of(&subject, &[(4, "shipment.packed")]));
    told.sort();
    assert_eq!(program.take(), told);

    let part = json!({"amount": cny(100), "reason": "scratched", "to": "payer"});
    admin.post(&format!("/api/admin/orders/{order}/refund-part"), part).await;
    shop.send_events().await;
    assert_eq!(program.take(), of(&subject, &[(5, "refund.started")]));
    shop.parts.payments.refund_due().await.unwrap();
    shop.send_events().await;
    assert_eq!(program.take(), of(&subject, &[(6, "refund.completed")]));
    admin.refund(&order).await;
    shop.parts.payments.refund_due().await.unwrap();
    shop.send_events().await;
    let refunded = [(7, "refund.started"), (8, "refund.completed"), (9, "order.refunded")];
    assert_eq!(program.take(), of(&subject, &refunded));
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "refunded");

    for verb in ["pause", "resume", "stop"] {
        admin.post(&format!("/api/admin/sales/{sale}/{verb}"), json!({})).await;
        shop.send_events().await;
    }
    let stopped = [(1, "sale.paused"), (2, "sale.resumed"), (3, "sale.stopped")];
    assert_eq!(program.take(), of(&format!("sale {sale}"), &stopped));

    // Another look at everything, as after a backup was restored, tells nothing twice.
    assert_eq!(shop.execute("UPDATE event_cursor SET position = 0, revision = -1").await, 1);
    shop.send_events().await;
    assert_eq!(program.take(), []);
}

#[tokio::test]
async fn endpoint_gets_what_it_chose_and_again_what_it_missed() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let program = Program::start().await;
    let (id, _) = added(&admin, &program, json!(["order.paid", "sale.*"])).await;
    let path = format!("/api/admin/webhooks/{id}");
    let sale = shop.open_sale(&admin, 5).await;
    paid_order(&shop, &mei, &sale).await;
    shop.send_events().await;
    let kinds: Vec<String> = program.take().into_iter().map(|(.., kind)| kind).collect();
    assert_eq!(kinds, ["order.paid", "sale.opened"]);

    let page = admin.get(&format!("{path}/deliveries")).await.json();
    let delivery = &page["deliveries"][0];
    assert_eq!((&delivery["state"], &delivery["attempts"][0]["status"]), (&json!("delivered"), &json!(200)));
    assert_eq!((&page["next"], page["deliveries"].as_array().unwrap().len()), (&json!(null), 2));
    let replay = async |body: Value| admin.post(&format!("{path}/replay"), body).await;
    let again = replay(json!({"event": delivery["event"]})).await;
    assert_eq!((again.status.as_u16(), again.json()), (202, json!({"events": 1})));
    shop.send_events().await;
    assert_eq!(program.take().len(), 1);
    assert_eq!(replay(json!({"since": "2020-01-01T00:00:00Z"})).await.json(), json!({"events": 2}));
    shop.send_events().await;
    assert_eq!(program.take().len(), 2);
    let nobody = "0198c0de-0000-7000-8000-000000000001";
    assert_eq!(replay(json!({"event": nobody})).await.problem(), problem(404, "not_found"));
    assert_eq!(replay(json!({})).await.problem(), problem(422, "invalid"));

    let off = admin.send("PATCH", &path, &JSON, json!({"on": false}).to_string()).await.json();
    assert_eq!(off["webhook"]["state"], "off");
    assert_eq!(admin.post(&format!("{path}/test"), json!({})).await.status, 202);
    shop.send_events().await;
    assert_eq!(program.take(), []);
    let patch = json!({"on": true, "events": ["refund.*"]}).to_string();
    assert_eq!(admin.send("PATCH", &path, &JSON, patch).await.json()["webhook"]["events"], json!(["refund.*"]));
    shop.send_events().await;
    assert_eq!(program.take(), of(&format!("endpoint {id}"), &[(1, "ping")]), "what waited is sent");

    let old = admin.post(&format!("{path}/secret"), json!({})).await.json();
    let new = admin.post(&format!("{path}/rotate"), json!({})).await.json();
    assert_ne!(old["secret"], new["secret"]);
    assert_eq!(admin.post(&format!("{path}/secret"), json!({})).await.json(), new);
    assert_eq!(admin.delete(&path).await.status, 204);
    assert_eq!(admin.get(&path).await.problem(), problem(404, "not_found"));
    let log = admin.get("/api/admin/audit-log").await.json().to_string();
    for action in
        ["add-endpoint", "edit-endpoint", "reveal-secret", "rotate-secret", "replay-events", "delete-endpoint"]
    {
        assert!(log.contains(action), "{action}");
    }
    assert!(!log.contains("whsec_"));
}

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[tokio::test]
async fn addresses_inside_and_unknown_events_are_refused() {
    let public = TestShop::open_with(|config| config.web.public_url = "https://shop.example".into()).await;
    let admin = public.admin().await;
    let add = async |url: &str, events: Value| {
        admin.post("/api/admin/webhooks", json!({"url": url, "events": events})).await.json()["fields"].clone()
    };
    for url in
        ["http://erp.example/", "https://10.0.0.1/", "https://localhost/", "http://127.0.0.1:1/", "https://redis/"]
    {
        assert_eq!(add(url, json!(["order.*"])).await, json!([{"field": "url", "code": "bad_webhook_url"}]), "{url}");
    }
    for events in [json!([]), json!(["order.lost"]), json!(["ping"])] {
        assert_eq!(add("https://erp.example/", events).await, json!([{"field": "events", "code": "bad_events"}]));
    }
    for n in 0..store::MAX_ENDPOINTS {
        assert_eq!(add(&format!("https://erp.example/{n}"), json!(["order.*"])).await, json!(null));
    }
    let wrong = json!([{"field": "url", "code": "too_many_webhooks"}]);
    assert_eq!(add("https://erp.example/", json!(["order.*"])).await, wrong);
}

#[tokio::test]
async fn owner_adds_tests_and_deletes_an_endpoint_by_forms() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let program = Program::start().await;
    for (locale, words) in [("zh", "还没有接收地址"), ("en", "No endpoints yet")] {
        admin.get(&format!("/admin/system?show=webhooks&lang={locale}")).await.shows(200, &[words]);
    }
    let wrong = admin.send_form("/admin/webhooks?lang=en", "url=http%3A%2F%2Ferp.example&events=order.*").await;
    assert!(wrong.is_page(422) && wrong.text().contains("url-wrong") && wrong.text().contains("http://erp.example"));
    admin.send_form("/admin/webhooks?lang=en", "url=https%3A%2F%2Ferp.example").await.shows(422, &["events-wrong"]);
    let form = format!("url={}&events=order.*&events=sale.ended", program.url);
    admin.send_form("/admin/webhooks?lang=en", &form).await.shows(200, &["whsec_"]);
    let list = admin.get("/api/admin/webhooks").await.json();
    assert_eq!(list["webhooks"][0]["events"], json!(["order.*", "sale.ended"]));
    let path = format!("/admin/webhooks/{}", list["webhooks"][0]["id"].as_str().unwrap());
    admin.get(&format!("{path}?lang=en")).await.shows(200, &["Nothing was sent yet"]).lacks(&["whsec_"]);

    assert!(admin.send_form(&format!("{path}/test?lang=en"), "").await.leads_to(&format!("{path}?lang=en&done=test")));
    shop.send_events().await;
    admin.get(&format!("{path}?lang=zh")).await.has(&["已送达", "<code>ping</code>"]);
    let event: Value = serde_json::from_str(&program.received.lock().unwrap()[0].1).unwrap();
    let again = format!("event={}", event["id"].as_str().unwrap());
    admin.send_form(&format!("{path}/replay?lang=en"), &again).await.leads(&format!("{path}?lang=en&done=replay-1"));
    let wrong = admin.send_form(&format!("{path}/replay?lang=en"), "since=soon").await;
    assert!(
        wrong.is_page(422) && wrong.text().contains("since-wrong") && wrong.text().contains("class=\"folded\" open")
    );
    assert!(admin.send_form(&format!("{path}/secret?lang=en"), "").await.text().contains("whsec_"));
    assert!(admin.send_form(&format!("{path}/rotate?lang=en"), "confirm=yes").await.text().contains("whsec_"));
    let off = admin.send_form(&format!("{path}/switch?lang=en"), "on=no").await;
    assert!(admin.get(off.header("location")).await.text().contains("Turn on"));
    let edited = admin.send_form(&format!("{path}?lang=en"), &format!("url={}&events=refund.*", program.url)).await;
    assert!(edited.leads_to(&format!("{path}?lang=en&done=saved")));

    assert!(admin.send_form(&format!("{path}/delete?lang=en"), "").await.is_page(422), "it has to be confirmed");
    let gone = admin.send_form(&format!("{path}/delete?lang=en"), "confirm=yes").await;
    assert!(gone.leads_to("/admin/system?show=webhooks&lang=en&done=delete"));
    admin.get(gone.header("location")).await.has(&["Endpoint deleted", "No endpoints yet"]);
    assert!(admin.get(&format!("{path}?lang=en")).await.is_page(404));
}
