//! Requests that are sent again with their idempotency key.

use super::addresses::delivery;
use super::goods::form;
use super::*;

impl TestShop {
    /// As if the process had died after the transaction with the effect, and before it answered.
    async fn lose_answers(&self) {
        let lose = "UPDATE idempotency_keys SET status = NULL, headers = NULL, answer = NULL, running_until_ms = 0";
        assert!(self.execute(lose).await > 0);
    }

    async fn total(&self, sale: &str) -> i64 {
        self.parts.store.sales().get(sale.parse().unwrap()).await.unwrap().unwrap().total
    }
}

#[tokio::test]
async fn repeated_request_gets_the_first_answer() {
    open_shop!(shop, admin, sale = 100);
    let path = format!("/api/admin/sales/{sale}/top-up");
    let first = admin.post_keyed(&path, "top-up-1", json!({"units": 50})).await;
    assert_eq!((first.status.as_u16(), first.header("idempotent-replayed")), (200, ""));
    assert_eq!(admin.post(&format!("/api/admin/sales/{sale}/pause"), json!({})).await.status, 200);
    let again = admin.post_keyed(&path, "top-up-1", json!({"units": 50})).await;
    assert_eq!((again.status.as_u16(), again.header("idempotent-replayed")), (200, "true"));
    assert_eq!((again.json(), again.header("content-type")), (first.json(), first.header("content-type")));
    assert_eq!(shop.total(&sale).await, 150);

    let other = admin.post_keyed(&path, "top-up-1", json!({"units": 51})).await;
    assert_eq!(other.problem(), problem(409, "idempotency_key_reused"));
    assert_eq!(admin.post_keyed(&path, "top-up-2", json!({"units": 50})).await.status, 200);
    assert_eq!(shop.total(&sale).await, 200, "another key is another request");
    for key in ["", "with space"] {
        assert_eq!(admin.post_keyed(&path, key, json!({"units": 50})).await.problem(), problem(422, "invalid"));
    }
}

#[tokio::test]
async fn request_whose_answer_was_lost_takes_effect_once() {
    open_shop!(shop, admin, sale = 100);
    let goods = json!({"name": {"zh": "灯", "en": "Lamp"}, "description": {"zh": "", "en": ""}});
    let price = json!({"amount": 100, "currency": "CNY"});
    let new_sale = json!({"goods_id": "1", "price": price, "total": 5, "per_user_limit": 1});
    let requests = [
        (format!("/api/admin/sales/{sale}/top-up"), json!({"units": 50}), "/sale/total"),
        ("/api/admin/goods".to_owned(), goods, "/goods/id"),
        ("/api/admin/categories".to_owned(), json!({"name": {"zh": "灯", "en": "Lamps"}}), "/category/id"),
        ("/api/admin/sales".to_owned(), new_sale, "/sale/id"),
        ("/api/admin/packets".to_owned(), json!({"total": 100, "count": 2}), "/packet/id"),
    ];
    for (path, body, made) in requests {
        let first = admin.post_keyed(&path, "lost", body.clone()).await;
        assert!(first.status.is_success(), "{path} {first:?}");
        shop.lose_answers().await;
        let again = admin.post_keyed(&path, "lost", body).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (first.status, ""), "{path}");
        assert_eq!(again.json().pointer(made).unwrap(), first.json().pointer(made).unwrap(), "{path}");
    }
    assert_eq!(shop.total(&sale).await, 150);
    assert_eq!(shop.parts.store.goods().list().await.unwrap().len(), 2);
    assert_eq!(shop.parts.store.sales().list().await.unwrap().len(), 2);
}

#[tokio::test]
async fn committed_change_is_answered_as_done_while_the_catalogue_cannot_be_read() {
    open_shop!(shop, admin, sale = 100);
    shop.execute("ALTER TABLE goods RENAME TO goods_away").await;
    let answer = admin.post(&format!("/api/admin/sales/{sale}/top-up"), json!({"units": 50})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["sale"]["total"], 150);
}

#[tokio::test]
async fn key_is_free_after_a_refusal_and_taken_while_its_request_is_under_way() {
    open_shop!(shop, admin, sale = 100);
    let path = format!("/api/admin/sales/{sale}/top-up");
    assert_eq!(admin.post_keyed(&path, "key", json!({"units": 0})).await.problem(), problem(422, "invalid"));
    assert_eq!(admin.post_keyed(&path, "key", json!({"units": 7})).await.status, 200);
    assert_eq!(shop.total(&sale).await, 107);

    shop.execute("UPDATE idempotency_keys SET status = NULL, running_until_ms = 9000000000000").await;
    let second = admin.post_keyed(&path, "key", json!({"units": 7})).await;
    assert_eq!((second.problem(), second.header("retry-after")), (problem(409, "request_under_way"), "1"));
    assert_eq!(shop.total(&sale).await, 107, "it is not begun again");
}

