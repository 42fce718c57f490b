//! What the API refuses instead of guessing, and what exports contain.

use std::collections::BTreeSet;

use super::support::{bought, pay};
use super::*;

#[test]
fn every_route_of_the_api_is_documented() {
    let paths = |text: &str, mark: &str| -> BTreeSet<String> {
        let parts = text.split(mark).skip(1);
        let found = parts.filter_map(|part| Some(part.trim_start().strip_prefix('"')?.split('"').next()?.to_owned()));
        found.filter(|path| path.starts_with("/api/")).collect()
    };
    let routes = paths(include_str!("../../src/console/routes.rs"), ".route(");
    let document = document::document();
    let documented = document["paths"].as_object().unwrap().keys();
    assert!(routes.len() > 50, "the source of the router could not be parsed");
    assert_eq!(routes, documented.filter(|path| path.starts_with("/api/admin/")).cloned().collect());
    // The row that documents an operation of shoppers and of other shops is its route.
    let others = [include_str!("../../src/storefront/routes.rs"), include_str!("../../src/integration/routes.rs")];
    assert_eq!(paths(&others.concat(), ".route("), BTreeSet::new());
}

#[tokio::test]
async fn query_key_that_is_not_documented_is_refused_everywhere() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    for path in [
        "/api/sales".to_owned(),
        format!("/api/sales/{sale}/button"),
        "/api/me".into(),
        "/api/orders".into(),
        "/api/wallet".into(),
        "/api/packets".into(),
        "/api/account".into(),
        "/api/addresses".into(),
    ] {
        for query in ["befor=x", "lang=en&befor=x"] {
            mei.get(&format!("{path}?{query}")).await.refuses(422, "invalid").wrong("befor", "unknown");
        }
        assert_eq!(mei.get(&format!("{path}?lang=en")).await.status, 200, "{path}: each takes the language");
        assert_eq!(mei.get(&format!("{path}?")).await.status, 200, "{path}");
    }
    for path in ["sales", "goods", "orders", "orders.csv", "packets", "users", "staff", "audit-log"] {
        admin.get(&format!("/api/admin/{path}?statsu=paid")).await.refuses(422, "invalid");
    }
    mei.post(&format!("/api/sales/{sale}/token?x=1"), json!({})).await.refuses(422, "invalid");
    assert!(mei.get("/en/orders?utm_source=mail").await.is_page(200), "pages take the keys of others");
}

#[tokio::test]
async fn every_list_refuses_a_malformed_or_foreign_cursor_in_the_same_way() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let packet = admin.post("/api/packets", json!({"total": 5, "count": 1})).await.json();
    let id = packet["packet"]["id"].as_str().unwrap();
    let sale = shop.open_sale(&admin, 1).await;
    let nobody = uuid::Uuid::nil().to_string();
    let program = shop.program(&admin, "other shop", &["reserve"]).await;
    let endpoint = json!({"url": "http://127.0.0.1:9/events", "events": ["order.*"]});
    let endpoint = admin.post("/api/admin/webhooks", endpoint).await.json()["webhook"]["id"].clone();
    let document = document::document();
    let mut lists = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let parameters = operations["get"]["parameters"].as_array().into_iter().flatten();
        for cursor in parameters.filter_map(|p| p["name"].as_str()).filter(|name| ["before", "after"].contains(name)) {
            let path = path.replace("{packet}", id).replace("{sale}", &sale).replace("{user}", &nobody);
            let path = path.replace("{webhook}", endpoint.as_str().unwrap());
            let user = if path.starts_with("/api/admin/") { &admin } else { &mei };
            let get = async |path: &str| match path.starts_with("/api/v1/") {
                true => program.get(path).await,
                false => user.get(path).await,
            };
            get(&format!("{path}?{cursor}=x")).await.refuses(422, "invalid").wrong(cursor, "bad_cursor");
            // An account that is linked to no other has no group.
            let first_page = if path.ends_with(&nobody) { 404 } else { 200 };
            assert_eq!(get(&format!("{path}?{cursor}=")).await.status, first_page, "{path}: the first page");
            lists += 1;
        }
    }
    assert!(lists >= 11, "only {lists} lists have a cursor");
    // The packet belongs to another giver: cursors find no packets of others.
    for path in ["?given&before=7", "?received&before=7", &format!("?before={id}")] {
        assert_eq!(mei.get(&format!("/api/packets{path}")).await.problem(), problem(422, "invalid"), "{path}");
    }
    assert_eq!(admin.get(&format!("/api/admin/packets?before={id}")).await.json()["packets"], json!([]));
    for page in ["/en/orders", "/en/packets", "/en/questions", "/en/wallet"] {
        assert!(mei.get(&format!("{page}?before=x")).await.is_page(422), "{page}");
    }
    for page in [
        "?",
        "/orders?",
        "/orders?show=payments&",
        "/packets?",
        "/users?",
        "/log?",
        "/questions?",
        "/log?show=security&",
    ] {
        assert!(admin.get(&format!("/admin{page}before=x")).await.is_page(422), "{page}");
    }
    for page in ["", "/00000000-0000-0000-0000-000000000000"] {
        assert!(admin.get(&format!("/admin/sales/{sale}/clusters{page}?after=x")).await.is_page(422), "{page}");
    }
}

