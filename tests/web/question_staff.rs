//! Questions in the console: lists, answers, hiding and its undo, versions, the audit log.

use super::*;
use domain::Locale;
use store::{AskOutcome, NewQuestion};

/// A shop, where mei asked about a sale.
async fn asked(shop: &TestShop) -> (TestClient<'_>, TestClient<'_>, String, String) {
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let sale = shop.open_sale(&admin, 5).await;
    let id = mei.asked(&sale, "Is it waterproof?").await;
    (admin, mei, sale, id)
}

#[tokio::test]
async fn staff_answer_by_form_and_edit_later_and_viewers_see_no_forms() {
    let shop = TestShop::open().await;
    let (admin, _, sale, id) = asked(&shop).await;
    admin.get("/admin?lang=en").await.has(&[">Questions: 1</a>"]);
    let list = admin.get("/admin/questions?lang=en").await;
    for part in ["Is it waterproof?", ">mei<", "Phone", "name=\"version\" value=\"1\"", "Publish answer"] {
        assert!(list.text().contains(part), "{part}: {}", list.text());
    }
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    vera.get("/admin/questions?lang=en").await.has(&["Is it waterproof?"]).lacks(&["<textarea", "/hide"]);
    let path = format!("/admin/questions/{id}/answer?lang=en");
    admin.send_form(&path, "version=1&answer=+").await.shows(422, &["Required.", "aria-invalid"]);
    admin.send_form(&path, &format!("version=1&answer={}", "x".repeat(1001))).await.shows(422, &[&"x".repeat(1001)]);
    let saved = admin.send_form(&path, "version=1&answer=Yes.%0D%0AAlways.").await;
    assert!(saved.leads_to(&format!("/admin/questions?lang=en&status=open&done=answer&question={id}")), "{saved:?}");
    let list = admin.get("/admin/questions?lang=en&status=open&done=answer").await;
    assert!(list.text().contains("Answer published") && list.text().contains("No questions to answer."));
    assert!(!admin.get("/admin?lang=en").await.text().contains(">Questions: "));
    assert!(shop.sale_page("en", &sale).await.contains("Yes.\nAlways."));
    let answered = admin.get("/admin/questions?lang=en&status=answered").await;
    assert!(answered.text().contains("Edit answer") && answered.text().contains(">\nYes.\nAlways.</textarea>"));
    let edited = admin.send_form(&path, "version=2&answer=No.").await;
    assert!(edited.leads_to(&format!("/admin/questions?lang=en&status=answered&done=answer&question={id}")));
    assert!(shop.sale_page("en", &sale).await.contains(">No.<"));
    let log = admin.get("/admin/log?lang=en").await.has(&[&format!("href=\"/admin/questions/{id}?lang=en\"")]);
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
    admin.get(&list).await.has(&["Question hidden.", &format!("/{id}/unhide?lang=en"), "name=\"version\" value=\"3\""]);
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
async fn unanswered_questions_are_listed_from_the_one_that_waits_longest() {
    let shop = TestShop::open().await;
    let (admin, _, sale, first) = asked(&shop).await;
    let (goods, sale) =
        (shop.parts.store.questions().get(first.parse().unwrap()).await.unwrap().unwrap(), sale.parse().unwrap());
    let mut ids = vec![first];
    for n in 1..=51 {
        let text = format!("Question number {n}?");
        let new = NewQuestion { user: None, goods: goods.question.goods_id, sale, locale: Locale::En, text };
        let AskOutcome::Asked(question) = shop.parts.store.questions().ask(&new).await.unwrap() else {
            panic!("not asked")
        };
        ids.push(question.id.to_string());
    }
    let listed = |page: &TestResponse| -> Vec<String> {
        page.text().split("data-question=\"").skip(1).map(|row| row[..36].to_owned()).collect()
    };
    let open = admin.get("/admin/questions?lang=en").await;
    assert_eq!(listed(&open), ids[..20]);
    assert!(open.text().contains(&format!("before={}\">Later questions</a>", ids[19])), "{}", open.text());
    let rest = admin.get(&format!("/admin/questions?lang=en&status=open&before={}", ids[31])).await;
    assert_eq!(listed(&rest), ids[32..]);
    assert!(rest.text().contains("Longest waiting questions") && !rest.text().contains("Later questions"));
    let page = admin.get("/api/admin/questions").await.json();
    assert_eq!((&page["questions"][0]["id"], &page["next"]), (&json!(ids[0]), &json!(ids[49])));
    for id in &ids[..51] {
        assert_eq!(admin.answer(id, "Yes.").await.status, 200);
    }
    let answered = admin.get("/admin/questions?lang=en&status=answered").await;
    assert_eq!(listed(&answered), ids[31..51].iter().rev().cloned().collect::<Vec<_>>(), "the others newest first");
    assert!(answered.text().contains(&format!("before={}\">Older questions</a>", ids[31])));
    let rest = admin.get(&format!("/admin/questions?lang=en&status=answered&before={}", ids[1])).await;
    assert_eq!(listed(&rest), ids[..1]);
}

#[tokio::test]
async fn search_finds_questions_by_a_part_of_their_text() {
    let shop = TestShop::open().await;
    let (admin, mei, sale, id) = asked(&shop).await;
    let percent = mei.asked(&sale, "Is 100% of it cotton_wool?").await;
    let hits = async |who: &TestClient<'_>, q: &str| {
        let q: String = url::form_urlencoded::byte_serialize(q.as_bytes()).collect();
        let found = who.get(&format!("/admin/search.json?lang=en&q={q}")).await.json();
        let hits = found["hits"].as_array().unwrap().clone();
        hits.into_iter().filter(|hit| hit["kind"] == "question").collect::<Vec<_>>()
    };
    let found = hits(&admin, "WATERproof").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["title"], "Is it waterproof?");
    assert_eq!((&found[0]["label"], &found[0]["detail"]), (&json!("Question"), &json!("Phone · To answer")));
    assert_eq!(found[0]["path"], format!("/admin/questions/{id}?lang=en"));
    assert!(admin.get(&format!("/admin/questions/{id}?lang=en")).await.is_page(200));
    assert_eq!(hits(&admin, "0%").await[0]["path"], format!("/admin/questions/{percent}?lang=en"));
    assert!(
        hits(&admin, "wa%f").await.is_empty() && hits(&admin, "wa_er").await.is_empty(),
        "no pattern of the reader's"
    );
    let vera = shop.staff(&admin, "vera", Role::Viewer).await;
    assert_eq!(hits(&vera, "waterproof").await.len(), 1, "viewers may read questions");
    assert_eq!(mei.get("/admin/search.json?q=waterproof").await.status, 404);
    assert!(admin.get("/admin/search?lang=en&q=waterproof").await.text().contains("<bdi>Is it waterproof?</bdi>"));
}
