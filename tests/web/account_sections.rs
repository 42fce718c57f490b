//! The sections of the account page: what they say while they are folded, and which one is unfolded.

use super::*;

/// The anchors of the sections that are unfolded.
fn unfolded(page: &TestResponse) -> Vec<&str> {
    let sections = page.text().split("<li><details").skip(1);
    let open = sections.filter(|section| section.starts_with(" open>"));
    open.map(|section| section.split("class=\"inside\" id=\"").nth(1).unwrap().split('"').next().unwrap()).collect()
}

/// The words in the row of this name.
fn state<'a>(page: &'a TestResponse, name: &str) -> &'a str {
    let row = page.text().split(&format!("<span>{name}</span>")).nth(1).unwrap();
    let state = row.split("class=\"state\"").nth(1).unwrap().split_once('>').unwrap().1;
    state.split("</span>").next().unwrap()
}

#[tokio::test]
async fn folded_sections_say_how_things_are_and_hold_the_anchors_of_other_pages() {
    open_shop!(shop, [mei]);
    shop.log_in("mei", "correct horse").await;
    let page = mei.get("/en/account").await;
    assert_eq!(unfolded(&page), Vec::<&str>::new());
    assert_eq!(state(&page, "Wallet"), "¥0");
    assert_eq!(state(&page, "Delivery addresses"), "None");
    assert_eq!(state(&page, "Your devices"), "2");
    assert_eq!(state(&page, "Two-step verification"), "Off");
    assert_eq!(state(&page, "Email"), "None");
    // A browser unfolds a section if the address names an element inside it, not the section itself.
    for anchor in ["password-form", "second-factor", "passkeys", "sessions", "mail", "push", "data", "delete"] {
        assert!(page.text().contains(&format!(r#"<div class="inside" id="{anchor}">"#)), "{anchor}");
    }

    assert!(mei.send_form("/zh/account/addresses", addresses::FORM).await.leads_to("/zh/account/addresses?done=saved"));
    assert_eq!(state(&mei.get("/zh/account").await, "收货地址"), "1 个");
}

#[tokio::test]
async fn section_with_a_failed_form_is_unfolded_and_keeps_what_was_typed() {
    open_shop!(shop, [mei]);
    for (path, form, section, kept) in [
        ("password", "password=nope&new_password=battery+staple", "password-form", "password-wrong"),
        ("mail", "address=nonsense&password=correct+horse", "mail", "value=\"nonsense\""),
        ("delete", "username=lei&password=correct+horse", "delete", "value=\"lei\""),
    ] {
        let page = mei.send_form(&format!("/en/account/{path}"), form).await;
        assert!(page.is_page(422) && page.text().contains(kept), "{path}: {}", page.text());
        assert_eq!(unfolded(&page), [section]);
    }
    assert_eq!(unfolded(&mei.get("/en/account?done=mail").await), ["mail"]);
    assert_eq!(unfolded(&mei.get("/en/account?done=session").await), ["sessions"]);
}
