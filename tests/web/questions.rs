//! Questions of shoppers about goods: asking, what pages show, withdrawing, export and deletion.

use super::mail::MEI;
use super::*;

const ASKED: &str = "Is it <b>waterproof</b>? https://x.example";

impl TestShop {
    /// The page of a sale as it is published.
    pub async fn sale_page(&self, locale: &str, sale: &str) -> String {
        self.publish();
        let page = self.visitor().get(&format!("/{locale}/sales/{sale}")).await.shows(200, &[]);
        page.text().to_owned()
    }
}

impl TestClient<'_> {
    pub async fn ask(&self, sale: &str, text: &str) -> TestResponse {
        self.post(&format!("/api/sales/{sale}/questions"), json!({"text": text, "locale": "en"})).await
    }

    /// Asks, and returns the id of the question.
    pub async fn asked(&self, sale: &str, text: &str) -> String {
        let asked = self.ask(sale, text).await.is(201);
        asked.json()["question"]["id"].as_str().unwrap().to_owned()
    }

    pub async fn answer(&self, question: &str, answer: &str) -> TestResponse {
        self.put(&format!("/api/admin/questions/{question}/answer"), json!({"answer": answer})).await
    }
}

#[tokio::test]
async fn answered_question_is_shown_without_a_word_about_the_asker() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("meimei").await);
    assert!(shop.sale_page("en", &sale).await.contains("Be the first to ask"));
    mei.verify(MEI).await;
    let id = mei.asked(&sale, ASKED).await;
    assert!(!shop.sale_page("en", &sale).await.contains("waterproof"), "not before it is answered");
    let version = shop.visitor().get(&format!("/en/sales/{sale}")).await.header("etag").to_owned();

    assert_eq!(admin.answer(&id, "Yes.\nDown to <i>2 m</i>.").await.status, 200);
    let page = shop.sale_page("en", &sale).await;
    assert!(
        page.contains("Is it &#60;b&#62;waterproof&#60;/b&#62;?") && page.contains("Yes.\nDown to &#60;i&#62;2 m"),
        "{page}"
    );
    assert!(!page.contains("href=\"https://x.example"), "links are not made clickable");
    assert!(!page.contains("meimei") && !page.contains(">admin<") && !page.contains(&id), "{page}");
    assert!(!shop.sale_page("zh", &sale).await.contains("waterproof"), "it is in English");
    let published = shop.visitor().get(&format!("/en/sales/{sale}")).await;
    assert_ne!(published.header("etag"), version);
    assert!(published.header("cache-control").starts_with("public"));
    let shown = shop.visitor().get(&format!("/api/sales/{sale}/questions")).await.json();
    let first = &shown["questions"][0];
    assert_eq!((&first["text"], &first["locale"]), (&json!(ASKED), &json!("en")));
    assert_eq!(first.as_object().unwrap().len(), 4, "text, locale, answer and time: {first}");

    let mails = shop.mails().await;
    let mail = mails.last().unwrap();
    assert_eq!((mail.kind.as_str(), mail.recipient.as_str()), ("question_answered", MEI));
    let letter = shop.letter(mail).text;
    assert!(letter.contains("Your question about Phone") && letter.contains("“Yes.\nDown to"), "{letter}");
    assert!(letter.contains("/en/questions"), "{letter}");
    mei.get("/en/questions").await.has(&["Answered", "Down to &#60;i&#62;2 m"]).lacks(&["/withdraw"]);
    assert_eq!(admin.answer(&id, "No.").await.status, 200);
    assert_eq!(shop.mails().await.len(), mails.len(), "an edited answer sends nothing more");
    assert!(shop.sale_page("en", &sale).await.contains(">No.<"));
}

#[tokio::test]
async fn page_shows_a_handful_and_the_rest_on_request_newest_first() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    for n in 1..=4 {
        let id = mei.asked(&sale, &format!("Question number {n}?")).await;
        assert_eq!(admin.answer(&id, &format!("Answer {n}")).await.status, 200);
        shop.execute(format!("UPDATE questions SET answered_at_ms = {n} WHERE id = '{id}'")).await;
    }
    shop.execute("UPDATE catalogue SET revision = revision + 1").await;
    shop.parts.catalogue.refresh().await.unwrap();
    let page = shop.sale_page("en", &sale).await;
    let places: Vec<_> = (1..=4).rev().map(|n| page.find(&format!("Question number {n}?")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    let more = page.find("Show 1 more").unwrap();
    assert!(places[2] < more && more < places[3], "the fourth is folded away");
    let thirty = domain::question::MAX_SHOWN_ANSWERS;
    shop.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
         INSERT INTO questions (id, goods_id, sale_id, locale, text, asked_at_ms, status, answer, answered_at_ms)
         SELECT 'x' || i, goods_id, sale_id, locale, text, 1, status, answer, 100 + i FROM questions, n WHERE answered_at_ms = 4",
    )
    .await;
    assert_eq!(shop.parts.store.questions().shown_answers().await.unwrap().values().next().unwrap().en.len(), thirty);
}