#[tokio::test]
async fn sales_are_in_currencies_that_exist() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let goods = admin.new_goods().await;
    let sale = |currency: &str| json!({"goods_id": goods, "price": {"amount": 1500, "currency": currency}, "total": 2, "per_user_limit": 1});
    let refused = admin.post("/api/admin/sales", sale("ZZZ")).await.refuses(422, "invalid");
    assert_eq!(refused.json()["fields"][0]["field"], "price.currency");
    for (currency, shown) in [("KWD", "1.500"), ("CLP", "1500"), ("JPY", "1500"), ("CNY", "15.00")] {
        let sale = admin.post("/api/admin/sales", sale(currency)).await.is(201);
        let page =
            admin.get(&format!("/admin/sales/{}/edit?lang=en", sale.json()["sale"]["id"].as_str().unwrap())).await;
        assert!(page.text().contains(&format!("value=\"{shown}\"")), "{currency}");
    }
}

#[tokio::test]
async fn csv_has_plain_phone_numbers_and_the_time_of_payment() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let url = mei.buy(&sale, 1).await.json()["status_url"].as_str().unwrap().to_owned();
    let address = json!({"address": {"recipient": "Ada", "phone": "+1 415 555 0123", "country": "US", "region": "CA",
        "city": "San Francisco", "line1": "1 Main Street", "postal_code": "94105"}});
    assert_eq!(mei.put(&format!("{url}/address"), address).await.status, 200);
    let cells = async || {
        let text = admin.get("/api/admin/orders.csv").await.text().strip_prefix('\u{feff}').unwrap().to_owned();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers().unwrap().clone();
        let record = reader.records().next().unwrap().unwrap();
        let cell = |name: &str| record[head.iter().position(|head| head == name).unwrap()].to_owned();
        (cell("phone"), cell("paid_at"))
    };
    assert_eq!(cells().await, ("+1 415 555 0123".to_owned(), String::new()));
    pay(&shop, &mei.post(&format!("{url}/payments"), json!({})).await.json()).await;
    let paid = mei.get(&url).await.json()["order"]["history"][2].clone();
    assert_eq!((paid["status"].as_str(), paid["at"].as_str()), (Some("paid"), Some(cells().await.1.as_str())));
}

#[tokio::test]
async fn export_contains_packets() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let given = admin.post("/api/packets", json!({"total": 700, "count": 1, "greeting": "恭喜"})).await.json();
    let first = given["packet"]["id"].as_str().unwrap();
    assert_eq!(mei.post(&format!("/api/packets/{first}/claims"), json!({})).await.status, 200);
    for _ in 0..2 {
        shop.parts.packet_settler().step().await.unwrap();
    }
    let own = mei.post("/api/packets", json!({"total": 300, "count": 3})).await.json()["packet"]["id"].clone();
    let packets = mei.get("/api/account/export").await.json()["packets"].clone();
    assert_eq!((packets["given"].as_array().unwrap().len(), &packets["given"][0]["id"]), (1, &own));
    assert_eq!(packets["given"][0]["total"], cny(300));
    let received = &packets["received"][0];
    assert_eq!((received["packet_id"].as_str(), &received["amount"]["amount"]), (Some(first), &json!(700)));
    assert_eq!(received["greeting"], "恭喜");
}

