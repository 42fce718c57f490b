//! Shadow mode: another shop decides for itself, and this one says where it would have decided otherwise.

use super::tokens::TestProgram;
use super::*;

impl TestShop {
    /// A draft with 50 units, one for each customer, and the server of another shop.
    async fn in_shadow(&self, admin: &TestClient<'_>) -> (String, TestProgram<'_>) {
        let sale = json!({"total": 50, "price": {"amount": 100, "currency": "CNY"}, "draft": true,
            "opens_at": "2026-01-01T10:00:00Z", "closes_at": "2026-01-01T11:00:00Z"});
        let sale = admin.announce(sale).await;
        let program = self.program(admin, "other shop", &["reserve", "shoppers"]).await;
        (sale, program)
    }
}

fn decision(n: u32, decided: &str) -> Value {
    let at = format!("2026-01-01T10:00:{:02}.{:03}Z", n / 1000, n % 1000);
    let mut decision =
        json!({"id": format!("d{n}"), "shopper": format!("customer-{n}"), "quantity": 1, "decided": decided, "at": at});
    if decided == "sold" {
        decision["reference"] = format!("order {n}").into();
    }
    decision
}

async fn tell(program: &TestProgram<'_>, sale: &str, decisions: Vec<Value>) -> TestResponse {
    program.post(&format!("/api/v1/sales/{sale}/decisions"), json!({ "decisions": decisions })).await
}

/// All differences, read in small pages, and the sums.
async fn differences(program: &TestProgram<'_>, sale: &str) -> (Value, Vec<Value>) {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/v1/sales/{sale}/decisions/differences?limit=4&after={after}");
        let page = program.get(&path).await;
        assert_eq!(page.status, 200, "{page:?}");
        let page = page.json();
        all.extend(page["differences"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return (page["comparison"].clone(), all),
        }
    }
}

#[tokio::test]
async fn shop_whose_stock_check_is_off_is_reported_with_the_ten_orders_beyond_the_stock() {
    open_shop!(shop, admin, rush = 1);
    let tabs = async || admin.get(&format!("/admin/sales/{rush}?lang=en")).await.text().contains("/decisions?lang=en");
    assert!(!tabs().await, "no other shop, no tab");
    let (sale, program) = shop.in_shadow(&admin).await;
    assert!(tabs().await);
    let path = format!("/admin/sales/{sale}/decisions?lang=en");
    let empty = admin.get(&path).await;
    assert!(empty.text().contains("No decisions of another shop yet"), "{empty:?}");
    // Sixty of fifty units, told in any order, some twice.
    let all: Vec<Value> = (0..60).map(|n| decision(n, "sold")).collect();
    for chunk in [&all[30..], &all[..30], &all[10..40]] {
        assert_eq!(tell(&program, &sale, chunk.to_vec()).await.status, 200);
    }
    let again = tell(&program, &sale, vec![decision(0, "refused"), decision(100, "refused")]).await;
    assert_eq!(again.json(), json!({"taken": 1, "known": 1}), "what was told first stays");
    let (comparison, found) = differences(&program, &sale).await;
    let expected = json!({"decisions": 61, "units_sold": 60, "refused_here": 10, "refused_there": 0, "oversold": 10});
    assert_eq!(comparison, expected);
    let orders: Vec<_> = found.iter().map(|found| found["decision"]["reference"].clone()).collect();
    assert_eq!(orders, (50..60).map(|n| format!("order {n}")).collect::<Vec<_>>());
    assert!(found.iter().all(|found| found["here"] == "sold_out" && found["left"] == 0 && found["oversold"] == 1));
    let page = admin.get(&path).await.text().to_owned();
    assert!(page.contains("The other shop sold 10 units more than it had. The stock is 50."), "{page}");
    for n in 50..60 {
        assert!(page.contains(&format!("<code>order {n}</code>")), "{n}: {page}");
    }
    assert!(!page.contains("<code>order 49</code>"), "{page}");
    let page = admin.get(&path.replace("en", "zh")).await.text().to_owned();
    assert!(page.contains("外部店铺超卖 10 件，库存为 50 件。"), "{page}");
    // Nothing was sold here, and shoppers see nothing of it.
    let row = shop.parts.store.sales().get(sale.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((row.sold, row.granted, row.state.as_str()), (0, 0, "draft"));
    assert_eq!(shop.visitor().get(&format!("/en/sales/{sale}")).await.status, 404);
}

#[tokio::test]
async fn decisions_that_differ_are_told_with_the_reason() {
    open_shop!(shop, admin);
    let (sale, program) = shop.in_shadow(&admin).await;
    let mut early = decision(1, "sold");
    early["at"] = "2026-01-01T09:59:59Z".into();
    let mut twice = decision(4, "sold");
    twice["shopper"] = "customer-2".into();
    let mut many = decision(5, "sold");
    many["quantity"] = 2.into();
    let all = vec![early, decision(2, "sold"), decision(3, "refused"), twice, many];
    assert_eq!(tell(&program, &sale, all).await.json(), json!({"taken": 5, "known": 0}));
    let (comparison, found) = differences(&program, &sale).await;
    let expected = [("d1", "not_open", 50), ("d3", "sold", 48), ("d4", "holds_units", 48), ("d5", "over_limit", 47)];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (id, here, left)) in found.iter().zip(expected) {
        assert!(found["decision"]["id"] == id && found["here"] == here && found["left"] == left, "{id}: {found}");
    }
    assert_eq!((&comparison["refused_here"], &comparison["refused_there"]), (&json!(3), &json!(1)));
    let page = admin.get(&format!("/admin/sales/{sale}/decisions?lang=en")).await.text().to_owned();
    assert_contains(&page, &["Nothing was sold beyond the stock of 50.", "Refused: over the limit"]);
    // A customer who was named is measured by the rules about accounts.
    let rules = json!({"verified_contact": true});
    let edited = admin.patch(&format!("/api/admin/sales/{sale}"), rules).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    assert_eq!(program.post("/api/v1/shoppers", json!({"id": "customer-2"})).await.status, 201);
    let (_, found) = differences(&program, &sale).await;
    assert_eq!((&found[1]["decision"]["id"], &found[1]["here"]), (&json!("d2"), &json!("contact_not_verified")));
}

