use super::own_payments::any_provider;
use super::*;

/// The fields of an address in a form.
pub const FORM: &str =
    "recipient=Mei&phone=13800138000&country=CN&region=Zhejiang&city=Hangzhou&line1=Wensan+Road+1&postal_code=310000";

/// A body with an address of delivery. All spellings of one house count as the same.
pub fn delivery(line1: &str, recipient: &str) -> Value {
    json!({"address": {"recipient": recipient, "phone": "13800138000", "country": "CN", "region": "浙江省",
        "city": "杭州市", "line1": line1, "postal_code": "310000"}})
}

fn address(recipient: &str) -> Value {
    delivery("文三路 1 号", recipient)
}

#[tokio::test]
async fn addresses_are_managed_by_api() {
    open_shop!(shop, [mei, lei]);
    assert_eq!(shop.visitor().get("/api/addresses").await.problem(), problem(401, "not_signed_in"));
    assert_eq!(mei.get("/api/addresses").await.json(), json!({"addresses": []}));
    let wrong = mei.post("/api/addresses", json!({"address": {"recipient": "", "phone": "x", "country": "CN", "region": "x", "city": "x", "line1": "x"}})).await;
    let expected =
        json!([{"field": "address.recipient", "code": "required"}, {"field": "address.phone", "code": "bad_phone"}]);
    assert_eq!((wrong.status.as_u16(), &wrong.json()["fields"]), (422, &expected));
    let unknown = mei.post("/api/addresses", json!({"address": {"planet": "Mars"}})).await;
    assert_eq!(unknown.problem(), problem(422, "invalid"));

    let first = mei.post("/api/addresses", address("王小美")).await;
    assert_eq!((first.status.as_u16(), &first.json()["address"]["is_default"]), (201, &json!(true)));
    let mut preferred = address("公司");
    preferred["is_default"] = true.into();
    let second = mei.post("/api/addresses", preferred).await.json();
    let list = mei.get("/api/addresses").await.json();
    let names: Vec<_> = list["addresses"].as_array().unwrap().iter().map(|a| a["recipient"].clone()).collect();
    assert_eq!(names, ["公司", "王小美"], "the default first");
    assert_eq!(list["addresses"][1]["is_default"], false, "one default");

    let path = format!("/api/addresses/{}", second["address"]["id"].as_str().unwrap());
    for stranger in [&lei, &shop.shopper("wuu").await] {
        assert_eq!(stranger.get(&path).await.problem(), problem(404, "not_found"));
        assert_eq!(stranger.delete(&path).await.problem(), problem(404, "not_found"));
        assert_eq!(stranger.put(&path, address("x")).await.problem(), problem(404, "not_found"));
    }
    assert_eq!(mei.delete(&path).await.status, 204);
    let left = mei.get("/api/addresses").await.json();
    assert_eq!((left["addresses"].as_array().unwrap().len(), &left["addresses"][0]["is_default"]), (1, &json!(true)));
    for n in 0..19 {
        assert_eq!(mei.post("/api/addresses", address(&format!("n{n}"))).await.status, 201);
    }
    let full = mei.post("/api/addresses", address("x")).await;
    assert_eq!(full.problem(), problem(409, "too_many_addresses"));
}

#[tokio::test]
async fn addresses_are_managed_by_forms() {
    open_shop!(shop, [mei, lei]);
    let all = "/en/account/addresses";
    assert!(mei.get(all).await.text().contains("No addresses yet"));
    let evil = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    let wrong = mei.send_form(all, &format!("recipient={evil}&phone=call+me&country=CN&city=x&line1=x&region=x")).await;
    assert!(wrong.is_page(422) && wrong.text().contains("phone-wrong") && wrong.text().contains("alert(1)"));
    assert_eq!(wrong.text().matches("<script").count(), 2, "only the page's own scripts");
    let long = format!("{FORM}&line2={}", "x".repeat(10_000));
    assert!(mei.send_form(all, &long).await.is_page(422));
    assert!(mei.send_form(all, FORM).await.leads_to("/en/account/addresses?done=saved"));
    let rtl = FORM.replace("Mei", "%E2%80%AE%D9%85%D8%B1%D9%8A%D9%85+%F0%9F%91%A9");
    mei.send_form(all, &rtl).await;
    let page = mei.get("/en/account/addresses?done=saved").await;
    assert!(page.text().contains("Address saved") && page.text().contains("مريم 👩"));
    assert!(!page.text().contains('\u{202e}'));

    let list = mei.get("/api/addresses").await.json();
    let id = |n: usize| list["addresses"][n]["id"].as_str().unwrap();
    let edit = mei.get(&format!("{all}/{}", id(0))).await;
    assert!(edit.is_page(200) && edit.text().contains("value=\"Wensan Road 1\""));
    assert!(lei.get(&format!("{all}/{}", id(0))).await.is_page(404));
    assert!(lei.send_form(&format!("{all}/{}", id(0)), FORM).await.is_page(404));
    assert!(mei.send_form(&format!("{all}/{}/default", id(1)), "").await.leads_to(&format!("{all}?done=default")));
    assert_eq!(mei.get("/api/addresses").await.json()["addresses"][0]["id"], id(1));
    assert!(lei.send_form(&format!("{all}/{}/delete", id(1)), "").await.is_page(404));
    assert!(mei.send_form(&format!("{all}/{}/delete", id(1)), "").await.leads_to("/en/account/addresses?done=deleted"));
}

