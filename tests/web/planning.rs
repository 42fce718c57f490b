//! Planning sales: drafts, the form, overlap, the calendar, the checklist.

use super::support::sorted;
use super::*;

const LATER: &str = "2099-05-05T12:00:00Z";
const MUCH_LATER: &str = "2099-05-05T13:00:00Z";

fn sale(opens: Value, closes: Value) -> Value {
    json!({
        "goods_id": "1", "price": cny(500), "list_price": cny(900),
        "total": 10, "per_user_limit": 1, "opens_at": opens, "closes_at": closes,
    })
}

fn with(mut sale: Value, field: &str, value: Value) -> Value {
    sale[field] = value;
    sale
}

/// A valid form. `more` adds fields.
fn form(more: &str) -> String {
    format!("goods_id=1&price=5.00&list_price=9.00&total=10&per_user_limit=1&{more}")
}

#[tokio::test]
async fn form_shows_the_card_of_the_list_as_it_is_filled_in() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let card = async |query: &str| admin.get(&format!("/admin/sales/preview?lang=en&{query}")).await;
    let whole = card(&form("opens_at=2099-05-05T12:00:00Z&mode=queue&as=schedule")).await;
    for part in ["class=\"card\"", "Phone", "¥5", "<s class=\"was\">", "datetime=\"2099-05-05T12:00:00Z\""] {
        assert!(whole.text().contains(part), "{part}: {whole:?}");
    }
    assert!(card("goods_id=1&price=5&total=").await.text().contains("Phone"), "half a form");
    for part in ["goods_id=&price=5", "goods_id=1&price=", "goods_id=1&price=x"] {
        let text = card(part).await.text().to_owned();
        assert!(text.contains("Choose a product and a price") && !text.contains('¥'), "{part}: {text}");
    }
    assert_eq!(admin.get("/api/admin/sales").await.json()["sales"], json!([]), "nothing is saved");
    let blank = admin.get("/admin/sales/new?goods=1&lang=en").await;
    assert!(blank.text().contains("Choose a product and a price"), "no price is made up");
}

#[tokio::test]
async fn draft_is_hidden_from_shoppers_until_it_is_scheduled() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    admin.new_goods().await;
    let id = admin.new_sale(with(sale(json!(LATER), json!(MUCH_LATER)), "draft", json!(true))).await;
    let seen = async || {
        shop.publish();
        let page = mei.get(&format!("/en/sales/{id}")).await.status.as_u16();
        let button = mei.get(&format!("/api/sales/{id}/button")).await.status.as_u16();
        (page, button, mei.get("/api/sales").await.json()["sales"].as_array().unwrap().len())
    };
    assert_eq!(seen().await, (404, 404, 0));
    let cockpit = admin.get(&format!("/admin/sales/{id}?lang=en")).await;
    assert!(!cockpit.text().contains(&format!("href=\"/en/sales/{id}\"")), "it would be missing");
    let patched = admin
        .send("PATCH", &format!("/api/admin/sales/{id}"), &[("content-type", "application/json")], r#"{"total":11}"#)
        .await;
    assert_eq!(patched.json()["sale"]["state"], "draft", "an edit does not announce it");
    let at = |action: &str| format!("/api/admin/sales/{id}/{action}");
    assert_eq!(admin.post(&at("schedule"), json!({})).await.json()["sale"]["state"], "scheduled");
    assert_eq!(seen().await, (200, 200, 1));
    assert_eq!(admin.post(&at("schedule"), json!({})).await.problem(), problem(409, "wrong_state"));
    let deleted = admin.delete(&format!("/api/admin/sales/{id}")).await;
    assert_eq!(deleted.problem(), problem(409, "wrong_state"), "only drafts are deleted");
    assert_eq!(admin.post(&at("unschedule"), json!({})).await.json()["sale"]["state"], "draft");
    assert_eq!(seen().await, (404, 404, 0));
    admin.delete(&format!("/api/admin/sales/{id}")).await.is(204);
    assert_eq!(admin.get("/api/admin/sales").await.json()["sales"], json!([]));
    let log = admin.get("/api/admin/audit-log").await.json();
    assert_eq!(each(&log["entries"], "action")[..5], ["delete", "unschedule", "schedule", "edit", "create"]);
}

