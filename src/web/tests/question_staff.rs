//! Questions in the console: lists, answers, hiding and its undo, versions, the audit log.

use super::*;

const JSON: (&str, &str) = ("content-type", "application/json");

/// A shop, where mei asked about a sale.
async fn asked(shop: &TestShop) -> (TestClient<'_>, TestClient<'_>, String, String) {
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = shop.open_sale(&admin, 5).await;
    let id = mei.asked(&sale, "Is it waterproof?").await;
    (admin, mei, sale, id)
}

#[tokio::test]
async fn staff_answer_by_form_and_edit_later() {
    let shop = TestShop::open().await;
    let (admin, _, sale, id) = asked(&shop).await;
    let home = admin.get("/admin?lang=en").await;
    assert!(home.text().contains("Needs a hand: Questions to answer."), "{}", home.text());
    let list = admin.get("/admin/questions?lang=en").await;
    for part in ["Is it waterproof?", ">mei<", "Phone", "name=\"version\" value=\"1\"", "Publish answer"] {
        assert!(list.text().contains(part), "{part}: {}", list.text());
    }
    let path = format!("/admin/questions/{id}/answer?lang=en");
    let empty = admin.send_form(&path, "version=1&answer=+").await;
    assert!(empty.is_page(422) && empty.text().contains("Required.") && empty.text().contains("aria-invalid"));
    let long = admin.send_form(&path, &format!("version=1&answer={}", "x".repeat(1001))).await;
    assert!(long.is_page(422) && long.text().contains(&"x".repeat(1001)));
    let saved = admin.send_form(&path, "version=1&answer=Yes.%0D%0AAlways.").await;
    assert!(saved.leads_to(&format!("/admin/questions?lang=en&status=open&done=answer&question={id}")), "{saved:?}");
    let list = admin.get("/admin/questions?lang=en&status=open&done=answer").await;
    assert!(list.text().contains("Answer published") && list.text().contains("No questions to answer."));
    assert!(!admin.get("/admin?lang=en").await.text().contains("Needs a hand: Questions"));
    assert!(shop.sale_page("en", &sale).await.contains("Yes.\nAlways."));
    let answered = admin.get("/admin/questions?lang=en&status=answered").await;
    assert!(answered.text().contains("Edit answer") && answered.text().contains(">\nYes.\nAlways.</textarea>"));
    let edited = admin.send_form(&path, "version=2&answer=No.").await;
    assert!(edited.leads_to(&format!("/admin/questions?lang=en&status=answered&done=answer&question={id}")));
    assert!(shop.sale_page("en", &sale).await.contains(">No.<"));
    let log = admin.get("/admin/log?lang=en").await;
    assert!(log.text().contains(&format!("href=\"/admin/questions/{id}?lang=en\"")), "{}", log.text());
    assert!(log.text().contains("was answered") && log.text().contains("Yes.") && log.text().contains("No."));
    assert!(admin.get(&format!("/admin/questions/{id}?lang=en")).await.is_page(200));
}

#[tokio::test]
async fn hidden_question_leaves_the_pages_and_comes_back() {
    let shop = TestShop::open().await;
    let (admin, mei, sale, id) = asked(&shop).await;
    assert_eq!(admin.answer(&id, "Yes.").await.status, 200);
    let hidden = admin.send_form(&format!("/admin/questions/{id}/hide?lang=en"), "version=2").await;
    let list = format!("/admin/questions?lang=en&status=answered&done=hide&question={id}");
    assert!(hidden.leads_to(&list), "{hidden:?}");
    assert!(!shop.sale_page("en", &sale).await.contains("waterproof"));
    let page = admin.get(&list).await;
    assert!(page.text().contains("Question hidden.") && page.text().contains(&format!("/{id}/unhide?lang=en")));
    assert!(page.text().contains("name=\"version\" value=\"3\""));
    assert!(mei.get("/en/questions").await.text().contains("Not shown"));
    assert_eq!(admin.answer(&id, "No.").await.problem(), problem(409, "question_hidden"));
    let typed = admin.send_form(&format!("/admin/questions/{id}/answer?lang=en"), "version=3&answer=Typed+words").await;
    assert!(typed.is_page(409) && typed.text().contains("Typed words"), "nothing entered is lost");
    assert!(admin.get("/admin/questions?lang=en&status=hidden").await.text().contains("Show again"));
    let undone = admin.send_form(&format!("/admin/questions/{id}/unhide?lang=en"), "version=3").await;
    assert!(undone.leads_to(&format!("/admin/questions?lang=en&status=hidden&done=unhide&question={id}")));
    assert!(shop.sale_page("en", &sale).await.contains("waterproof"));
    assert!(!admin.get(&list).await.text().contains("Question hidden."), "it is not hidden any more");
    assert_eq!(admin.post(&format!("/api/admin/questions/{id}/unhide"), json!({})).await.header("etag"), "\"4\"");
}

#[tokio::test]
async fn second_member_of_the_staff_overwrites_nothing() {
    let shop = TestShop::open().await;
    let (admin, _, sale, id) = asked(&shop).await;
    let sam = shop.staff(&admin, "sam", Role::Support).await;
    let path = format!("/api/admin/questions/{id}");
    let version = sam.get(&path).await.header("etag").to_owned();
    assert_eq!(version, "\"1\"");
    let answer = async |client: &TestClient<'_>, text: &str| {
        let body = json!({"answer": text}).to_string();
        client.send("PUT", &format!("{path}/answer"), &[JSON, ("if-match", &version)], body).await
    };
    let first = answer(&admin, "Yes.").await;
    assert_eq!((first.status.as_u16(), first.header("etag")), (200, "\"2\""));
    assert_eq!(answer(&sam, "No.").await.problem(), problem(412, "stale_version"));
    let hide = sam.send("POST", &format!("{path}/hide"), &[("if-match", &version)], "").await;
    assert_eq!(hide.problem(), problem(412, "stale_version"));
    let form = sam.send_form(&format!("/admin/questions/{id}/answer?lang=en"), "version=1&answer=Typed+by+Sam").await;
    assert!(form.is_page(409) && form.text().contains("Someone just changed this question"), "{}", form.text());
    assert!(form.text().contains(">\nTyped by Sam</textarea>") && form.text().contains("name=\"version\" value=\"2\""));
    assert!(form.text().contains(">Yes.<"), "the answer as it is now");
    let none = sam.send_form(&format!("/admin/questions/{id}/hide?lang=en"), "version=x&answer=Half+an+answer").await;
    assert!(none.is_page(409) && none.text().contains(">\nHalf an answer</textarea>"));
    assert!(shop.sale_page("en", &sale).await.contains(">Yes.<"));
    let same = admin.answer(&id, "Yes.").await;
    assert_eq!(same.header("etag"), "\"2\"", "the same answer makes no version");
    assert_eq!(sam.put(&format!("{path}/answer"), json!({"answer": " "})).await.problem(), problem(422, "invalid"));
    assert_eq!(sam.get("/api/admin/questions?status=x").await.problem(), problem(422, "invalid"));
}

#[tokio::test]
async fn viewer_reads_questions_and_sees_no_forms() {
    let shop = TestShop::open().await;
    let (admin, ..) = asked(&shop).await;
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    let list = vera.get("/admin/questions?lang=en").await;
    assert!(
        list.text().contains("Is it waterproof?")
            && !list.text().contains("<textarea")
            && !list.text().contains("/hide")
    );
}
