//! The trial balance and the journal.

use std::time::Duration;

use super::*;
use domain::ledger::LedgerAccount;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The lines of the trial balance: account, opening, debits, credits, closing.
async fn lines(owner: &TestClient<'_>, query: &str) -> Vec<(String, i64, i64, i64, i64)> {
    let books = owner.get(&format!("/api/admin/books?{query}")).await.json();
    let lines = books["books"]["lines"].as_array().unwrap().iter().map(|line| {
        let amount = |field: &str| line[field]["amount"].as_i64().unwrap();
        let name = line["account"].as_str().unwrap().to_owned();
        (name, amount("opening"), amount("debits"), amount("credits"), amount("closing"))
    });
    let lines: Vec<_> = lines.collect();
    let sum = |of: fn(&(String, i64, i64, i64, i64)) -> i64| lines.iter().map(of).sum::<i64>();
    assert_eq!((sum(|l| l.1), sum(|l| l.2 - l.3), sum(|l| l.4)), (0, 0, 0), "{lines:?}");
    lines
}

fn line(name: &str, opening: i64, debits: i64, credits: i64, closing: i64) -> (String, i64, i64, i64, i64) {
    (name.to_owned(), opening, debits, credits, closing)
}

#[tokio::test]
async fn books_carry_wallets_and_payments_over_days_whether_closed_or_not() {
    open_shop!(shop = TestShop::open_at(&Clock::manual("2026-11-10T12:00:00Z".parse().unwrap())), admin, [mei]);
    // Sessions of staff end after half a day.
    let password = admin.password.clone().unwrap();
    assert_eq!(lines(&admin, "").await, []);
    assert!(admin.get("/admin/orders/books?lang=en").await.text().contains("No money had moved"));
    wallet::fill(&shop, &mei, 300_000).await;

    shop.advance(DAY);
    let admin = shop.log_in("admin", &password).await;
    let sale = shop.open_sale(&admin, 5).await;
    let (_, url) = mei.order(&sale).await;
    let mei = shop.log_in("mei", "correct horse").await;
    assert_eq!(mei.post(&format!("{url}/payments"), json!({"from": "wallet"})).await.status, 201);
    let (theirs, _) = support::paid_order(&shop, &shop.shopper("wang").await, &sale).await;

    shop.advance(DAY);
    let admin = shop.log_in("admin", &password).await;
    let refund = format!("/api/admin/orders/{theirs}/refund");
    assert_eq!(admin.post(&refund, json!({"reason": "broken"})).await.status, 200);
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);
    shop.advance(Duration::from_secs(60));

    let check = async || {
        let second = lines(&admin, "from=2026-11-11&to=2026-11-12").await;
        let expected = [
            line("user", 300_000, 199_900, 0, 100_100),
            line("shop", 0, 0, 399_800, 399_800),
            line("provider", -300_000, 199_900, 0, -499_900),
        ];
        assert_eq!(second, expected);
        let third = lines(&admin, "from=2026-11-12").await;
        assert_eq!(third[1], line("shop", 399_800, 199_900, 0, 199_900));
        assert_eq!(third[2], line("provider", -499_900, 0, 199_900, -300_000));
        let half = lines(&admin, "from=2026-11-10T18:00&to=2026-11-11T06:00").await;
        assert_eq!(half[0], line("user", 300_000, 0, 0, 300_000));
        assert_eq!(lines(&admin, "").await[1], line("shop", 0, 199_900, 399_800, 199_900), "the month");
    };
    check().await;
    while shop.parts.store.books().close().await.unwrap() {}
    check().await;
    assert_eq!(shop.violations("closed days").await, Vec::<String>::new());
    assert_eq!(shop.execute("UPDATE book_days SET credits = credits + 1 WHERE account = 'shop'").await, 1);
    let wrong = shop.violations("closed days").await;
    let day = "2026-11-11 of shop in CNY: 0 debits and 399801 credits";
    assert!(wrong.len() == 1 && wrong[0].starts_with(day), "{wrong:?}");
    shop.execute("DELETE FROM book_days").await;
    let wrong = shop.violations("closed days").await;
    assert!(wrong.len() == 1 && wrong[0] == "money moved on 2026-11-10, which has no sums", "{wrong:?}");
    assert_eq!(lines(&admin, "from=2026-11-12").await[0].1, 0, "the days that are over are read from their sums");
    let shop_balance = shop.parts.store.wallet().balance(LedgerAccount::Shop).await.unwrap();
    assert_eq!(shop_balance, 199_900, "what the wallet paid; the other order was refunded");
}

