//! What shoppers read about a waitlist: mail and pages.

use super::*;

#[tokio::test]
async fn offer_is_told_by_mail_in_the_language_of_the_account() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let mei = shop.shopper("mei").await;
    let user = shop.parts.accounts().session(&mei.headers()).unwrap().user_id;
    let changed = shop
        .execute(format!(
            "INSERT INTO mail_addresses (user_id, address, address_key, locale) VALUES ('{user}', 'm@shop.example',
               'm@shop.example', 'zh')"
        ))
        .await;
    assert_eq!(changed, 1);
    join(&mei, &sale, 1).await;
    next_segment(&clock);
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    let mails = shop.parts.store.mail().mails_of(user).await.unwrap();
    assert_eq!(mails.len(), 1);
    let letter = shop.letter(&mails[0]);
    let order = own(&mei, &sale).await["order_id"].as_str().unwrap().to_owned();
    assert!(letter.subject.contains("候补成功"), "{letter:?}");
    assert!(letter.text.contains("2026-11-25 10:30") && letter.text.contains(&order), "{letter:?}");
}

#[tokio::test]
async fn page_joins_shows_the_place_leads_to_the_offer_and_leaves() {
    let (shop, clock) = open().await;
    let (sale, buyers) = sold_out_sale(&shop, 1).await;
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let page = |locale: &str| format!("/{locale}/sales/{sale}/waitlist");
    let shown = mei.get(&page("en")).await.shows(200, &["Join the waitlist"]);
    assert!(shown.text().contains("class=\"goods\"><img"), "the goods with their picture: {}", shown.text());
    assert!(shown.text().contains("/en/account#mail\""), "the hint leads to the form: {}", shown.text());
    for client in [&mei, &lei] {
        assert!(client.send_form(&page("en"), "quantity=1").await.leads_to(&page("en")));
    }
    let clients = [mei, lei];
    let line = in_line(&clients, &sale).await;
    let second = line[1].get(&page("en")).await.has(&["currently number 2"]);
    let unpaid = "Orders not paid yet</dt><dd>1</dd>";
    assert!(second.text().contains(unpaid) && second.text().contains("Paid or back by"), "{}", second.text());
    line[1].get("/en/orders").await.has(&[&format!("href=\"{}\"", page("en"))]);
    assert!(line[1].get(&page("zh")).await.text().contains("目前排第 2 位"));
    next_segment(&clock);
    cancel(&buyers[0], &sale).await;
    step(&shop).await;
    let order = own(line[0], &sale).await["order_id"].as_str().unwrap().to_owned();
    line[0].get(&page("en")).await.has(&[&format!("href=\"/en/orders/{sale}/{order}\""), "2026-11-25T10:30"]);
    assert!(line[1].send_form(&format!("{}/leave", page("en")), "").await.leads_to(&page("en")));
    assert!(line[1].get(&page("en")).await.text().contains("You left the waitlist."));
}
