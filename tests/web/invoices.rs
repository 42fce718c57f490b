//! Receipts of paid orders, and invoices that their owners ask for.

use super::support::paid_order;
use super::*;

const CODE: &str = "91350100M000100Y43";

#[tokio::test]
async fn receipt_is_for_the_owner_and_staff_and_has_every_movement_of_money() {
    open_shop!(shop, admin, [mei, lan], sale = 5);
    let (order, _) = paid_order(&shop, &mei, &sale).await;
    let unpaid = lan.buy(&sale, 2).await.json()["order"]["id"].as_str().unwrap().to_owned();
    let text = "text_zh=%E4%B8%80%E5%AE%B6%E5%BA%97&text_en=A+Shop+Ltd%0A%0ATax+number+91350100M000100Y43&version=0";
    assert_eq!(admin.send_form("/admin/pages/seller?lang=en", text).await.status, 303);
    let part = json!({"reason": "x", "amount": {"amount": 900, "currency": "CNY"}});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund-part"), part).await.status, 200);
    while shop.parts.payments.refund_due().await.unwrap() > 0 {}

    let path = format!("/en/orders/{sale}/{order}/receipt");
    let page = mei.get(&path).await;
    assert!(page.is_page(200) && page.text().contains("A Shop Ltd") && page.text().contains(CODE), "{}", page.text());
    assert_contains(page.text(), &["Phone", "¥1,999", "−¥9", "¥1,990", &order, "not a tax invoice"]);
    assert!(mei.get(&format!("/zh/orders/{sale}/{order}/receipt")).await.text().contains("一家店"));
    assert!(mei.get(&format!("/en/orders/{sale}/{order}")).await.text().contains(&path));
    for (who, path, status) in [
        (&lan, path.clone(), 404),
        (&lan, format!("/en/orders/{sale}/{unpaid}/receipt"), 404),
        (&mei, format!("/admin/orders/{order}/receipt"), 404),
        (&admin, format!("/admin/orders/{order}/receipt?lang=en"), 200),
        (&admin, format!("/admin/orders/{unpaid}/receipt?lang=en"), 404),
    ] {
        assert_eq!(who.get(&path).await.status, status, "{path}");
    }
    assert!(shop.visitor().get(&path).await.status == 303);
    let reason = json!({"reason": "x"});
    assert_eq!(admin.post(&format!("/api/admin/orders/{order}/refund"), reason).await.status, 200);
    let page = mei.get(&path).await;
    assert!(page.text().contains("−¥1,990") && page.text().contains(">¥0<"), "{}", page.text());
}

#[tokio::test]
async fn invoice_is_asked_for_listed_exported_and_marked() {
    open_shop!(shop, admin, [mei, lan], sale = 5);
    let (order, url) = paid_order(&shop, &mei, &sale).await;
    let (_, unpaid) = lan.order(&sale).await;
    let (at, to) = (format!("{url}/invoice"), json!({"title": "某某公司", "tax_number": CODE}));
    assert_eq!(lan.put(&at, to.clone()).await.problem(), problem(404, "not_found"));
    assert_eq!(lan.put(&format!("{unpaid}/invoice"), to.clone()).await.problem(), problem(409, "not_paid"));
    for (number, code) in [("440300715267261", "old_tax_number"), ("91350100M000100Y44", "wrong_tax_number")] {
        let wrong = mei.put(&at, json!({"title": "x", "tax_number": number})).await;
        assert_eq!(wrong.json()["fields"], json!([{"field": "tax_number", "code": code}]));
    }
    let page = format!("/en/orders/{sale}/{order}");
    let wrong = mei.send_form(&format!("{page}/invoice"), "title=&tax_number=1").await;
    assert!(wrong.is_page(422) && wrong.text().contains("invoice-number-wrong"), "{}", wrong.text());
    assert!(mei.send_form(&format!("{page}/invoice"), "title=Mei").await.leads_to(&format!("{page}#invoice")));
    assert_eq!(mei.put(&at, to.clone()).await.status, 200, "changed until it is issued");
    assert_eq!(mei.get(&url).await.json()["order"]["invoice"]["tax_number"], CODE);
    assert!(mei.get(&format!("{page}/receipt")).await.text().contains("某某公司"));

    shop.execute(
        "INSERT INTO mail_addresses (user_id, address, address_key, verified_at_ms, locale)
         SELECT id, 'mei@example.com', 'mei@example.com', 1, 'zh' FROM users WHERE username = 'mei'",
    )
    .await;
    let listed = admin.get("/api/admin/invoices").await.json()["invoices"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["title"]), (1, &json!("某某公司")));
    let export = admin.get("/api/admin/invoices.csv").await;
    let cells = format!("{order},{sale},某某公司,{CODE},1999.00,0.00,CNY,paid,");
    let line = export.text().lines().nth(1).unwrap().to_owned();
    let number = mei.get(&url).await.json()["order"]["number"].as_str().unwrap().to_owned();
    assert!(line.starts_with(&cells) && line.ends_with(&format!(",{number},Phone,1,mei@example.com")), "{line}");
    assert_eq!((&listed[0]["number"], &listed[0]["quantity"]), (&json!(number), &json!(1)));
    let viewer = shop.staff(&admin, "gus", Role::Viewer).await.get("/api/admin/invoices.csv?lang=zh").await;
    assert!(!viewer.text().contains("mei@example.com"), "{viewer:?}");
    let shown = admin.get("/admin/orders/invoices?lang=en").await;
    assert!(shown.text().contains("某某公司") && shown.text().contains("This can’t be undone."), "{}", shown.text());
    assert!(admin.get(&format!("/admin/orders/{order}?lang=en")).await.text().contains("To issue"));
    let marked = admin.send_form("/admin/orders/invoices/issued?lang=en", &format!("id={order}")).await;
    assert!(marked.leads_to("/admin/orders/invoices?lang=en&done=1"), "{marked:?}");
    assert_eq!(admin.post(&format!("/api/admin/invoices/{order}/issued"), json!({})).await.status, 200, "again");
    assert_eq!(admin.get("/api/admin/invoices").await.json()["invoices"], json!([]));
    assert_eq!(admin.get("/api/admin/invoices?issued=true").await.json()["invoices"][0]["order_id"], json!(order));
    assert_eq!(mei.put(&at, to).await.problem(), problem(409, "invoice_issued"));
    let log = admin.audit_log().await;
    assert!(log[0]["action"] == "issue-invoice" && log[1]["action"] == "export-invoices", "once: {log}");
}