#[tokio::test]
async fn address_of_an_order_is_a_copy_and_fixed_once_paid() {
    open_shop!(shop, admin, [mei, lei], sale = 5);
    let (order, url) = mei.order(&sale).await;
    let put = async |who: &TestClient<'_>, body: Value| who.put(&format!("{url}/address"), body).await;
    assert_eq!(put(&lei, address("x")).await.problem(), problem(404, "not_found"));
    assert_eq!(put(&mei, json!({})).await.problem(), problem(422, "invalid"));
    let set = put(&mei, address("小美")).await;
    assert_eq!((set.status.as_u16(), &set.json()["order"]["address"]["recipient"]), (200, &json!("小美")));
    let saved = mei.post("/api/addresses", address("公司")).await.json();
    let saved = saved["address"]["id"].as_str().unwrap();
    let of_another = put(&lei, json!({"address_id": saved})).await;
    assert_eq!(of_another.problem(), problem(422, "invalid"), "the address of another user");
    put(&mei, json!({"address_id": saved})).await;
    mei.delete(&format!("/api/addresses/{saved}")).await;
    assert_eq!(mei.get(&url).await.json()["order"]["address"]["recipient"], "公司", "a copy");
    let (page, form) = (format!("/en/orders/{sale}/{order}"), format!("/en/orders/{sale}/{order}/address"));
    assert!(mei.get(&page).await.text().contains("公司"));
    assert!(mei.get(&form).await.is_page(200) && lei.get(&form).await.is_page(404));

    support::pay(&shop, &mei.begin_payment(&url).await).await;
    assert_eq!(mei.get(&url).await.json()["order"]["status"], "paid");
    assert_eq!(put(&mei, address("x")).await.problem(), problem(409, "address_fixed"));
    assert!(mei.send_form(&form, FORM).await.is_page(409));
    assert!(mei.get(&form).await.leads_to(&page));
}

#[tokio::test]
async fn paid_order_takes_the_address_that_it_lacks_once() {
    open_shop!(shop, admin, [mei], sale = 5);
    let (_, url) = mei.order(&sale).await;
    let order: domain::OrderId = url.rsplit('/').next().unwrap().parse().unwrap();
    // The payment began before the program asked for addresses.
    let stored = shop.parts.store.orders().get(sale.parse().unwrap(), order).await.unwrap().unwrap();
    let payment = shop.parts.payments.start(&stored, any_provider()).await.unwrap().payment;
    support::pay(&shop, &json!({"payment": {"id": payment}})).await;

    let page = mei.get(&format!("/en/orders/{sale}/{order}")).await;
    assert!(page.text().contains("so that we can ship") && page.text().contains("/address\""), "{page:?}");
    let form = mei.get(&format!("/en/orders/{sale}/{order}/address")).await;
    assert!(form.is_page(200) && !form.text().contains("value=\"pay\""), "{form:?}");
    let put = async |recipient| mei.put(&format!("{url}/address"), address(recipient)).await;
    let set = put("小美").await;
    assert_eq!((set.status.as_u16(), &set.json()["order"]["address"]["recipient"]), (200, &json!("小美")));
    assert_eq!(put("另一人").await.problem(), problem(409, "address_fixed"));
    assert_eq!(mei.get(&url).await.json()["order"]["address"]["recipient"], "小美");

    let refund = format!("/api/admin/orders/{order}/refund");
    assert_eq!(admin.post(&refund, json!({"reason": "x"})).await.status, 200);
    assert_eq!(put("x").await.problem(), problem(409, "address_fixed"));
}

#[tokio::test]
async fn default_address_is_proposed_and_used_for_the_payment() {
    open_shop!(shop, admin, [mei], sale = 5);
    mei.send_form("/en/account/addresses", FORM).await;
    let order = mei.send_form(&format!("/en/sales/{sale}/buy"), "quantity=1").await.header("location").to_owned();
    let page = mei.get(&order).await;
    let id = mei.get("/api/addresses").await.json()["addresses"][0]["id"].as_str().unwrap().to_owned();
    assert!(page.text().contains(&format!("name=\"address\" value=\"{id}\"")));
    let paid = mei.send_form(&format!("{order}/pay"), &format!("address={id}")).await;
    assert!(paid.status == 303 && paid.header("location").starts_with("/sandbox/cashier/"), "{paid:?}");
    assert!(mei.get(&order).await.text().contains("Wensan Road 1"));
}