/// PostgreSQL stores no NUL: without this refusal each of these is answered 500 there.
#[tokio::test]
async fn text_with_a_nul_is_refused_in_bodies_forms_queries_and_paths() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let invalid = |answer: &TestResponse, what: &str| assert_eq!(answer.problem(), problem(422, "invalid"), "{what}");
    let login = shop.visitor().post("/api/login", json!({"username": "mei\0", "password": "correct horse"})).await;
    invalid(&login, "log-in");
    assert_eq!(login.json()["fields"], json!([{"field": "username", "code": "bad_text"}]));
    let goods = json!({"name": {"zh": "手\0机", "en": "Phone"}, "description": {"zh": "", "en": ""}});
    let goods = admin.post("/api/admin/goods", goods).await;
    invalid(&goods, "goods");
    assert_eq!(goods.json()["fields"][0]["field"], "name.zh");
    for path in ["/api/register", "/api/recovery", "/api/addresses", "/api/admin/packets"] {
        invalid(&admin.post(path, json!({"any\0": "thing", "x": ["\0"]})).await, path);
    }
    for path in ["/zh/login", "/zh/register", "/zh/recovery", "/admin/staff", "/admin/views"] {
        assert!(admin.send_form(path, "username=a%00b&password=x&account=%00").await.is_page(422), "{path}");
    }
    for path in ["/api/admin/users?q=a%00", "/api/admin/audit-log?actor=%00", "/api/orders?before=%00"] {
        invalid(&admin.get(path).await, path);
    }
    for path in ["/admin/users?q=%00", "/admin/log?subject=%00&lang=en", "/admin/search?q=a%00", "/zh/login?next=%00"] {
        assert!(admin.get(path).await.is_page(422), "{path}");
    }
    let path = "/api/admin/goods/1/pictures/u-%00.webp";
    invalid(&admin.delete(path).await, path);
    assert_eq!(admin.get("/api/admin/goods/1%00").await.status, 404, "no id has a NUL");
    let report = shop.report("msg_1", "payment.captured", json!({"payment_id": "a\0", "reason": "\0"})).await;
    assert_eq!(report.problem(), problem(400, "bad_json"));
}

