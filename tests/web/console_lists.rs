//! The console's lists of sales and the frame around lists: tabs, what a list shows on request, the density of rows.

use super::*;

/// The tabs of the list of sales: the words of each, and whether it is the open one.
fn tabs(page: &TestResponse) -> Vec<(String, bool)> {
    let nav = between(page.text(), "<nav class=\"filters under\"", "</nav>");
    let words = |tab: &str| {
        let (tag, rest) = tab.split_once('>').unwrap();
        let words = rest.split("</a>").next().unwrap().replace("<span class=\"count\">", "").replace("</span>", "");
        (words, tag.contains("aria-current"))
    };
    nav.split("<a ").skip(1).map(words).collect()
}

fn listed(page: &TestResponse) -> Vec<String> {
    let rows = page.text().split("<tr data-sale=\"").skip(1);
    rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
}

/// A sale of goods of its own in a state.
async fn sale_in(shop: &TestShop, admin: &TestClient<'_>, state: &str) -> String {
    let sale = shop.open_sale(admin, 5).await;
    let closed = if state == "ended" { sale.as_str() } else { "NULL" };
    shop.execute(format!("UPDATE sales SET state = '{state}', closes_at_ms = {closed} WHERE id = {sale}")).await;
    sale
}

#[tokio::test]
async fn list_of_sales_opens_with_those_that_shoppers_may_still_buy() {
    open_shop!(shop, admin);
    let mut sales = Vec::new();
    for state in ["ended", "draft", "scheduled", "paused", "live", "ended"] {
        sales.push(sale_in(&shop, &admin, state).await);
    }
    let tab = async |query: &str| admin.get(&format!("/admin?lang=en{query}")).await;
    let current = tab("").await;
    assert_eq!(listed(&current), [&sales[4], &sales[3], &sales[2]].map(String::as_str));
    let counted = |here: &str| {
        ["Current 3", "Drafts 1", "Past 2", "All 6"].map(|words| (words.to_owned(), words.starts_with(here))).to_vec()
    };
    assert_eq!(tabs(&current), counted("Current"));
    assert!(current.text().contains("href=\"/admin?lang=en&#38;state=past\""), "{}", current.text());
    let past = tab("&state=past").await;
    assert_eq!((listed(&past), tabs(&past)), (vec![sales[5].clone(), sales[0].clone()], counted("Past")));
    assert!(!past.text().contains("class=\"overview\""), "a list of ended sales needs no overview");
    assert_eq!(listed(&tab("&state=drafts").await), [sales[1].as_str()]);
    assert_eq!(listed(&tab("&state=all").await).len(), 6);
    for (state, expected) in [("live", vec![&sales[4], &sales[3]]), ("next", vec![&sales[2]])] {
        let view = tab(&format!("&state={state}")).await;
        assert_eq!(listed(&view).iter().collect::<Vec<_>>(), expected, "{state}: a saved view keeps its meaning");
        assert!(tabs(&view).iter().all(|(_, is_here)| !is_here) && view.text().contains("Clear filter"));
    }
}