#[tokio::test]
async fn list_of_orders_is_filtered_by_status() {
    open_shop!(shop, admin, [mei]);
    assert!(mei.get("/en/orders").await.text().contains("No orders yet"));
    let sale = shop.open_sale(&admin, 5).await;
    let (_, url) = mei.order(&sale).await;
    mei.post(&format!("{url}/cancel"), json!({})).await;
    mei.buy(&sale, 1).await;
    let count = async |status: &str| {
        mei.get(&format!("/api/orders?status={status}")).await.json()["orders"].as_array().unwrap().len()
    };
    for (status, found) in [("", 2), ("unpaid", 1), ("cancelled,rejected", 1), ("paid", 0)] {
        assert_eq!(count(status).await, found, "{status}");
    }
    assert_eq!(mei.get("/api/orders?status=lost").await.problem(), problem(422, "invalid"));
    assert!(mei.get("/en/orders?status=paid").await.text().contains("No matching orders"));
    assert_eq!(mei.get("/en/orders?status=unpaid").await.text().matches("data-status=\"unpaid\"").count(), 1);
}

#[tokio::test]
async fn addresses_are_exported_and_deleted_with_the_account() {
    open_shop!(shop, admin, [mei], sale = 5);
    mei.post("/api/addresses", address("王小美")).await;
    let (_, url) = mei.order(&sale).await;
    mei.put(&format!("{url}/address"), address("公司")).await;
    mei.post(&format!("{url}/cancel"), json!({})).await;
    let (store, now) = (&shop.parts.store, shop.parts.clock.now());
    let id = shop.user("mei").await.id;
    let export = store.accounts().export_of(id, now).await.unwrap().unwrap();
    assert_eq!(export["addresses"][0]["recipient"], "王小美");
    assert_eq!(export["orders"][0]["address"]["recipient"], "公司");
    store.accounts().delete_account(id, false, now).await.unwrap();
    assert_eq!(store.accounts().addresses_of(id).await.unwrap(), []);
    assert!(store.orders().orders_of(id, &[], None, 10).await.unwrap()[0].address.is_none());
}

#[tokio::test]
async fn outdated_address_is_neither_changed_nor_deleted() {
    open_shop!(shop, [mei]);
    let created = mei.post("/api/addresses", address("王小美")).await;
    let (path, version) = (created.header("location").to_owned(), created.header("etag").to_owned());
    assert_eq!(mei.get(&path).await.header("etag"), version);
    let first = mei.change("PUT", &path, &version, address("王美")).await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_ne!(first.header("etag"), version);
    let late = mei.change("PUT", &path, &version, address("美")).await;
    assert_eq!(late.problem(), problem(412, "stale_version"));
    assert_eq!(mei.change("DELETE", &path, &version, json!({})).await.problem(), problem(412, "stale_version"));
    assert_eq!(mei.get(&path).await.json()["address"]["recipient"], "王美");
    assert_eq!(mei.change("PUT", &path, "*", address("王")).await.status, 200);
    let now = mei.get(&path).await.header("etag").to_owned();
    assert_eq!(mei.change("DELETE", &path, &format!("{version}, {now}"), json!({})).await.status, 204);
}

#[tokio::test]
async fn form_of_an_outdated_address_shows_what_it_is_now_and_keeps_what_was_entered() {
    open_shop!(shop, [mei]);
    let created = mei.post("/api/addresses", address("王小美")).await;
    let page = created.header("location").replace("/api", "/en/account");
    let version = created.header("etag").trim_matches('"').to_owned();
    assert!(mei.get(&page).await.text().contains(&format!("name=\"version\" value=\"{version}\"")));
    mei.put(created.header("location"), address("Elsewhere")).await;

    let refused = mei.send_form(&page, &format!("{FORM}&version={version}")).await;
    assert!(refused.is_page(409) && refused.text().contains("This address was just changed elsewhere"), "{refused:?}");
    assert!(refused.text().contains("<bdi>Elsewhere</bdi>") && refused.text().contains("value=\"Wensan Road 1\""));
    let current = mei.get(created.header("location")).await.header("etag").trim_matches('"').to_owned();
    assert!(refused.text().contains(&format!("name=\"version\" value=\"{current}\"")));
    let again = mei.send_form(&page, &format!("{FORM}&version={current}")).await;
    assert!(again.leads_to("/en/account/addresses?done=saved"));
}