#[tokio::test]
async fn form_saves_drafts_and_list_schedules_them() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let window = "opens_at=2099-05-05T12:00&closes_at=2099-05-05T13:00";
    let draft = admin.send_form("/admin/sales?lang=en", &form(&format!("as=draft&{window}"))).await;
    assert!(draft.leads_to("/admin?lang=en&done=drafted&sale=1"), "{draft:?}");
    admin.get("/admin?lang=en&done=drafted&sale=1").await.has(&["Sale 1 saved as a draft", "data-group=\"drafts\""]);
    let odd = admin.get("/admin?lang=en&done=%3Cb%3E&sale=%3Cb%3E").await;
    assert!(!odd.text().contains("class=\"success\""), "unknown values of the query show nothing");

    admin.send_form("/admin/sales/1/schedule?lang=en", "").await.shows(422, &[]);
    let scheduled = admin.send_form("/admin/sales/1/schedule?lang=en", "confirm=yes").await;
    assert!(scheduled.leads_to("/admin?lang=en&done=scheduled&sale=1"));
    let back = admin.send_form("/admin/sales/1/unschedule?lang=en", "confirm=yes&back=sale").await;
    assert!(back.leads_to("/admin/sales/1?lang=en&done=unscheduled&sale=1"));
    assert!(admin.send_form("/admin/sales/1/delete?lang=en", "").await.is_page(422));
    admin.send_form("/admin/sales/1/delete?lang=en", "confirm=yes").await.leads("/admin?lang=en&done=deleted&sale=1");
    assert!(admin.get("/admin?lang=en").await.text().contains("No sales yet"));
    assert!(admin.get("/admin/sales/1/edit").await.is_page(404));
}

#[tokio::test]
async fn sale_is_edited_by_form_until_it_begins() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let id = admin.new_sale(sale(json!(LATER), json!(MUCH_LATER))).await;
    let path = format!("/admin/sales/{id}/edit?lang=en");
    let page = admin.get(&path).await;
    for part in ["value=\"5.00\"", "value=\"2099-05-05T12:00:00\"", "name=\"version\" value=\"1\"", "id=\"checklist\""]
    {
        assert!(page.text().contains(part), "{part}");
    }
    let times = "opens_at=2099-05-05T12:00&closes_at=2099-05-05T13:00";
    let wrong = admin.send_form(&path, &form(&format!("{times}&as=schedule&version=1&total=many"))).await;
    assert_eq!(wrong.status, 400, "a field given twice is not a valid form");
    let wrong =
        admin.send_form(&path, &format!("goods_id=1&price=7.77&total=9&per_user_limit=10&{times}&version=1")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("value=\"7.77\""));
    let saved = admin.send_form(&path, &form(&format!("{times}&as=schedule&version=1"))).await;
    assert!(saved.leads_to(&format!("/admin/sales/{id}/edit?lang=en&done=saved&sale={id}")), "{saved:?}");
    let again = admin.send_form(&path, &form(&format!("{times}&as=schedule&version=1"))).await;
    assert_eq!(again.status, 303, "the same form again succeeds");
    // An edit of another user is not overwritten unseen; saving again overwrites knowingly.
    admin
        .send_form(&path, &form(&format!("{times}&as=draft&version=1")))
        .await
        .shows(409, &["Someone else just changed", "name=\"version\" value=\"3\""]);

    assert_eq!(admin.post(&format!("/api/admin/sales/{id}/start"), json!({})).await.status, 200);
    for begun in [admin.get(&path).await, admin.send_form(&path, &form("as=draft&version=4")).await] {
        assert!(begun.is_page(409) && begun.text().contains("only add stock, pause or stop"), "{begun:?}");
    }
    let untouched = &admin.get("/api/admin/sales").await.json()["sales"][0];
    assert_eq!((&untouched["state"], &untouched["total"]), (&json!("live"), &json!(10)));
}

#[tokio::test]
async fn copy_has_all_values_and_a_later_window() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let id = admin.new_sale(sale(json!(LATER), json!(MUCH_LATER))).await;
    admin.get(&format!("/admin/sales/new?from={id}&lang=en")).await.has(&[
        "value=\"5.00\"",
        "value=\"9.00\"",
        "<option value=\"1\" selected>",
        "value=\"2099-05-06T12:00:00\"",
        "value=\"2099-05-06T13:00:00\"",
        "name=\"version\" value=\"\"",
        "Copied from sale",
    ]);
    let blank = admin.get("/admin/sales/new?goods=1&from=x&opens_at=2099-05-05T20:00:00Z").await;
    assert!(blank.text().contains("<option value=\"1\" selected>") && blank.text().contains("2099-05-05T20:00:00"));
}