#[tokio::test]
async fn saved_views_stand_beside_what_the_list_opens_with() {
    open_shop!(shop, admin);
    admin.send_form("/admin/views?lang=en", "list=sales&query=state%3Dpast&name=Over").await;
    let chips = async |path: &str| {
        let page = admin.get(path).await;
        let chips = between(page.text(), "<div class=\"view-bar\">", "</nav>").split("<a class=\"chip\" ").skip(1);
        chips.map(|chip| chip.split("</a>").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let current = "href=\"/admin?lang=en\"".to_owned();
    let over = "href=\"/admin?lang=en&#38;state=past\"".to_owned();
    let first = [format!("{current} aria-current=\"true\">Current"), format!("{over}><bdi>Over</bdi>")];
    assert_eq!(chips("/admin?lang=en").await, first);
    assert_eq!(chips("/admin?lang=en&state=past").await[1], format!("{over} aria-current=\"true\"><bdi>Over</bdi>"));
}

#[tokio::test]
async fn search_is_one_of_all_sales_and_its_tabs_narrow_it() {
    open_shop!(shop, admin);
    let (ended, live) = (sale_in(&shop, &admin, "ended").await, sale_in(&shop, &admin, "live").await);
    let found = admin.get("/admin?lang=en&q=phone").await;
    assert_eq!(listed(&found), [live.as_str(), ended.as_str()]);
    assert_eq!(tabs(&found)[3], ("All 2".to_owned(), true));
    assert!(found.text().contains("href=\"/admin?lang=en&#38;q=phone&#38;state=current\""), "{}", found.text());
    assert_eq!(listed(&admin.get("/admin?lang=en&q=phone&state=current").await), [live.as_str()]);
    let narrow = admin.get(&format!("/admin?lang=en&q=%23{ended}&state=past")).await;
    assert_eq!(tabs(&narrow)[2], ("Past 1".to_owned(), true), "the count is that of the search");
    assert_eq!(narrow.value_of("state"), "past", "the next search stays here");
}

#[tokio::test]
async fn sale_is_in_the_list_that_reports_about_it() {
    open_shop!(shop, admin, sale = 5);
    let stop = format!("/admin/sales/{sale}/stop?lang=en");
    let stopped = admin.send_form(&stop, &format!("confirm=yes&typed={sale}")).await;
    let list = admin.get(stopped.header("location")).await;
    assert!(list.text().contains("stopped.") && listed(&list) == [sale.as_str()], "{}", list.text());
    let refused = admin.send_form(&format!("/admin/sales/{sale}/pause?lang=en"), "confirm=yes").await;
    assert!(refused.is_page(409) && listed(&refused) == [sale.as_str()], "a warning stands above the sale");
    let empty = admin.get("/admin?lang=en").await;
    assert!(empty.text().contains("No sales here.") && !empty.text().contains("No sales yet"), "{}", empty.text());
    assert_eq!(tabs(&empty)[0], ("Current 0".to_owned(), true));
}

#[tokio::test]
async fn pages_that_became_tabs_and_addresses_with_a_slash_redirect() {
    open_shop!(shop, admin);
    for (page, tab) in [
        ("/admin/orders/approvals", "/admin/orders?show=approvals"),
        ("/admin/orders/payments", "/admin/orders?show=payments"),
        ("/admin/orders/settlements", "/admin/orders/books?show=settlements"),
        ("/admin/staff", "/admin/users?show=staff"),
        ("/admin/security", "/admin/log?show=security"),
        ("/admin/mail", "/admin/system?show=mail"),
    ] {
        assert!(admin.get(&format!("{page}?lang=en")).await.leads_to(&format!("{tab}&lang=en")), "{page}");
        let shown = admin.get(&format!("{tab}&lang=en")).await;
        assert!(shown.is_page(200), "{page}: {shown:?}");
        for link in ["en\" aria-current=\"page\"", "zh\""] {
            let link = format!("href=\"{tab}&#38;lang={link}");
            assert!(shown.text().contains(&link), "{link}: {}", shown.text());
        }
    }
    assert!(admin.get("/admin/dead-letters?lang=en").await.leads_to("/admin/system?lang=en"));
    assert!(admin.get("/admin/").await.leads_to("/admin"), "an address with a slash");
    assert!(admin.get("/admin/?lang=zh").await.leads_to("/admin?lang=zh"));
}

#[tokio::test]
async fn lists_of_a_phone_begin_with_their_rows_until_they_are_searched() {
    open_shop!(shop, admin);
    for (list, search) in
        [("orders?", "user=nobody"), ("log?", "actor=nobody"), ("log?show=security&", "class=webhook_refused")]
    {
        let get = async |query: &str| admin.get(&format!("/admin/{list}lang=en{query}")).await;
        assert!(get("").await.text().contains("<details class=\"fold filters-of\"><summary>"), "{list}");
        for (query, status) in [(format!("&{search}"), 200), ("&from=soon".to_owned(), 422)] {
            let page = get(&query).await;
            let is_open = page.text().contains("<details class=\"fold filters-of\" open>");
            assert!(page.is_page(status) && is_open, "{list}: {page:?}");
        }
    }
}

#[tokio::test]
async fn pages_of_a_sale_are_its_tabs() {
    open_shop!(shop, admin, sale = 5);
    for (page, here) in [("", "Live dashboard"), ("/report", "Report"), ("/clusters", "Linked accounts")] {
        let page = admin.get(&format!("/admin/sales/{sale}{page}?lang=en")).await;
        let nav = between(page.text(), "<nav class=\"filters under\"", "</nav>");
        assert_eq!(nav.matches("<a href=").count(), 4, "{nav}");
        assert!(nav.contains(&format!("aria-current=\"page\">{here}</a>")), "{nav}");
    }
}

#[tokio::test]
async fn density_is_kept_for_the_browser() {
    let shop = TestShop::open().await;
    let vera = shop.staff(&shop.admin().await, "vera", Role::Viewer).await;
    let list = "/admin/users?lang=en&sort=name";
    let comfortable = vera.get(list).await;
    let pressed = |page: &TestResponse, value: &str| {
        page.text().contains(&format!("name=\"density\" value=\"{value}\" aria-pressed=\"true\""))
    };
    assert!(!comfortable.text().contains("data-density") && pressed(&comfortable, "comfortable"));
    assert!(comfortable.text().contains("name=\"next\" value=\"/admin/users?lang=en&#38;sort=name\""));
    let form = "density=compact&next=%2Fadmin%2Fusers%3Flang%3Den%26sort%3Dname";
    let set = vera.send_form("/admin/density?lang=en", form).await;
    assert!(set.leads_to(list), "{set:?}");
    let cookie = set.header("set-cookie").to_owned();
    assert!(cookie.starts_with("density=compact; Path=/admin; HttpOnly; SameSite=Lax; Max-Age="), "{cookie}");
    let kept = shop.browser(format!("{}; density=compact", vera.cookie.as_deref().unwrap()));
    for path in [list, "/admin?lang=en", "/admin/log?lang=en", "/admin/orders?lang=en"] {
        let body = "data-page=\"admin\" data-locale=\"en\" data-density=\"compact\"";
        assert!(kept.get(path).await.text().contains(body), "{path}");
    }
    assert!(pressed(&kept.get(list).await, "compact"));
    let foreign = vera.send_form("/admin/density?lang=en", "density=comfortable&next=https%3A%2F%2Fevil.example").await;
    assert!(foreign.leads_to("/admin"), "{foreign:?}");
    let script = vera.send_form("/admin/density?lang=en", "density=comfortable").await;
    assert_eq!((script.status.as_u16(), script.cookie()), (204, "density=comfortable".to_owned()));
    assert_eq!(vera.send_form("/admin/density?lang=en", "density=tiny").await.status, 422);
    let behind_https = web::extract::visitor::Density::Compact.set_cookie(true);
    assert_eq!(behind_https, "density=compact; Path=/admin; HttpOnly; SameSite=Lax; Secure; Max-Age=31536000");
}