#[tokio::test]
async fn form_refuses_at_the_field_and_keeps_what_was_typed() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let mei = shop.shopper("mei").await;
    let path = format!("/en/sales/{sale}/questions");
    assert!(shop.sale_page("en", &sale).await.contains(&format!("action=\"{path}\"")));
    let short = mei.send_form(&path, "text=wet%3F").await.shows(422, &["at least 5 characters", ">\nwet?</textarea>"]);
    assert!(short.text().contains("aria-invalid=\"true\""));
    mei.send_form(&path, &format!("text={}", "x".repeat(301))).await.shows(422, &["300 characters", &"x".repeat(301)]);
    mei.ask(&sale, "wet?").await.refuses(422, "invalid").wrong("text", "question_too_short");
    mei.send_form(&path, "text=Is+it+waterproof%3F").await.leads("/en/questions?done=asked");
    let again = mei.send_form(&path, "text=Is+it++waterproof%3F").await;
    assert!(again.leads_to("/en/questions?done=known"), "a double click asks once");
    let own = mei.get("/en/questions?done=asked").await.has(&["Your question was sent", "Waiting for an answer"]);
    assert_eq!(own.text().matches("Is it waterproof?").count() / 3, 1, "once: {}", own.text());
    assert!(mei.get("/en/account").await.text().contains("href=\"/en/questions\""));
}

#[tokio::test]
async fn visitor_logs_in_and_finds_the_question_again() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let path = format!("/zh/sales/{sale}/questions");
    shop.shopper("mei").await;
    let led = shop.visitor().send_form(&path, "text=%E5%AE%83%E9%98%B2%E6%B0%B4%E5%90%97%EF%BC%9F").await;
    assert!(led.leads_to(&format!("/zh/login?next=%2Fzh%2Fsales%2F{sale}%2Fquestions")), "{led:?}");
    assert!(led.header("set-cookie").contains(&format!("Path={path}; HttpOnly; SameSite=Lax")));
    assert_eq!(shop.execute("UPDATE questions SET version = version").await, 0, "nothing is asked yet");
    let draft = led.cookie();
    let entered =
        shop.visitor().send_form("/zh/login", &format!("username=mei&password=correct+horse&next={path}")).await;
    assert!(entered.leads_to(&path));
    let mei = TestClient { cookie: Some(format!("{}; {draft}", entered.cookie())), ..shop.visitor() };
    let form = mei.get(&path).await.shows(200, &[">\n它防水吗？</textarea>", "你写的问题还在"]);
    assert_eq!(form.header("cache-control"), "no-store");
    let sent = mei.send_form(&path, "text=%E5%AE%83%E9%98%B2%E6%B0%B4%E5%90%97%EF%BC%9F").await;
    assert!(sent.leads_to("/zh/questions?done=asked"));
    assert!(sent.header("set-cookie").starts_with("question=; ") && sent.header("set-cookie").contains("Max-Age=0"));
    let wrong = shop.visitor().send_form(&path, "text=x").await;
    assert!(wrong.is_page(422) && wrong.header("set-cookie").is_empty(), "errors come before the log-in");
    assert_eq!(shop.visitor().ask(&sale, ASKED).await.problem(), problem(401, "not_signed_in"));
    assert!(shop.visitor().get("/zh/questions").await.leads_to("/zh/login?next=%2Fzh%2Fquestions"));
}

#[tokio::test]
async fn account_has_five_open_questions_and_withdraws_its_own() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei, lei) = (shop.admin().await, shop.shopper("mei").await, shop.shopper("lei").await);
    let mut ids = Vec::new();
    for n in 1..=5 {
        ids.push(mei.asked(&sale, &format!("Question number {n}?")).await);
    }
    assert_eq!(mei.ask(&sale, "One more question?").await.problem(), problem(409, "too_many_questions"));
    let known = mei.ask(&sale, "Question number 3?").await;
    assert_eq!((known.status.as_u16(), &known.json()["question"]["id"]), (200, &json!(ids[2])));
    let page = mei.send_form(&format!("/en/sales/{sale}/questions"), "text=One+more+question%3F").await;
    assert!(page.is_page(409) && page.text().contains("One more question?") && page.text().contains("/en/questions"));

    let withdraw = async |client: &TestClient<'_>, id: &str| client.delete(&format!("/api/questions/{id}")).await;
    assert_eq!(withdraw(&lei, &ids[0]).await.problem(), problem(404, "not_found"), "of another account");
    assert_eq!(withdraw(&mei, &ids[0]).await.status, 204);
    assert_eq!(withdraw(&mei, &ids[0]).await.problem(), problem(404, "not_found"));
    mei.send_form(&format!("/en/questions/{}/withdraw", ids[1]), "").await.leads("/en/questions?done=withdrawn");
    assert_eq!(admin.answer(&ids[2], "Yes.").await.status, 200);
    assert_eq!(withdraw(&mei, &ids[2]).await.problem(), problem(409, "already_answered"));
    assert!(mei.send_form(&format!("/en/questions/{}/withdraw", ids[2]), "").await.is_page(409));
    let list = mei.get("/api/questions").await.json();
    assert_eq!(each(&list["questions"], "id"), [&*ids[4], &*ids[3], &*ids[2]], "newest first");
    assert_eq!(lei.get("/api/questions").await.json()["questions"], json!([]));

    for n in 6..=10 {
        let asked = mei.ask(&sale, &format!("Question number {n}?")).await;
        assert!([201, 409, 429].contains(&asked.status.as_u16()), "{asked:?}");
    }
    let limited = mei.ask(&sale, "Question number 11?").await.refuses(429, "rate_limited");
    assert_eq!(limited.header("retry-after"), "60");
    let page = mei.send_form(&format!("/en/sales/{sale}/questions"), "text=Question+number+11%3F").await;
    assert!(page.is_page(429) && page.text().contains("Question number 11?") && page.text().contains("try again"));
}

