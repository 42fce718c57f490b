//! The schema: migrations run once and keep existing data; constraints guard the shop's promises.

use sqlx::{AnyConnection, Connection};
use store::Store;

const USER: &str = "0198c0de-0000-7000-8000-000000000001";

async fn execute(connection: &mut AnyConnection, sql: &str) -> sqlx::Result<u64> {
    Ok(sqlx::query(sqlx::AssertSqlSafe(sql)).execute(connection).await?.rows_affected())
}

/// A row of `orders` with this id, user and status.
fn order(id: u32, user: &str, status: &str) -> String {
    format!(
        "INSERT INTO orders (id, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms, created_at_ms,
         pay_by_ms) VALUES ('order-{id}', 1, '{user}', 1, 100, 'CNY', '{status}', 1, 1, 1)"
    )
}

/// Goods, a sale of ten units of which nine are sold, and one live order.
async fn fill(connection: &mut AnyConnection) {
    for sql in [
        "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, updated_at_ms)
         VALUES (1, '手机', 'Phone', '', '', 1)",
        "INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, state, version, created_at_ms)
         VALUES (1, 1, 100, 'CNY', 10, 9, 1, 'live', 1, 1)",
        &order(1, USER, "unpaid"),
    ] {
        assert_eq!(execute(connection, sql).await.unwrap(), 1);
    }
}

#[track_caller]
fn assert_refused(outcome: sqlx::Result<u64>, what: &str) {
    let Err(sqlx::Error::Database(error)) = outcome else { panic!("{what} was accepted: {outcome:?}") };
    let kind = error.kind();
    let by_constraint =
        matches!(kind, sqlx::error::ErrorKind::CheckViolation | sqlx::error::ErrorKind::UniqueViolation);
    assert!(by_constraint || format!("{error}").contains("constraint"), "{what}: {error}");
}

async fn constraints_guard_sales_and_orders(connection: &mut AnyConnection) {
    let too_many = execute(connection, "UPDATE sales SET sold = 11 WHERE id = 1").await;
    assert_refused(too_many, "selling more than the total");
    assert_refused(execute(connection, "UPDATE sales SET total = 8 WHERE id = 1").await, "a total below what is sold");
    assert_refused(execute(connection, "UPDATE sales SET sold = -1 WHERE id = 1").await, "selling less than nothing");
    assert_refused(execute(connection, "UPDATE sales SET state = 'odd' WHERE id = 1").await, "an unknown state");
    for status in ["unpaid", "paid"] {
        assert_refused(execute(connection, &order(2, USER, status)).await, "a second live order of a user");
    }
    assert_refused(execute(connection, &order(3, "another-user", "lost")).await, "an unknown status");
    assert_refused(execute(connection, &order(1, "another-user", "unpaid")).await, "an order twice");
    // Orders that have ended do not block a new one.
    assert_eq!(execute(connection, &order(4, USER, "cancelled")).await.unwrap(), 1);
    assert_eq!(execute(connection, &order(5, USER, "rejected")).await.unwrap(), 1);
    assert_eq!(execute(connection, "UPDATE orders SET status = 'cancelled' WHERE id = 'order-1'").await.unwrap(), 1);
    assert_eq!(execute(connection, &order(6, USER, "unpaid")).await.unwrap(), 1);
    assert_eq!(execute(connection, "UPDATE sales SET sold = 10 WHERE id = 1").await.unwrap(), 1);
}

