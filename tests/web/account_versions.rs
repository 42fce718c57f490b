//! Two owners at once: no change of a role or of the policy is lost without a word.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_changes_of_one_version_of_a_role_one_is_refused() {
    open_shop!(shop, one);
    let other = shop.staff(&one, "lan", Role::Admin).await;
    shop.staff(&one, "sven", Role::Viewer).await;
    let id = shop.user("sven").await.id;
    let (read, path) = (format!("/api/admin/users/{id}"), format!("/api/admin/staff/{id}"));
    for _ in 0..5 {
        let version = one.get(&read).await.header("etag").to_owned();
        assert!(version.starts_with('"'), "{version:?}");
        let (first, second) = tokio::join!(
            one.change("PATCH", &path, &version, json!({"role": "support"})),
            other.change("PATCH", &path, &version, json!({"role": "operator"})),
        );
        let (done, refused) = if first.status == 200 { (first, second) } else { (second, first) };
        assert_eq!((done.status.as_u16(), refused.problem()), (200, problem(412, "stale_version")));
        let now = one.get(&read).await;
        assert_eq!(now.json()["user"]["role"], done.json()["user"]["role"]);
        assert_eq!(now.header("etag"), done.header("etag"));
        assert_ne!(now.header("etag"), version);
    }
    let version = one.get(&read).await.header("etag").to_owned();
    assert_eq!(one.post(&format!("{read}/block"), json!({"reason": "lost phone"})).await.status, 200);
    let dismissed = other.change("DELETE", &path, &version, Value::Null).await;
    assert_eq!(dismissed.problem(), problem(412, "stale_version"), "a block is a change too");
    assert_eq!(other.change("DELETE", &path, "*", Value::Null).await.status, 200);
    let without = one.patch(&path, json!({"role": "viewer"})).await;
    assert_eq!(without.status, 200, "{without:?}");
}

#[tokio::test]
async fn form_of_an_outdated_role_changes_nothing_and_shows_the_present_one() {
    open_shop!(shop, one);
    let other = shop.staff(&one, "lan", Role::Admin).await;
    shop.staff(&one, "sven", Role::Viewer).await;
    let user = shop.user("sven").await;
    let (form, version) = (format!("/admin/staff/{}/role", user.id), user.version);
    let hidden = |version: i64| format!("name=\"version\" value=\"{version}\"");
    assert!(one.get("/admin/users?show=staff&lang=en").await.text().contains(&hidden(version)));
    let first = other.send_form(&form, &format!("role=support&confirm=yes&version={version}")).await;
    assert_eq!(first.status, 303, "{first:?}");
    for (lang, words) in [("en", "Someone else just changed this."), ("zh", "有人刚刚修改了这里。")] {
        let late = format!("role=operator&confirm=yes&version={version}");
        let late = one.send_form(&format!("{form}?lang={lang}"), &late).await;
        assert!(late.is_page(409) && late.text().contains(words), "{}", late.text());
        assert!(late.text().contains(&hidden(version + 1)), "{}", late.text());
    }
    let role = async || shop.parts.store.accounts().user(user.id).await.unwrap().unwrap().role;
    assert_eq!(role().await, Role::Support);
    let again = one.send_form(&form, &format!("role=operator&confirm=yes&version={}", version + 1)).await;
    assert_eq!((again.status.as_u16(), role().await), (303, Role::Operator));
    let older = one.send_form(&form, "role=viewer&confirm=yes").await;
    assert_eq!(older.status, 303, "a form of an older program has no version");
}

#[tokio::test]
async fn policy_of_an_outdated_version_is_not_changed() {
    open_shop!(shop, one);
    let other = shop.staff(&one, "lan", Role::Admin).await;
    shop.execute("UPDATE users SET second_factor = 'x' WHERE role = 'admin'").await;
    let path = "/api/admin/staff-policy";
    let policy = |required: bool| json!({"second_factor_required": required});
    let version = one.get(path).await.header("etag").to_owned();
    let first = one.change("PUT", path, &version, policy(true)).await;
    assert_eq!((first.status.as_u16(), first.json()), (200, policy(true)));
    assert_ne!(first.header("etag"), version);
    assert_eq!(other.change("PUT", path, &version, policy(false)).await.problem(), problem(412, "stale_version"));
    let late = format!("second_factor_required=no&confirm=yes&version={}", version.trim_matches('"'));
    let late = other.send_form("/admin/staff/policy?lang=en", &late).await;
    assert!(late.is_page(409) && late.text().contains("Someone else just changed this."), "{}", late.text());
    let now = other.get(path).await;
    assert_eq!((now.json(), now.header("etag")), (policy(true), first.header("etag")));
    assert!(shop.parts.accounts().requires_second_factor());
    let version = format!("name=\"version\" value={}", first.header("etag"));
    assert!(late.text().contains(&version), "{}", late.text());
    assert_eq!(other.change("PUT", path, first.header("etag"), policy(false)).await.status, 200);
    assert!(!shop.parts.accounts().requires_second_factor());
}
