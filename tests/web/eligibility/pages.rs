//! The pages of the rules: the sale's, the shopper's own, and the console's.

use super::*;

#[tokio::test]
async fn page_of_a_sale_tells_its_rules() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let rules = json!({"accounts_before": "2026-11-20T08:00:00Z", "one_per_address": true, "invitation": true});
    let (sale, plain) = (announce(&admin, rules).await, announce(&admin, json!({})).await);
    shop.publish();
    let page = shop.visitor().get(&format!("/en/sales/{sale}")).await.text().to_owned();
    assert_contains(&page, &["Nov 20 08:00", "One account per delivery address.", "You have an invitation code"]);
    assert!(page.contains(&format!("action=\"/en/sales/{sale}/code\"")));
    let page = shop.visitor().get(&format!("/zh/sales/{sale}")).await;
    assert!(page.text().contains("参与条件") && page.text().contains("同一收货地址只限一个账号参与"));
    assert!(!shop.visitor().get(&format!("/en/sales/{plain}")).await.text().contains("Who may take part"));
}

#[tokio::test]
async fn shopper_reads_what_is_lacking_and_comes_back_from_the_address() {
    let (shop, sale) = rush(json!({"one_per_address": true, "verified_contact": true, "invitation": true})).await;
    let path = format!("/en/sales/{sale}/eligibility");
    let code = invitations::make(&shop, &sale, 1).await.remove(0);
    let mei = shop.shopper("mei").await;
    let page = mei.get(&path).await;
    let new_address = format!("/en/account/addresses/new?sale={sale}");
    assert!(page.is_page(200) && page.text().contains("You don’t meet every condition yet."));
    assert!(page.text().contains(&new_address) && page.text().contains("/en/account#mail"));
    let form = mei.get(&new_address).await;
    assert!(form.text().contains(&format!("<input type=\"hidden\" name=\"sale\" value=\"{sale}\">")));
    let saved = mei.send_form("/en/account/addresses", &format!("{}&sale={sale}", addresses::FORM)).await;
    assert!(saved.leads_to(&path), "{saved:?}");
    let wrong = mei.send_form(&format!("/en/sales/{sale}/code"), "code=%3Cb%3E").await;
    assert!(wrong.is_page(403) && wrong.text().contains("aria-invalid") && !wrong.text().contains("<b>"));
    let redeemed = mei.send_form(&format!("/en/sales/{sale}/code"), &format!("code={code}")).await;
    assert!(redeemed.leads_to(&path), "{redeemed:?}");
    mei.verify("mei@shop.example").await;
    let page = mei.get(&path).await;
    assert!(page.text().contains("You meet every condition and can take part."));
    assert!(mei.get(&path.replace("/en/", "/zh/")).await.text().contains("你满足全部条件"));
}

#[tokio::test]
async fn address_for_a_sale_without_rules_leads_back_to_its_page() {
    let (shop, sale) = rush(json!({})).await;
    let mei = shop.shopper("mei").await;
    let form = mei.get(&format!("/en/account/addresses/new?sale={sale}")).await;
    assert!(form.text().contains(&format!("href=\"/en/sales/{sale}\"")), "{}", form.text());
    let saved = mei.send_form("/en/account/addresses", &format!("{}&sale={sale}", addresses::FORM)).await;
    assert!(saved.leads_to(&format!("/en/sales/{sale}")), "{saved:?}");
    let unknown = mei.send_form("/en/account/addresses", &format!("{}&sale=999", addresses::FORM)).await;
    assert!(unknown.leads_to("/en/account/addresses?done=saved"), "{unknown:?}");
}

#[tokio::test]
async fn forms_of_a_draw_and_a_waiting_room_lead_to_the_rules() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let queue = announce(&admin, json!({"invitation": true, "mode": "queue"})).await;
    let draw = announce(&admin, json!({"invitation": true, "mode": "draw"})).await;
    open(&shop, &draw).await;
    let mei = shop.shopper("mei").await;
    for (sale, form) in [(&queue, "place"), (&draw, "entry")] {
        let refused = mei.send_form(&format!("/zh/sales/{sale}/{form}"), "").await;
        assert!(refused.leads_to(&format!("/zh/sales/{sale}/eligibility")), "{refused:?}");
    }
}

#[tokio::test]
async fn staff_choose_rules_and_download_codes() {
    open_shop!(shop, admin);
    let sale = announce(&admin, json!({"opens_at": "2099-01-01T00:00:00Z", "closes_at": null})).await;
    let edit = admin.get(&format!("/admin/sales/{sale}/edit?lang=en")).await;
    assert!(edit.text().contains("name=\"one_per_address\"") && !edit.text().contains("/codes?lang=en"));
    let known = shop.parts.store.sales().get(id(&sale)).await.unwrap().unwrap();
    let form = format!(
        "goods_id={}&price=1999&currency=CNY&total=5&per_user_limit=1&opens_at=2099-01-01T00:00:00Z&old_accounts=yes\
         &invitation=yes&as=schedule&version={}",
        known.goods_id, known.version
    );
    let saved = admin.send_form(&format!("/admin/sales/{sale}/edit?lang=en"), &form).await;
    assert_eq!(saved.status, 303, "{saved:?}");
    let rules = shop.parts.store.sales().get(id(&sale)).await.unwrap().unwrap().eligibility;
    assert!(rules.invitation && !rules.one_per_address && rules.accounts_before.is_some());
    let path = format!("/admin/sales/{sale}/codes");
    let wrong = admin.send_form(&format!("{path}?lang=en"), "count=many").await;
    assert!(wrong.is_page(422) && wrong.text().contains("count-wrong"));
    let file = admin.send_form(&format!("{path}?lang=en"), "count=2").await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(file.header("cache-control"), "no-store", "{file:?}");
    let codes: Vec<&str> = file.text().lines().skip(1).collect();
    assert_eq!(codes.len(), 2);
    let page = admin.get(&format!("{path}?lang=en")).await;
    assert!(page.is_page(200) && !page.text().contains(codes[0]));
    let revoked = admin.send_form(&format!("{path}/revoke?lang=en"), &format!("code={}", codes[0])).await;
    assert!(revoked.leads_to(&format!("{path}?lang=en&done=revoked")), "{revoked:?}");
    let again = admin.send_form(&format!("{path}/revoke?lang=en"), &format!("code={}", codes[0])).await;
    assert!(again.is_page(422) && again.text().contains("There is no such code in force."));
}