#[tokio::test]
async fn form_submitted_twice_creates_one_sale() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let body = form("as=draft&key=0198c3c0-0000-7000-8000-000000000001");
    let (one, two) =
        tokio::join!(admin.send_form("/admin/sales?lang=en", &body), admin.send_form("/admin/sales?lang=en", &body));
    assert!(one.leads_to("/admin?lang=en&done=drafted&sale=1") && two.leads_to("/admin?lang=en&done=drafted&sale=1"));
    assert_eq!(admin.get("/api/admin/sales").await.json()["sales"].as_array().unwrap().len(), 1);
    let other = form("as=draft&key=0198c3c0-0000-7000-8000-000000000002");
    assert!(admin.send_form("/admin/sales?lang=en", &other).await.leads_to("/admin?lang=en&done=drafted&sale=2"));
}

#[tokio::test]
async fn goods_are_not_in_two_sales_at_the_same_time() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let body = form("as=schedule&opens_at=2099-05-05T12:00&closes_at=2099-05-05T13:00");
    let (one, two) =
        tokio::join!(admin.send_form("/admin/sales?lang=en", &body), admin.send_form("/admin/sales?lang=en", &body));
    assert_eq!(sorted(&one, &two), [303, 409], "one of two concurrent forms");
    let refused = if one.status == 409 { one } else { two };
    assert!(refused.text().contains("href=\"/admin/sales/1?lang=en\"") && refused.text().contains("value=\"5.00\""));

    // The API warns, and refuses only on request.
    let second = admin.post("/api/admin/sales", sale(json!("2099-05-05T12:30:00Z"), json!(null))).await.json();
    assert_eq!(second["warnings"], json!([{"field": "opens_at", "code": "overlap", "sale_id": "1"}]));
    let strict = with(sale(json!(LATER), json!(null)), "allow_overlap", json!(false));
    assert_eq!(admin.post("/api/admin/sales", strict).await.problem(), problem(409, "overlap"));
    // None of these overlap: drafts, sales without a window, a sale that begins when the other ends.
    for free in [
        sale(json!("2099-05-05T11:00:00Z"), json!(LATER)),
        sale(json!(null), json!(null)),
        with(sale(json!(LATER), json!(null)), "draft", json!(true)),
    ] {
        let answer = admin.post("/api/admin/sales", with(free.clone(), "allow_overlap", json!(false))).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["warnings"]), (201, &json!([])), "{free}");
    }
    let draft = admin.send_form("/admin/sales/5/schedule?lang=en", "confirm=yes").await;
    assert!(draft.is_page(409) && draft.text().contains("View sale 1"), "{}", draft.status);
}

#[tokio::test]
async fn implausible_values_need_confirmation_or_give_warnings() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let dear = "goods_id=1&price=9.00&list_price=9.00&total=10&per_user_limit=1&as=draft";
    admin.send_form("/admin/sales?lang=en", dear).await.shows(422, &["name=\"price_ok\""]);
    let meant = admin.send_form("/admin/sales?lang=en", &format!("{dear}&price_ok=yes")).await;
    assert!(meant.leads_to("/admin?lang=en&done=drafted&sale=1"));
    let past = admin.send_form("/admin/sales?lang=en", &form("as=schedule&opens_at=2001-01-01T00:00")).await;
    assert!(past.is_page(422) && past.text().contains("This time has passed"));
    let short = "as=schedule&opens_at=2099-01-01T00:00&closes_at=2099-01-01T00:00:59";
    assert!(admin.send_form("/admin/sales?lang=en", &form(short)).await.text().contains("at least one minute"));

    let odd = with(sale(json!("2001-01-01T00:00:00Z"), json!("2001-01-01T00:00:30Z")), "price", cny(900));
    let said = admin.post("/api/admin/sales", odd).await.json()["warnings"].take();
    assert_eq!(each(&said, "code"), ["in_past", "in_past", "not_lower"]);
}

