//! The shop's own pages, and the form of the console.

use super::*;

#[tokio::test]
async fn written_page_is_shown_and_a_lost_race_keeps_the_text() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let about = shop.visitor().get("/zh/about").await;
    assert!(about.is_page(200) && !about.text().contains("<article"), "nothing is written yet");
    let links = |page: &TestResponse| {
        ["returns", "terms", "privacy"].map(|name| page.text().contains(&format!("about#{name}")))
    };
    let join = async |locale: &str| shop.visitor().get(&format!("/{locale}/register")).await;
    assert_eq!((links(&about), links(&join("zh").await)), ([false; 3], [false; 3]));
    assert!(!join("zh").await.text().contains("注册即同意"), "there is nothing to agree to");

    let terms = "version=0&text_zh=%23+%E8%A7%84%E5%88%99%0A%3Cscript%3Ealert(1)%3C/script%3E&text_en=";
    admin.send_form("/admin/pages/terms?lang=en", terms).await.leads("/admin/pages?lang=en&saved=terms#terms");
    let about = shop.visitor().get("/zh/about").await.has(&["<h3>规则</h3>"]).lacks(&["<script>alert"]);
    let english = shop.visitor().get("/en/about").await;
    assert!(!english.text().contains("<article"), "not written in English");
    assert_eq!((links(&about), links(&english)), ([false, true, false], [false; 3]));
    join("zh").await.has(&[r##"注册即同意本店的<a href="/zh/about#terms">《服务条款》</a></p>"##]);
    shop.publish();
    assert_eq!(links(&shop.visitor().get("/zh/").await), [false, true, false], "pages that are made before, too");
    let viewer = shop.staff(&admin, "vera", Role::Viewer).await.get("/admin/pages?lang=en").await;
    assert!(viewer.text().contains("Your role is read-only.") && viewer.text().contains("lang=\"en\" disabled>"));

    let late = admin.send_form("/admin/pages/terms?lang=en", "version=0&text_zh=late&text_en=words").await;
    assert!(late.is_page(409) && late.text().contains("changed elsewhere") && late.text().contains("words"));
    assert!(shop.visitor().get("/zh/about").await.text().contains("规则"), "the first text stays");
    admin.get("/admin/log?lang=en").await.has(&[r##"href="/admin/pages?lang=en#terms""##]);
}

#[tokio::test]
async fn too_long_and_unknown_pages_are_refused() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let long = format!("version=0&text_zh={}&text_en=", "x".repeat(10_001));
    assert!(admin.send_form("/admin/pages/privacy?lang=en", &long).await.is_page(422));
    let longest = format!("version=0&text_zh={}&text_en=", "%E8%A7%84".repeat(10_000));
    assert_eq!(admin.send_form("/admin/pages/returns?lang=en", &longest).await.status, 303, "as long as it may be");
    assert!(admin.send_form("/admin/pages/nothing?lang=en", "version=0").await.is_page(404));
    assert!(!shop.visitor().get("/en/about").await.text().contains("<article"));
}