#[tokio::test]
async fn drafts_and_rehearsals_take_no_questions() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let mei = shop.shopper("mei").await;
    assert_eq!(mei.ask("999", ASKED).await.problem(), problem(404, "no_such_sale"));
    assert!(mei.get("/en/sales/999/questions").await.is_page(404));
    shop.execute(format!("UPDATE sales SET shadow = 1 WHERE id = {sale}")).await;
    shop.execute("UPDATE catalogue SET revision = revision + 1").await;
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(mei.ask(&sale, ASKED).await.problem(), problem(404, "no_such_sale"));
    assert!(!shop.sale_page("en", &sale).await.contains("id=\"questions\""));
    shop.execute(format!("UPDATE sales SET shadow = 0, state = 'draft' WHERE id = {sale}")).await;
    shop.execute("UPDATE catalogue SET revision = revision + 1").await;
    shop.parts.catalogue.refresh().await.unwrap();
    assert_eq!(mei.ask(&sale, ASKED).await.problem(), problem(404, "no_such_sale"));
    shop.visitor().get(&format!("/api/sales/{sale}/questions")).await.refuses(404, "no_such_sale");
}

#[tokio::test]
async fn draft_is_deleted_and_leaves_its_questions() {
    let shop = TestShop::open().await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    shop.open_sale(&admin, 5).await;
    let (opens, closes) = ("2099-05-05T12:00:00Z", "2099-05-05T13:00:00Z");
    let sale = admin.new_sale(json!({"goods_id": "1", "opens_at": opens, "closes_at": closes})).await;
    mei.asked(&sale, ASKED).await;
    assert!(mei.get("/en/questions").await.text().contains(&format!("/en/sales/{sale}#questions")));
    let draft = format!("/api/admin/sales/{sale}");
    assert_eq!(admin.post(&format!("{draft}/unschedule"), json!({})).await.status, 200);
    let deleted = admin.delete(&draft).await;
    assert!(deleted.status.is_success(), "{deleted:?}");
    mei.get("/en/questions").await.shows(200, &["waterproof"]).lacks(&[&format!("/sales/{sale}")]);
}

#[tokio::test]
async fn questions_are_exported_and_lose_their_account_with_it() {
    let (shop, sale) = TestShop::open().await.selling(5).await;
    let (admin, mei) = (shop.admin().await, shop.shopper("mei").await);
    let (answered, hidden) = (mei.asked(&sale, "Is it waterproof?").await, mei.asked(&sale, "Something rude").await);
    mei.asked(&sale, "Is it heavy at all?").await;
    assert_eq!(admin.answer(&answered, "Yes.").await.status, 200);
    assert_eq!(admin.post(&format!("/api/admin/questions/{hidden}/hide"), json!({})).await.status, 200);
    let export = mei.get("/api/account/export").await.json();
    let questions = export["questions"].as_array().unwrap();
    let told: Vec<_> = questions.iter().map(|q| (q["text"].as_str().unwrap(), q["answer"].as_str())).collect();
    assert_eq!(told, [("Is it heavy at all?", None), ("Something rude", None), ("Is it waterproof?", Some("Yes."))]);
    assert!(!export.to_string().contains("\"admin\""), "without the names of the staff");

    assert!(mei.send_form("/en/account/delete", "username=mei&password=correct+horse").await.is_page(200));
    let list = async |status: &str| {
        admin.get(&format!("/api/admin/questions?status={status}")).await.json()["questions"].clone()
    };
    assert_eq!((list("open").await, list("hidden").await), (json!([]), json!([])), "what no page shows is deleted");
    let left = list("answered").await;
    assert_eq!(left[0]["id"], json!(answered));
    assert_eq!(left[0]["user_id"], Value::Null);
    assert_eq!(left[0]["username"], Value::Null);
    assert!(shop.sale_page("en", &sale).await.contains("Is it waterproof?"));
    assert!(admin.get("/admin/questions?lang=en&status=answered").await.text().contains("no account"));
    assert_eq!(admin.answer(&answered, "No.").await.status, 200, "nobody is told, and nothing fails");
    let log = admin.get("/api/admin/audit-log").await;
    assert!(log.text().contains("hide-question") && !log.text().contains("rude"), "the log has no words of shoppers");
}
