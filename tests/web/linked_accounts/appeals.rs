//! Appeals of owners whose orders are held.

use super::*;

#[tokio::test]
async fn appeal_waits_for_one_answer_at_a_time() {
    open_shop!(shop, admin, [mei, wang], sale = 10);
    mei.verify("mei@shop.example").await;
    let (order, url) = order_to(&shop, &mei, &sale, "文三路 1 号").await;
    let (page, answer) = (page_of(&url, "en"), format!("{}/appeal", page_of(&url, "en")));
    assert!(mei.send_form(&answer, "text=why").await.leads_to(&page), "an order that is not held takes none");
    assert!(!mei.get(&page).await.text().contains("/appeal"));
    let at = |verb: &str| format!("/admin/orders/{order}/{verb}?lang=en");
    let console = format!("/admin/orders/{order}?lang=en");
    let held = admin.send_form(&at("hold"), "reason=many+orders&confirm=yes").await;
    assert!(held.leads_to(&format!("{console}&done=hold")));
    assert_eq!(admin.send_form(&at("hold"), "reason=again&confirm=yes").await.status, 409);
    assert_eq!(admin.send_form(&at("uphold"), "reason=x&confirm=yes").await.status, 409, "no appeal waits");

    for (text, words) in [("", "Required."), (&"x".repeat(1_001), "Too long.")] {
        let wrong = mei.send_form(&answer, &format!("text={text}")).await;
        assert!(wrong.is_page(422) && wrong.text().contains(words), "{}", wrong.text());
    }
    wang.send_form(&answer, "text=not+mine").await;
    assert!(mei.get(&page).await.text().contains("Send appeal"), "strangers cannot appeal");
    assert!(mei.send_form(&answer, "text=it+is+%3Cme%3E").await.leads_to(&page));
    assert!(mei.send_form(&answer, "text=twice").await.leads_to(&page));
    let seen = mei.get(&page).await;
    assert!(seen.text().contains("Your appeal was sent") && seen.text().contains("it is &#60;me&#62;"));
    assert!(!seen.text().contains("twice") && !seen.text().contains("Send appeal"));
    let console = admin.get(&console).await;
    assert!(console.text().contains("it is &#60;me&#62;") && console.text().contains("Uphold the hold"));

    assert_eq!(admin.send_form(&at("uphold"), "reason=still+looking&confirm=yes").await.status, 303);
    let seen = mei.get(&page).await;
    assert!(seen.text().contains("still looking") && seen.text().contains("Send appeal"), "{}", seen.text());
    assert!(mei.send_form(&answer, "text=here+is+my+passport").await.leads_to(&page));
    assert_eq!(admin.send_form(&at("release"), "reason=thank+you&confirm=yes").await.status, 303);
    let kinds: Vec<_> = shop.mailed().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds[1..], ["order_held", "hold_upheld", "hold_released"]);
    let holds = shop.parts.store.orders().holds_of(order.parse().unwrap()).await.unwrap();
    let answers = holds[0].appeals.iter().map(|appeal| appeal.answer.as_ref().unwrap().answer.as_str());
    assert!(answers.eq(["upheld", "released"]));
    assert_audit_finds_nothing(&shop).await;
}

#[tokio::test]
async fn appeals_of_an_account_are_limited() {
    open_shop!(shop, admin, [mei], sale = 10);
    let (order, url) = order_to(&shop, &mei, &sale, "文三路 1 号").await;
    let answer = format!("{}/appeal", page_of(&url, "en"));
    admin.send_form(&format!("/admin/orders/{order}/hold"), "reason=x&confirm=yes").await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(mei.send_form(&answer, "text=please").await.status.as_u16());
    }
    assert_eq!(statuses, [303, 303, 303, 303, 303, 429]);
}