#[tokio::test]
async fn simultaneous_requests_with_one_key_take_effect_once() {
    open_shop!(shop, admin, sale = 100);
    let path = format!("/api/admin/sales/{sale}/top-up");
    let clicks = (0..8).map(|_| admin.post_keyed(&path, "double-click", json!({"units": 7})));
    for answer in futures::future::join_all(clicks).await {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["sale"]["total"], 107);
    }
    assert_eq!(shop.total(&sale).await, 107);
}

#[tokio::test]
async fn keys_of_accounts_are_apart_and_go_with_the_account() {
    let shop = TestShop::open().await;
    let address = delivery("南京路 1 号", "Mei");
    let (mei, lei) = (shop.shopper("mei").await, shop.shopper("lei").await);
    let first = mei.post_keyed("/api/addresses", "same", address.clone()).await;
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(mei.post_keyed("/api/addresses", "same", address.clone()).await.json(), first.json());
    let other = lei.post_keyed("/api/addresses", "same", address).await;
    assert_ne!(other.json()["address"]["id"], first.json()["address"]["id"]);
    assert_eq!(mei.get("/api/addresses").await.json()["addresses"].as_array().unwrap().len(), 1);
    assert_eq!(mei.delete_account("mei").await.status, 204);
    assert_eq!(shop.execute("DELETE FROM idempotency_keys").await, 1, "only the other account's");
}

#[tokio::test]
async fn forms_of_the_console_add_once() {
    open_shop!(shop, admin, sale = 100);
    for page in ["/admin?lang=en".to_owned(), format!("/admin/sales/{sale}?lang=en")] {
        let before = shop.total(&sale).await;
        let action = admin.get(&page).await.action("/top-up?");
        for _ in 0..2 {
            let done = admin.send_form(&action, "confirm=yes&units=50").await;
            assert_eq!(done.status, 303, "{done:?}");
            assert!(done.header("location").contains("done=topped_up"));
        }
        assert_eq!(shop.total(&sale).await, before + 50, "{page}");
        assert!(admin.send_form(&action, "confirm=yes&units=60").await.is_page(409));
    }
    let action = admin.get("/admin/goods/new?lang=en").await.action("/admin/goods?");
    for boundary in ["one", "two"] {
        let fields = [("name_zh", "灯"), ("name_en", "Lamp"), ("description_zh", ""), ("description_en", "")];
        let body = String::from_utf8(form(&fields, &[])).unwrap().replace("--B", &format!("--{boundary}"));
        let kind = format!("multipart/form-data; boundary={boundary}");
        let done = admin.send("POST", &action, &[("content-type", kind.as_str())], body).await;
        assert_eq!(done.status, 303, "{done:?}");
    }
    assert_eq!(shop.parts.store.goods().list().await.unwrap().len(), 2);
}

#[tokio::test]
async fn repeated_creation_of_staff_tells_the_same_password_which_is_stored_nowhere() {
    open_shop!(shop, admin);
    let create = async |key: &str, name: &str| {
        admin.post_keyed("/api/admin/staff", key, json!({"username": name, "role": "operator"})).await
    };
    let first = create("one", "otto").await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = create("one", "otto").await;
    assert_eq!((again.status, again.json()), (first.status, first.json()));
    assert_eq!(create("two", "otto").await.problem(), problem(409, "username_taken"));
    assert_eq!(create("one", "olga").await.problem(), problem(409, "idempotency_key_reused"));
    let answer = first.json();
    let password = answer["password"].as_str().unwrap();
    let kept = format!("SELECT 1 FROM idempotency_keys WHERE answer LIKE '%{password}%'");
    assert_eq!(shop.execute(&format!("DELETE FROM idempotency_keys WHERE EXISTS ({kept})")).await, 0);
    shop.log_in("otto", password).await;

    let action = admin.get("/admin/users?show=staff&lang=en").await.action("/admin/staff?");
    for _ in 0..2 {
        let done = admin.send_form(&action, "username=vera&role=viewer").await;
        assert!(done.is_page(200) && done.text().contains("Account “vera” created"), "{}", done.text());
    }
    assert_eq!(shop.parts.store.accounts().staff().await.unwrap().len(), 3);
}
