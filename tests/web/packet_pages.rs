use super::wallet::fill;
use super::*;

/// Gives a packet by the form. Returns its id.
async fn give(who: &TestClient<'_>, form: &str) -> String {
    let given = who.send_form("/en/packets", form).await;
    assert_eq!(given.status, 303, "{given:?}");
    let to = given.header("location").to_owned();
    assert!(to.starts_with("/en/packets/") && to.ends_with("/given"), "{to}");
    to.split('/').nth(3).unwrap().to_owned()
}

#[tokio::test]
async fn packet_is_given_shared_and_claimed_by_forms() {
    open_shop!(shop, [mei, wang, zhao]);
    assert!(mei.get("/en/packets").await.text().contains("sent any yet"));
    let page = mei.get("/en/packets/new").await;
    assert!(page.is_page(200) && page.text().contains("name=\"key\" value=\""));
    let form = "total=1&count=2&split=equal&greeting=Luck+%3Cb%3E&own=yes&key=0123456789";
    let refused = mei.send_form("/en/packets", form).await;
    assert!(refused.is_page(409) && refused.text().contains("Your wallet balance is too low"));
    fill(&shop, &mei, 10_000).await;
    let shown = mei.send_form("/en/packets", &format!("{form}&then=preview")).await;
    assert!(shown.is_page(200) && shown.text().matches("<li>¥0.50</li>").count() == 2, "{}", shown.text());
    let wrong = mei.send_form("/en/packets", "total=0&count=many&split=equal").await;
    assert!(wrong.is_page(422) && wrong.text().contains("count-wrong"));

    let id = give(&mei, form).await;
    // A form that is submitted twice gives once.
    assert_eq!(give(&mei, form).await, id);
    let given = mei.get(&format!("/en/packets/{id}/given")).await;
    assert!(given.text().contains(&format!("/packets/{id}\"")) && given.text().contains("data:image/svg+xml"));
    assert_eq!(wang.get(&format!("/en/packets/{id}/given")).await.status, 404);

    let shared = wang.get(&format!("/en/packets/{id}")).await;
    assert!(shared.is_page(200) && shared.header("cache-control").starts_with("public"));
    assert!(shared.text().contains("Red packet from mei") && shared.text().contains("Luck &#60;b&#62;"));
    assert_eq!(shared.body, shop.visitor().get(&format!("/en/packets/{id}")).await.body, "nothing in it is personal");
    let etag = [("if-none-match", shared.header("etag"))];
    assert_eq!(wang.send("GET", &format!("/en/packets/{id}"), &etag, "").await.status, 304);
    let front = shop.visitor().send("GET", &format!("/packets/{id}"), &[("accept-language", "zh")], "").await;
    assert_eq!((front.status.as_u16(), front.header("location")), (302, format!("/zh/packets/{id}").as_str()));

    let stranger = shop.visitor().send_form(&format!("/en/packets/{id}/claim"), "").await;
    assert!(stranger.leads_to(&format!("/en/login?next=%2Fen%2Fpackets%2F{id}")), "{stranger:?}");
    for who in [&wang, &zhao, &wang] {
        let opened = who.send_form(&format!("/en/packets/{id}/claim"), "").await;
        assert!(opened.leads_to(&format!("/en/packets/{id}/result?opened=1")), "{opened:?}");
    }
    let result = wang.get(&format!("/en/packets/{id}/result")).await;
    assert_contains(result.text(), &["¥0.50", "2 of 2 claimed", "<bdi>zhao</bdi>", ">You<"]);
    let late = mei.send_form(&format!("/en/packets/{id}/claim"), "").await;
    assert!(late.leads_to(&format!("/en/packets/{id}/result")));
    assert!(mei.get(&format!("/en/packets/{id}/result")).await.text().contains("All gone"));
    assert!(shop.visitor().get(&format!("/en/packets/{id}")).await.text().contains("data-phase=\"empty\""));
    assert!(mei.get("/zh/packets").await.text().contains("已领取 2 / 2 个"));
    assert!(wang.get("/en/packets?list=received").await.text().contains("+¥0.50"));
    assert_eq!(wang.get("/en/packets/1/result").await.status, 404);
}

#[tokio::test]
async fn upcoming_packet_shows_its_opening_and_excludes_its_giver() {
    open_shop!(shop, [mei, wang]);
    fill(&shop, &mei, 10_000).await;
    let opens = shop.parts.clock.now() + std::time::Duration::from_secs(3600);
    let id = give(&mei, &format!("total=1&count=2&split=bounded&opens_at={opens}&key=abcdefgh")).await;
    let page = wang.get(&format!("/en/packets/{id}")).await;
    assert!(page.text().contains("data-phase=\"upcoming\"") && page.text().contains("Opens in"));
    assert!(wang.send_form(&format!("/en/packets/{id}/claim"), "").await.leads_to(&format!("/en/packets/{id}/result")));
    assert!(wang.get(&format!("/en/packets/{id}/result")).await.text().contains("Not open yet"));
    assert!(mei.get(&format!("/en/packets/{id}/result")).await.text().contains("This is your own red packet"));
}

#[tokio::test]
async fn staff_fund_watch_and_stop_a_packet() {
    open_shop!(shop, admin, [wang]);
    assert!(admin.get("/admin/packets?lang=en").await.text().contains("No red packets yet"));
    assert_eq!(wang.get("/admin/packets").await.status, 404);
    let wrong = admin.send_form("/admin/packets?lang=en", "total=&count=5&split=equal").await;
    assert!(wrong.is_page(422) && wrong.text().contains("total-wrong"));
    let funded = admin.send_form("/admin/packets?lang=en", "total=100&count=5000&split=equal&key=abcdefgh").await;
    let to = funded.header("location").to_owned();
    assert!(funded.status == 303 && to.ends_with("done=fund"), "{funded:?}");
    let page = admin.get(&to).await;
    assert!(page.text().contains("The red packet drop has started") && page.text().contains("5,000"), "{page:?}");
    let stop = to.split('?').next().unwrap().to_owned() + "/stop?lang=en";
    assert!(admin.send_form(&stop, "").await.is_page(422), "stopping needs a confirmation");
    assert_eq!(admin.send_form(&stop, "confirm=yes").await.status, 303);
    let again = admin.send_form(&stop, "confirm=yes").await;
    assert!(again.is_page(409), "{again:?}");
    assert!(admin.get("/admin/packets?lang=en").await.text().contains("The shop"));
}

#[tokio::test]
async fn shopper_without_red_packets_reads_how_they_work() {
    open_shop!(shop, [mei]);
    for list in ["given", "received"] {
        let page = mei.get(&format!("/en/packets?list={list}")).await;
        assert!(page.text().contains("Send the link to friends"), "{}", page.text());
        assert_eq!(page.text().matches("href=\"/en/packets/new\"").count(), 1, "{list}: one invitation");
    }
}