#[tokio::test]
async fn capture_of_a_wrong_amount_is_held_until_it_is_refunded_or_settled() {
    open_shop!(shop = TestShop::open_at(&Clock::manual("2026-11-10T12:00:00Z".parse().unwrap())), admin, [mei, wang]);
    let password = admin.password.clone().unwrap();
    let sale = shop.open_sale(&admin, 5).await;
    for (who, reports) in [(&mei, [500, 500]), (&wang, [70, 71])] {
        let (_, url) = who.order(&sale).await;
        let payment = who.begin_payment(&url).await["payment"]["id"].clone();
        let id = payment.as_str().unwrap();
        shop.execute(format!("UPDATE sandbox_payments SET status = 'captured' WHERE id = '{id}'")).await;
        for (n, amount) in reports.into_iter().enumerate() {
            let data = json!({"payment_id": payment, "amount": {"amount": amount, "currency": "CNY"}});
            assert_eq!(shop.report(&format!("{id}-{n}"), "payment.captured", data).await.status, 204);
        }
    }

    shop.advance(DAY);
    let admin = shop.log_in("admin", &password).await;
    let cases = admin.get("/api/admin/payment-cases").await.json()["cases"].clone();
    let act = async |case: usize, action: &str| {
        let path = format!("/api/admin/payment-cases/{}/{action}", cases[case]["id"].as_str().unwrap());
        assert_eq!(admin.post(&path, json!({"reason": "checked"})).await.status, 200, "{action} of {cases}");
    };
    // Two cases of wang's payment, which report different amounts, and one case of mei's.
    act(0, "settle").await;
    assert_eq!(lines(&admin, "").await[0], line("held", 0, 0, 570, 570), "the first report counts, its case is open");
    act(1, "settle").await;
    act(2, "refund").await;
    assert_eq!(shop.parts.payments.refund_due().await.unwrap(), 1);

    shop.advance(DAY);
    let admin = shop.log_in("admin", &password).await;
    for closed in [false, true] {
        while closed && shop.parts.store.books().close().await.unwrap() {}
        let first = lines(&admin, "from=2026-11-10&to=2026-11-11").await;
        assert_eq!(first, [line("held", 0, 0, 570, 570), line("provider", 0, 570, 0, -570)]);
        let second = lines(&admin, "from=2026-11-11&to=2026-11-12").await;
        let expected = [line("shop", 0, 0, 70, 70), line("held", 570, 570, 0, 0), line("provider", -570, 0, 500, -70)];
        assert_eq!(second, expected);
    }
    assert!(admin.get("/admin/orders/books?lang=en").await.text().contains("Captures of a wrong amount"));
    let file = admin.get("/api/admin/books/journal.csv?from=2026-11-10&to=2026-11-12").await;
    let rows: Vec<Vec<&str>> = file.text().lines().skip(1).map(|l| l.split(',').collect()).collect();
    let mut moved: Vec<_> = rows.iter().map(|r| (r[2], r[4], r[5], r[6])).collect();
    moved.sort_unstable();
    let expected = [
        ("charge_refund", "held", "5.00", ""),
        ("charge_refund", "provider", "", "5.00"),
        ("held_charge", "held", "", "0.70"),
        ("held_charge", "held", "", "5.00"),
        ("held_charge", "provider", "0.70", ""),
        ("held_charge", "provider", "5.00", ""),
        ("kept_charge", "held", "0.70", ""),
        ("kept_charge", "shop", "", "0.70"),
    ];
    assert_eq!(moved, expected);
    assert_eq!(shop.violations("closed days").await, Vec::<String>::new());
}

#[tokio::test]
async fn journal_has_every_line_and_the_export_is_logged() {
    open_shop!(shop, admin, [mei]);
    wallet::fill(&shop, &mei, 12_345).await;
    let sale = shop.open_sale(&admin, 5).await;
    support::paid_order(&shop, &mei, &sale).await;

    let file = admin.get("/api/admin/books/journal.csv?to=2999-01-01&from=2000-01-01").await;
    assert_eq!((file.status.as_u16(), file.header("content-type")), (200, "text/csv; charset=utf-8"));
    let rows: Vec<Vec<&str>> =
        file.text().trim_start_matches('\u{feff}').lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows[0], ["at", "transfer", "kind", "reference", "account", "debit", "credit", "currency"]);
    let moved: Vec<_> = rows[1..].iter().map(|r| (r[2], r[4].split(':').next().unwrap(), r[5], r[6], r[7])).collect();
    let expected = [
        ("topup", "provider", "123.45", "", "CNY"),
        ("topup", "user", "", "123.45", "CNY"),
        ("charge", "provider", "1999.00", "", "CNY"),
        ("charge", "shop", "", "1999.00", "CNY"),
    ];
    assert_eq!(moved, expected);
    let logged = admin.audit_log().await[0].clone();
    assert_eq!((&logged["actor"], &logged["action"]), (&json!("admin"), &json!("export-books")));
    let empty = admin.get("/api/admin/books/journal.csv?from=2000-01-01&to=2000-01-02").await;
    assert_eq!(empty.text().lines().count(), 1, "only the head");
}

#[tokio::test]
async fn page_of_the_books_names_what_is_wrong() {
    open_shop!(shop, admin, [mei]);
    wallet::fill(&shop, &mei, 12_345).await;
    for path in ["/api/admin/books?from=x", "/api/admin/books/journal.csv?from=2026-02-02&to=2026-02-01"] {
        assert_eq!(admin.get(path).await.problem(), problem(422, "invalid"), "{path}");
    }
    let wrong = admin.get("/admin/orders/books?lang=en&from=x").await;
    assert!(wrong.is_page(422) && wrong.text().contains("value=\"x\""), "{wrong:?}");
    assert!(wrong.text().contains("from-wrong"), "{wrong:?}");
    let page = admin.get("/admin/orders/books?lang=en&from=2000-01-01&to=2999-01-01").await;
    assert_contains(page.text(), &["Users’ wallets", "¥123.45", "journal.csv%3Ffrom%3D2000-01-01%26to%3D2999-01-01"]);
    assert!(admin.get("/admin/orders/books?lang=zh").await.text().contains("账目"));
    assert!(admin.get("/admin/orders?lang=en").await.text().contains("/admin/orders/books?lang=en"));
    let viewer = shop.staff(&admin, "gus", Role::Viewer).await;
    assert!(!viewer.get("/admin/orders?lang=en").await.text().contains("/admin/orders/books"));
}