/// No statement can make a packet give away more than its total.
async fn constraints_guard_packets(connection: &mut AnyConnection) {
    let claim = |share: i64, user: &str, amount: i64| {
        format!(
            "INSERT INTO packet_claims (packet_id, share, user_id, amount, claimed_at_ms)
             VALUES (9, {share}, '{user}', {amount}, 1)"
        )
    };
    let packet = |id: u32, total: i64, count: i64, least: i64| {
        format!(
            "INSERT INTO packets (id, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms, buckets,
             state, created_at_ms) VALUES ({id}, {total}, {count}, {least}, 9, 'equal', '', 1, 1, 2, 1, 'open', 1)"
        )
    };
    assert_eq!(execute(connection, &packet(9, 10, 2, 1)).await.unwrap(), 1);
    assert_refused(execute(connection, &packet(10, 10, 0, 1)).await, "no shares");
    assert_refused(execute(connection, &packet(10, 10, 11, 1)).await, "more shares than units");
    assert_refused(execute(connection, &packet(10, 10, 2, 0)).await, "shares of nothing");
    assert_refused(execute(connection, "UPDATE packets SET claimed = 3 WHERE id = 9").await, "more claims than shares");
    assert_refused(
        execute(connection, "UPDATE packets SET claimed_amount = 11 WHERE id = 9").await,
        "more than was given",
    );
    assert_refused(execute(connection, "UPDATE packets SET state = 'odd' WHERE id = 9").await, "an unknown state");
    assert_eq!(execute(connection, &claim(0, USER, 5)).await.unwrap(), 1);
    assert_refused(execute(connection, &claim(0, "another-user", 5)).await, "a share twice");
    assert_refused(execute(connection, &claim(1, USER, 5)).await, "a second share of a user");
    assert_refused(execute(connection, &claim(1, "another-user", 0)).await, "a claim on nothing");
    assert_eq!(execute(connection, &claim(1, "another-user", 5)).await.unwrap(), 1);
}

async fn schema_is_created_once_and_guards_its_data(url: &str) {
    let store = Store::open(url).unwrap();
    store.migrate().await.unwrap();
    let mut connection = AnyConnection::connect(url).await.unwrap();
    fill(&mut connection).await;
    // Migrates again and concurrently, as when processes start together.
    let again = (0..4).map(async |_| Store::open(url).unwrap().migrate().await);
    for migrated in futures::future::join_all(again).await {
        migrated.unwrap();
    }
    assert_eq!(store.sales().list().await.unwrap()[0].sold, 9);
    constraints_guard_sales_and_orders(&mut connection).await;
    constraints_guard_packets(&mut connection).await;
}

/// Processes start together on an empty database. One migrates, the others wait.
async fn processes_that_start_together_migrate_once(url: &str) {
    let stores: Vec<Store> = (0..4).map(|_| Store::open(url).unwrap()).collect();
    for migrated in futures::future::join_all(stores.iter().map(Store::migrate)).await {
        migrated.unwrap();
    }
    assert_eq!(stores[0].sales().revision().await.unwrap(), 1);
}

/// A database with the migrations below `version`.
async fn before_version(version: u32, url: &str) -> (Store, AnyConnection) {
    let store = Store::open(url).unwrap();
    // Creates the file of an SQLite database.
    store.ping().await.unwrap();
    let past = tempfile::tempdir().unwrap();
    let all = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    for entry in std::fs::read_dir(all).unwrap().map(Result::unwrap) {
        let number: u32 = entry.file_name().to_str().unwrap()[..4].parse().unwrap();
        if number < version {
            std::fs::copy(entry.path(), past.path().join(entry.file_name())).unwrap();
        }
    }
    let migrator = sqlx::migrate::Migrator::new(past.path()).await.unwrap();
    migrator.run(&mut AnyConnection::connect(url).await.unwrap()).await.unwrap();
    (store, AnyConnection::connect(url).await.unwrap())
}

async fn single_picture_becomes_the_first_of_the_gallery(url: &str) {
    let upload = format!("u-{}.png", "0f".repeat(32));
    let (store, mut connection) = before_version(3, url).await;
    for (id, image) in [(1, "phone.svg"), (2, ""), (3, upload.as_str()), (4, "phone.svg")] {
        let sql = format!(
            "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, image, updated_at_ms)
             VALUES ({id}, '手机', 'Phone', '', '', '{image}', 1)"
        );
        assert_eq!(execute(&mut connection, &sql).await.unwrap(), 1);
    }
    drop(connection);
    store.migrate().await.unwrap();
    let goods = store.goods().list().await.unwrap();
    let covers: Vec<_> = goods.iter().map(|goods| goods.cover().map(|picture| picture.name.as_str())).collect();
    assert_eq!(covers, [Some("phone.svg"), None, Some(upload.as_str()), Some("phone.svg")]);
    assert!(goods.iter().all(|goods| goods.pictures.len() <= 1 && !goods.is_archived()));
    let cover = goods[2].cover().unwrap();
    assert_eq!((cover.file(), cover.has_copies()), (upload.clone(), false), "the file is unchanged");
}