/// A debug form such as `outcome=Ok(Step(ParcelLabel { .. }))` changes with the code, so log searches break.
#[test]
fn lines_of_the_log_have_no_debug_forms() {
    fn check(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let checked = entries.map(|path| {
            if path.is_dir() {
                return check(&path);
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let macros = ["info!(", "warn!(", "error!(", "debug!(", "trace!("];
            let lines =
                macros.iter().flat_map(|name| text.split(name).skip(1)).filter_map(|rest| rest.split(");").next());
            for line in lines.clone() {
                let fields = line.split('"').next().unwrap_or_default();
                let is_debug = |rest: &str| rest.starts_with(|next: char| next.is_ascii_lowercase());
                assert!(!fields.split('?').skip(1).any(is_debug), "{}: {line}", path.display());
            }
            lines.count()
        });
        checked.sum()
    }
    assert!(check(std::path::Path::new("src")) > 100);
}

/// Leaves an attribute, a text and a statement, wherever it is pasted in.
const HOSTILE: &str = "'\"><script>alert(1)</script>'); DELETE FROM orders; --";

/// Pastes [`HOSTILE`] into every field for text, then reads every page of the console and the shopper's pages.
#[tokio::test]
async fn what_people_write_is_data_on_every_page_and_in_every_statement() {
    let (shop, sale) = TestShop::open().await.selling(2).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (order, url) = bought(&mei, &sale, 1).await;
    let address = json!({"address": {"recipient": HOSTILE, "phone": "13800138000", "country": "CN",
        "region": HOSTILE, "city": HOSTILE, "line1": HOSTILE, "postal_code": "310000"}});
    assert_eq!(mei.put(&format!("{url}/address"), address).await.status, 200);
    pay(&shop, &mei.post(&format!("{url}/payments"), json!({})).await.json()).await;
    assert_eq!(mei.put(&format!("{url}/invoice"), json!({"title": HOSTILE})).await.status, 200);
    let asked = mei.post(&format!("/api/sales/{sale}/questions"), json!({"text": HOSTILE, "locale": "en"})).await;
    let question = asked.json()["question"]["id"].as_str().unwrap().to_owned();
    admin.put(&format!("/api/admin/questions/{question}/answer"), json!({"answer": HOSTILE})).await.is(200);
    let packet = admin.post("/api/admin/packets", json!({"total": 500, "count": 5, "greeting": HOSTILE})).await;
    let packet = packet.json()["packet"]["id"].as_str().unwrap().to_owned();
    let renamed = json!({"name": {"zh": HOSTILE, "en": HOSTILE}, "description": {"zh": HOSTILE, "en": HOSTILE}});
    let json_type = [("content-type", "application/json")];
    assert_eq!(admin.send("PATCH", "/api/admin/goods/1", &json_type, renamed.to_string()).await.status, 200);
    shop.parts.catalogue.refresh().await.unwrap();
    shop.publish();

    let ids = [("{sale}", &sale), ("{order}", &order), ("{question}", &question), ("{packet}", &packet)];
    let console =
        super::permissions::TABLE.iter().filter(|(method, path, _)| *method == "GET" && !path.ends_with("/live"));
    let console = console
        .map(|(_, path, _)| ids.iter().fold(path.replace("{goods}", "1"), |path, (name, id)| path.replace(name, id)));
    let of_shopper = [
        "/en/".to_owned(),
        format!("/en/sales/{sale}"),
        format!("/en/orders/{sale}/{order}"),
        "/en/orders".into(),
        "/en/questions".into(),
        format!("/en/packets/{packet}"),
        format!("/en/orders/{sale}/{order}/receipt"),
        format!("/en/sales/{sale}/questions"),
        "/en/account/addresses".into(),
    ];
    let mut shown = 0;
    for (who, path) in console.map(|path| (&admin, path)).chain(of_shopper.map(|path| (&mei, path))) {
        let answer = who.get(&path).await;
        if answer.header("content-type").starts_with("text/html") {
            assert!(!answer.text().contains("<script>alert"), "{path}: {}", answer.text());
            shown += usize::from(answer.text().contains("alert(1)"));
        }
    }
    assert!(shown > 10, "{shown} pages showed it");
    let sought: String = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    for path in [
        "/admin/search?q",
        "/admin/users?q",
        "/admin/log?subject",
        "/api/admin/users?q",
        "/en/archive?q",
        "/en/login?next",
    ] {
        let answer = mei.get(&format!("{path}={sought}")).await;
        let answer = if answer.status == 404 { admin.get(&format!("{path}={sought}")).await } else { answer };
        assert!(answer.status.as_u16() < 500 && !answer.text().contains("<script>alert"), "{path}: {answer:?}");
    }
    assert_eq!(mei.get(&url).await.status, 200, "no order was deleted");
}

/// The parts of a path in braces.
fn parameters(pattern: &str) -> impl Iterator<Item = &str> + Clone {
    pattern.split('/').filter(|part| part.starts_with('{'))
}

/// Paths of the forms in one language, as the router's source has them, without the language.
fn forms_of_shoppers() -> Vec<String> {
    let source = include_str!("../../src/storefront/routes.rs").replace("{{", "{").replace("}}", "}");
    let routes = source.split(".route(").filter(|route| route.contains("post("));
    let path = |route: &str| {
        let path = ["&at(\"", "&format!(\"/{locale}"].iter().find_map(|mark| route.split_once(mark))?.1;
        Some(path.split('"').next()?.to_owned())
    };
    routes.filter_map(path).collect()
}

/// Every operation of the document, and every form, that names something of an account, as another account.
#[tokio::test]
async fn what_belongs_to_another_account_is_not_found_by_any_operation() {
    let (shop, _) = super::authenticator::open().await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let sale = shop.sell(2).await;
    let bought = mei.buy(&sale, 1).await.json();
    let url = bought["status_url"].as_str().unwrap();
    let id = |answer: Value, what: &str| answer[what]["id"].as_str().unwrap().to_owned();
    let address = json!({"address": {"recipient": "Mei", "phone": "13800138000", "country": "CN", "region": "浙江省",
        "city": "杭州市", "line1": "文三路 1 号"}});
    let payment = id(mei.post(&format!("{url}/payments"), json!({})).await.json(), "payment");
    let top_up = id(mei.post("/api/wallet/top-ups", json!({"amount": cny(100)})).await.json(), "payment");
    let question = json!({"text": "Is it waterproof?", "locale": "en"});
    let question = id(mei.post(&format!("/api/sales/{sale}/questions"), question).await.json(), "question");
    let sessions = mei.get("/api/account/sessions").await.json();
    mei.add_passkey("correct horse").await;
    let own = [
        ("{passkey}", mei.passkeys().await[0]["id"].as_str().unwrap().to_owned()),
        ("{order}", id(bought.clone(), "order")),
        ("top-ups/{payment}", format!("top-ups/{top_up}")),
        ("{payment}", payment),
        ("{address}", id(mei.post("/api/addresses", address.clone()).await.json(), "address")),
        ("{question}", question),
        ("{session}", sessions["sessions"][0]["id"].as_str().unwrap().to_owned()),
    ];
    let seen = async || {
        let all = [url, "/api/addresses", "/api/questions", "/api/wallet", "/api/account/passkeys"];
        let all = all.map(|path| mei.get(path));
        futures::future::join_all(all).await.iter().map(TestResponse::json).collect::<Vec<_>>()
    };
    let before = seen().await;
    let mut asked = 0;
    for (pattern, operations) in document::document()["paths"].as_object().unwrap() {
        let is_staffs = pattern.starts_with("/api/admin/") || pattern.starts_with("/api/v1/");
        // What everybody may name, and an address that nobody signs in to.
        let mut of_accounts = parameters(pattern).filter(|name| !["{sale}", "{packet}", "{provider}"].contains(name));
        if is_staffs || of_accounts.clone().next().is_none() {
            continue;
        }
        assert!(of_accounts.all(|name| own.iter().any(|(of_mei, _)| *of_mei == name)), "{pattern} is not tried");
        let path = own.iter().fold(pattern.replace("{sale}", &sale), |path, (name, id)| path.replace(name, id));
        for method in ["get", "put", "post", "delete"].into_iter().filter(|method| operations.get(method).is_some()) {
            let body = match (method, pattern.rsplit('/').next().unwrap()) {
                ("get" | "delete", _) => Value::Null,
                (_, "address" | "{address}") => address.clone(),
                (_, "invoice") => json!({"title": "Lei"}),
                (_, "remove") => json!({"password": "correct horse"}),
                (_, "return") => json!({"reason": "damaged"}),
                (_, "parcel") => json!({"carrier": "sf", "number": "SF1234567890"}),
                _ => json!({}),
            };
            let (json_type, text) = ([("content-type", "application/json")], body.to_string());
            let answer = match body {
                Value::Null => lei.send(&method.to_uppercase(), &path, &[], "").await,
                _ => lei.send(&method.to_uppercase(), &path, &json_type, text).await,
            };
            assert_eq!(answer.problem(), problem(404, "not_found"), "{method} {path}");
            asked += 1;
        }
    }
    assert!(asked > 12, "{asked} operations");
    let fields = "recipient=Lei&phone=13800138000&country=CN&region=Shanghai&city=Shanghai&line1=Road+1&choice=new\
                  &reason=damaged&carrier=sf&number=SF1234567890&title=Lei&text=Why&from=wallet&password=correct+horse";
    let (mut sent, mut wrong) = (0, Vec::new());
    for pattern in forms_of_shoppers() {
        if !own.iter().any(|(name, _)| pattern.contains(name)) {
            assert!(parameters(&pattern).all(|name| ["{sale}", "{packet}"].contains(&name)), "{pattern} is not tried");
            continue;
        }
        let path = own.iter().fold(pattern.replace("{sale}", &sale), |path, (name, id)| path.replace(name, id));
        let answer = lei.send_form(&format!("/en{path}"), fields).await;
        // An appeal leads back to the order, which is not found then.
        if answer.status != if pattern.ends_with("/appeal") { 303 } else { 404 } {
            wrong.push((pattern, answer.status));
        }
        sent += 1;
    }
    assert!(wrong.is_empty() && sent > 12, "{sent} forms: {wrong:?}");
    assert_eq!(seen().await, before);
    assert_eq!(mei.get("/api/me").await.status, 200, "the session goes on");
}