#[tokio::test]
async fn wrong_decisions_are_named_and_none_is_kept() {
    open_shop!(shop, admin);
    let (sale, program) = shop.in_shadow(&admin).await;
    let mut wrong = decision(1, "sold");
    (wrong["id"], wrong["quantity"], wrong["at"]) = ("a b".into(), 0.into(), "2999-01-01T00:00:00Z".into());
    let refused = tell(&program, &sale, vec![decision(0, "sold"), wrong]).await;
    assert_eq!(refused.problem(), problem(422, "invalid"));
    assert_eq!(refused.fields(), ["decisions[1].id", "decisions[1].quantity", "decisions[1].at"]);
    for decisions in [Vec::new(), (0..501).map(|n| decision(n, "refused")).collect()] {
        assert_eq!(tell(&program, &sale, decisions).await.problem(), problem(422, "invalid"));
    }
    assert_eq!(differences(&program, &sale).await.0["decisions"], 0);
    let path = format!("/api/v1/sales/{sale}/decisions/differences");
    assert_eq!(program.get(&format!("{path}?after=nothing")).await.problem(), problem(422, "invalid"));
    assert_eq!(tell(&program, "999", vec![decision(0, "sold")]).await.problem(), problem(404, "no_such_sale"));
    let reader = shop.program(&admin, "reader", &["view_console"]).await;
    assert_eq!(reader.get(&path).await.problem(), problem(403, "scope_missing"));
    assert_eq!(admin.patch(&format!("/api/admin/sales/{sale}"), json!({"mode": "draw"})).await.status, 200);
    assert_eq!(tell(&program, &sale, vec![decision(0, "sold")]).await.problem(), problem(409, "not_a_rush"));
    assert_eq!(program.get(&path).await.problem(), problem(409, "not_a_rush"));
}

#[tokio::test]
async fn decisions_about_anonymous_visitors_are_compared() {
    open_shop!(shop, admin);
    let (sale, program) = shop.in_shadow(&admin).await;
    let mut visitor = decision(1, "sold");
    visitor["shopper"] = "anonymous-0123".into();
    let told = tell(&program, &sale, vec![visitor]).await;
    assert_eq!((told.status.as_u16(), &told.json()["taken"]), (200, &1.into()), "{told:?}");
}