/// Sales that have not begun get a seed at once, so that its commitment is public before they open.
async fn planned_sale_gets_the_seed_of_its_spread(url: &str) {
    let (store, mut connection) = before_version(39, url).await;
    fill(&mut connection).await;
    for (id, state) in [(2, "draft"), (3, "scheduled"), (4, "ended")] {
        let sql = format!(
            "INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, state, version, created_at_ms,
             spread_ms) VALUES ({id}, 1, 100, 'CNY', 10, 0, 1, '{state}', 1, 1, 60000)"
        );
        assert_eq!(execute(&mut connection, &sql).await.unwrap(), 1);
    }
    store.migrate().await.unwrap();
    let mut sales = store.sales().list().await.unwrap();
    sales.sort_by_key(|sale| sale.id);
    assert_eq!(sales.iter().map(|sale| sale.rush.spread_ms).collect::<Vec<_>>(), [600, 60_000, 60_000, 60_000]);
    assert_eq!(sales.iter().map(|sale| sale.spread_seed.is_some()).collect::<Vec<_>>(), [false, true, true, false]);
    assert_ne!(sales[1].spread_seed, sales[2].spread_seed);
    assert_eq!(execute(&mut connection, "UPDATE sales SET spread_ms = 600000 WHERE id = 2").await.unwrap(), 1);
    assert_refused(
        execute(&mut connection, "UPDATE sales SET spread_ms = 600001 WHERE id = 2").await,
        "a longer spread",
    );
    assert_refused(execute(&mut connection, "UPDATE sales SET spread_ms = -1 WHERE id = 2").await, "a negative spread");
}

/// Every account may take part in a sale of an earlier version.
async fn sale_of_an_earlier_version_has_no_rules(url: &str) {
    let (store, mut connection) = before_version(45, url).await;
    fill(&mut connection).await;
    store.migrate().await.unwrap();
    let sales = store.sales().list().await.unwrap();
    assert!(!sales.is_empty() && sales.iter().all(|sale| sale.eligibility.are_none()));
    let group = |user: &str| {
        format!(
            "INSERT INTO sale_groups (sale_id, kind, digest, user_id, claimed_at_ms)
             VALUES ({}, 'address', 'x', '{user}', 1)",
            sales[0].id
        )
    };
    assert_eq!(execute(&mut connection, &group("first")).await.unwrap(), 1);
    assert_refused(execute(&mut connection, &group("second")).await, "a second account of a group");
    let code = |hash: &str, revoked: &str| {
        format!(
            "INSERT INTO invitations (sale_id, hash, batch, user_id, redeemed_at_ms, revoked_at_ms)
             VALUES ({}, '{hash}', 1, 'first', 1, {revoked})",
            sales[0].id
        )
    };
    for (hash, revoked) in [("a", "NULL"), ("b", "2")] {
        assert_eq!(execute(&mut connection, &code(hash, revoked)).await.unwrap(), 1);
    }
    assert_refused(execute(&mut connection, &code("c", "NULL")).await, "a second code of an account");
}