#[tokio::test]
async fn list_of_sales_is_grouped_searched_and_paged() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    for n in 0..12 {
        let id = admin.new_sale(sale(json!(format!("2099-05-{:02}T12:00:00Z", n + 1)), json!(null))).await;
        for action in ["start", "stop"] {
            assert_eq!(admin.post(&format!("/api/admin/sales/{id}/{action}"), json!({})).await.status, 200);
        }
    }
    let live = admin.new_sale(sale(json!(null), json!(null))).await;
    assert_eq!(admin.post(&format!("/api/admin/sales/{live}/start"), json!({})).await.status, 200);
    let ids = |answer: &TestResponse| -> Vec<i64> {
        let mut parts = answer.text().split("<tr data-sale=\"");
        parts.next();
        parts.map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(ids(&admin.get("/admin?lang=en").await), [13]);
    let first = admin.get("/admin?lang=en&state=all").await;
    // The live sale first, then ended ones, the latest first.
    assert_eq!(ids(&first), [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    let next =
        first.text().split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
    let next = next.replace("&#38;", "&");
    assert_eq!(ids(&admin.get(&next).await), [2, 1]);
    assert_eq!(ids(&admin.get("/admin?state=live").await), [13]);
    assert_eq!(ids(&admin.get("/admin?q=%237").await), [7]);
    assert_eq!(ids(&admin.get("/admin?q=phone&state=live").await), [13]);
    let nothing = admin.get("/admin?lang=en&q=%3Cscript%3Enothing").await;
    assert!(ids(&nothing).is_empty() && nothing.text().contains("No matching sales"));
    assert_eq!(ids(&admin.get("/admin?before=0-1").await), [0_i64; 0]);
    assert!(admin.get("/admin?before=nonsense").await.is_page(422));
    assert_eq!(admin.get("/api/admin/sales?current=true").await.json()["sales"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn calendar_shows_a_month_of_sales() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    admin.new_sale(sale(json!("2099-05-31T22:00:00Z"), json!("2099-06-01T01:00:00Z"))).await;
    let page = async |query: &str| admin.get(&format!("/admin/calendar?lang=en&{query}")).await;
    let may =
        page("month=2099-05").await.shows(200, &["May 2099", "Time zone: UTC", "22:00", "/admin/sales/1/edit?lang=en"]);
    assert!(page("month=2099-06").await.text().contains("ongoing"), "the sale continues in the next month");
    page("month=2099-06&zone=Asia/Shanghai").await.has(&["Asia/Shanghai", "06:00"]);
    // A day links to the form of a new sale.
    assert!(may.text().contains("/admin/sales/new?opens_at=2099-05-06T20:00:00Z"));
    for odd in ["month=nonsense", "month=0000-13&zone=%3Cb%3E", ""] {
        page(odd).await.shows(200, &[]).lacks(&["<b>"]);
    }
    assert!(shop.shopper("mei").await.get("/admin/calendar").await.is_page(404));
}

#[tokio::test]
async fn checklist_names_what_is_missing() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    admin.new_goods().await;
    let id = admin.new_sale(sale(json!(LATER), json!(MUCH_LATER))).await;
    let list = async || {
        let answer = admin.get(&format!("/api/admin/sales/{id}/checklist?lang=en")).await.json();
        let checks = answer["checks"].as_array().unwrap().clone();
        let code = move |name: &str| {
            checks.iter().find(|c| c["check"] == name).map(|c| c["code"].as_str().unwrap().to_owned())
        };
        (answer["ready"].as_bool().unwrap(), code)
    };
    let (ready, code) = list().await;
    assert!(!ready);
    let expect = [
        ("goods_text", "text_missing"),
        ("picture", "picture_missing"),
        ("price", "price_good"),
        ("window", "window_good"),
        ("page", "page_old"),
        ("stock", "stock_not_needed"),
        ("services", "services_well"),
        ("control", "control_missing"),
    ];
    for (check, found) in expect {
        assert_eq!(code(check).as_deref(), Some(found), "{check}");
    }
    assert_eq!((code("replica"), code("consumer")), (None, None), "checks of absent backends are left out");

    shop.publish();
    let control = shop.parts.store.leases().acquire("control", "me", std::time::Duration::from_secs(60));
    assert!(control.await.unwrap());
    let (ready, code) = list().await;
    assert!(ready, "warnings do not count");
    assert_eq!((code("page").unwrap(), code("control").unwrap()), ("page_current".into(), "control_works".into()));
    let page = shop.parts.config.data_dir.join(format!("pages/en/sales/{id}/index.html"));
    std::fs::write(page, "something else").unwrap();
    assert_eq!(list().await.1("page").unwrap(), "page_old", "the file differs from the rendered page");
    assert_eq!(admin.get("/api/admin/sales/99/checklist").await.problem(), problem(404, "no_such_sale"));
    let mei = shop.shopper("mei").await;
    assert_eq!(mei.get(&format!("/api/admin/sales/{id}/checklist")).await.problem(), problem(404, "not_found"));
}
