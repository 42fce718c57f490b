//! Invitation codes: made once, redeemed once, revoked.

use super::*;

/// New codes of a sale.
pub async fn make(shop: &TestShop, sale: &str, count: usize) -> Vec<String> {
    let codes: Vec<_> = (0..count).map(|_| domain::InvitationCode::new(rand::random())).collect();
    assert!(shop.parts.store.eligibility().make_invitations(id(sale), &codes, "test").await.unwrap());
    codes.iter().map(ToString::to_string).collect()
}

async fn redeem(client: &TestClient<'_>, sale: &str, code: &str) -> TestResponse {
    client.post(&format!("/api/sales/{sale}/code"), json!({"code": code})).await
}

#[tokio::test]
async fn code_lets_the_first_account_take_part_and_no_other() {
    let (shop, sale) = rush(json!({"invitation": true})).await;
    let codes = make(&shop, &sale, 2).await;
    let (first, second) = (shop.shopper("first").await, shop.shopper("second").await);
    assert_eq!(token(&first, &sale).await.problem(), problem(403, "invitation_needed"));
    let typed = codes[0].to_lowercase().replace('-', " ");
    let redeemed = redeem(&first, &sale, &typed).await.json();
    assert_eq!((&redeemed["eligible"], &redeemed["rules"][0]["lacks"]), (&json!(true), &Value::Null));
    assert_eq!(redeem(&first, &sale, &codes[0]).await.status, 200, "the same again");
    assert_eq!(redeem(&first, &sale, &codes[1]).await.status, 200, "it has one, and needs no other");
    assert_eq!(token(&first, &sale).await.status, 200);
    assert_eq!(redeem(&second, &sale, &codes[0]).await.problem(), problem(403, "bad_invitation"));
    assert_eq!(token(&second, &sale).await.problem(), problem(403, "invitation_needed"));
    assert_eq!(redeem(&second, &sale, &codes[1]).await.status, 200, "the first account has not used it up");
}

#[tokio::test]
async fn codes_of_another_sale_and_other_texts_are_refused_and_tries_are_limited() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let sale = announce(&admin, json!({"invitation": true})).await;
    let other = announce(&admin, json!({"opens_at": "2027-01-01T00:00:00Z", "closes_at": null})).await;
    let of_other = make(&shop, &other, 1).await.remove(0);
    let mei = shop.shopper("mei").await;
    for code in ["", "F", &of_other] {
        assert_eq!(redeem(&mei, &sale, code).await.problem(), problem(403, "bad_invitation"), "{code}");
    }
    assert_eq!(redeem(&mei, "99", &of_other).await.problem(), problem(404, "no_such_sale"));
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(redeem(&mei, &sale, "00000-00000-00000-00000-000000").await);
    }
    assert_eq!(answers.iter().find(|answer| answer.status == 429).unwrap().header("retry-after"), "30");
}

#[tokio::test]
async fn accounts_that_send_one_code_at_once_redeem_it_once() {
    let (shop, sale) = rush(json!({"invitation": true})).await;
    let code = make(&shop, &sale, 1).await.remove(0);
    let clients = crate::draws::crowd(&shop, 8).await;
    let answers = futures::future::join_all(clients.iter().map(|client| redeem(client, &sale, &code))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
}

#[tokio::test]
async fn staff_make_codes_once_and_revoke_them() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let sale = announce(&admin, json!({"invitation": true})).await;
    let path = format!("/api/admin/sales/{sale}/codes");
    for count in [0, 10_001] {
        let wrong = admin.post(&path, json!({"count": count})).await;
        assert_eq!(wrong.json()["fields"], json!([{"field": "count", "code": "bad_number"}]));
    }
    let codes = admin.post(&path, json!({"count": 3})).await.json()["codes"].clone();
    let code = |n: usize| codes[n].as_str().unwrap();
    let mei = shop.shopper("mei").await;
    assert_eq!(redeem(&mei, &sale, code(0)).await.status, 200);
    let listed = admin.get(&path).await;
    assert!((0..3).all(|n| !listed.text().contains(code(n))), "{listed:?}");
    let batch = listed.json()["batches"][0].clone();
    assert_eq!((&batch["made"], &batch["used"], &batch["revoked"]), (&json!(3), &json!(1), &json!(0)));
    assert_eq!(batch["made_by"], "admin");

    let revoke = async |body: Value| admin.post(&format!("{path}/revoke"), body).await.json();
    assert_eq!(revoke(json!({"code": code(1)})).await["revoked"], 1);
    assert_eq!(redeem(&mei, &sale, code(1)).await.status, 200, "the account has one");
    let other = shop.shopper("other").await;
    assert_eq!(redeem(&other, &sale, code(1)).await.problem(), problem(403, "bad_invitation"));
    assert_eq!(revoke(json!({"unused_of_batch": 1})).await["revoked"], 1);
    assert_eq!(revoke(json!({"unused_of_batch": 1})).await["revoked"], 0);
    assert_eq!(redeem(&other, &sale, code(2)).await.problem(), problem(403, "bad_invitation"));
    // The account whose code is revoked may use another one.
    assert_eq!(revoke(json!({"code": code(0)})).await["revoked"], 1);
    open(&shop, &sale).await;
    assert_eq!(token(&mei, &sale).await.problem(), problem(403, "invitation_needed"));
    let more = make(&shop, &sale, 1).await;
    assert_eq!(redeem(&mei, &sale, &more[0]).await.status, 200);
    assert_eq!(token(&mei, &sale).await.status, 200);
    let log = admin.get("/api/admin/audit-log").await.text().to_owned();
    assert!(log.contains("make-invitations") && log.contains("revoke-invitations"));
    assert!((0..3).all(|n| !log.contains(code(n))));
}

#[tokio::test]
async fn codes_are_made_once_under_one_key_and_not_stored() {
    open_shop!(shop = TestShop::open_at(&hour_before()), admin);
    let sale = announce(&admin, json!({"invitation": true})).await;
    let path = format!("/api/admin/sales/{sale}/codes");
    let make = async |key: &str, count: i64| admin.post_keyed(&path, key, json!({"count": count})).await;
    let batches = async || admin.get(&path).await.json()["batches"].as_array().unwrap().len();
    let first = make("a", 3).await;
    assert_eq!((first.status.as_u16(), first.json()["codes"].as_array().unwrap().len()), (201, 3));
    let again = make("a", 3).await;
    assert_eq!((again.status.as_u16(), again.json(), batches().await), (201, first.json(), 1));
    assert_eq!(make("a", 2).await.problem(), problem(409, "idempotency_key_reused"));
    assert_ne!(make("b", 3).await.json()["codes"][0], first.json()["codes"][0]);
    assert_eq!(batches().await, 2);
    assert_eq!(shop.execute("DELETE FROM idempotency_keys WHERE answer IS NOT NULL").await, 0, "an answer is kept");
    let form = format!("/admin/sales/{sale}/codes?lang=en&once=c");
    let file = admin.send_form(&form, "count=2").await;
    assert_eq!(file.text().lines().count(), 3, "{file:?}");
    assert_eq!(admin.send_form(&form, "count=2").await.text(), file.text(), "a double click");
    assert_eq!(batches().await, 3);
    assert_eq!((make("d", 0).await.status.as_u16(), make("d", 1).await.status.as_u16()), (422, 201));
}