/// Existing messages keep their values. From this migration on, messages may belong to no account.
async fn messages_of_accounts_stay_theirs(url: &str) {
    let (store, mut connection) = before_version(57, url).await;
    let message = |id: &str, user: &str| {
        format!(
            "INSERT INTO mails (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms, state, attempts,
             next_attempt_at_ms, ended_at_ms, error) VALUES ('{id}', {user}, 'mei@shop.example', 'zh', 'recovery',
             '{{\"number\":7}}', 1, 4, 'dead', 3, 2, 5, 'refused')"
        )
    };
    let user = format!(
        "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms)
         VALUES ('{USER}', 'mei', 'mei', '', 'user', 1)"
    );
    for sql in [user, message("a", &format!("'{USER}'"))] {
        assert_eq!(execute(&mut connection, &sql).await.unwrap(), 1);
    }
    store.migrate().await.unwrap();
    let kept = store.mail().mails(None, 9).await.unwrap().remove(0);
    assert_eq!((kept.user_id.unwrap().to_string().as_str(), kept.username.as_deref()), (USER, Some("mei")));
    assert_eq!((kept.recipient.as_str(), kept.facts["number"].as_i64()), ("mei@shop.example", Some(7)));
    assert_eq!((kept.attempts, kept.error.as_deref(), kept.state.as_str()), (3, Some("refused"), "dead"));
    assert_eq!(execute(&mut connection, &message("b", "NULL")).await.unwrap(), 1);
    assert_eq!(store.mail().mails(None, 9).await.unwrap()[0].username, None);
    assert_refused(execute(&mut connection, &message("c", "'unknown'")).await, "a message of an unknown account");
}

/// The column with the kinds is created again.
async fn wallet_transfers_keep_their_kinds_and_get_two_more(url: &str) {
    let (store, mut connection) = before_version(59, url).await;
    for (id, kind) in [("topup:1", "topup"), ("pay:1", "pay"), ("giveup:1", "giveup")] {
        let sql =
            format!("INSERT INTO wallet_transfers (id, kind, reference, at_ms) VALUES ('{id}', '{kind}', '1', 1)");
        assert_eq!(execute(&mut connection, &sql).await.unwrap(), 1);
        let entry = format!(
            "INSERT INTO wallet_entries (transfer_id, account, amount, at_ms) VALUES ('{id}', 'user:{USER}', 5, 1)"
        );
        assert_eq!(execute(&mut connection, &entry).await.unwrap(), 1);
    }
    store.migrate().await.unwrap();
    for kind in ["topup", "pay", "giveup"] {
        let kept = format!("UPDATE wallet_transfers SET at_ms = 2 WHERE id = '{kind}:1' AND kind = '{kind}'");
        assert_eq!(execute(&mut connection, &kept).await.unwrap(), 1, "{kind}");
    }
    let insert = |kind: &str| {
        format!("INSERT INTO wallet_transfers (id, kind, reference, at_ms) VALUES ('{kind}:2', '{kind}', '1', 1)")
    };
    for kind in ["deposit", "deposit_return", "claim"] {
        assert_eq!(execute(&mut connection, &insert(kind)).await.unwrap(), 1, "{kind}");
    }
    assert_refused(execute(&mut connection, &insert("gift")).await, "an unknown kind");
    let orphan = "INSERT INTO wallet_entries (transfer_id, account, amount, at_ms) VALUES ('gone', 'shop', 5, 1)";
    assert_refused(execute(&mut connection, orphan).await, "an entry without a transfer");
}

mod sqlite {
    database_tests! {
        sqlite, migrations:
        schema_is_created_once_and_guards_its_data,
        single_picture_becomes_the_first_of_the_gallery,
        planned_sale_gets_the_seed_of_its_spread,
        sale_of_an_earlier_version_has_no_rules,
        messages_of_accounts_stay_theirs,
        wallet_transfers_keep_their_kinds_and_get_two_more,
    }
}

mod stack {
    mod postgres {
        database_tests! {
            postgres_without_schema, migrations:
            schema_is_created_once_and_guards_its_data,
            single_picture_becomes_the_first_of_the_gallery,
            planned_sale_gets_the_seed_of_its_spread,
            sale_of_an_earlier_version_has_no_rules,
            messages_of_accounts_stay_theirs,
            wallet_transfers_keep_their_kinds_and_get_two_more,
            processes_that_start_together_migrate_once,
        }
    }
}
