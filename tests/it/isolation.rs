//! If one sale, order or payment is in trouble, no other is delayed.

mod stack {
    use std::time::Duration;

    use axum::http::Method;
    use serde_json::json;
    use sqlx::postgres::PgConnection;
    use sqlx::{AssertSqlSafe, Connection, Row};

    use crate::support::{NewSale, OtherShop, Plan, Rung, Shop, eventually, manage, on_database, sessions, until};

    const TIMEOUT: Duration = Duration::from_secs(30);

    async fn connect(shop: &Shop) -> PgConnection {
        PgConnection::connect(shop.setting("SECKILL_DATABASE_URL")).await.unwrap()
    }

    /// Locks a sale's row until the connection ends, as a stuck process does.
    async fn lock(shop: &Shop, sale: &str) -> PgConnection {
        let mut connection = connect(shop).await;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.unwrap();
        let lock = format!("UPDATE sales SET sold = sold WHERE id = {sale}");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut connection).await.unwrap();
        connection
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_have_the_name_of_their_process_at_postgres_redis_and_rabbitmq() {
        let shop = Plan::on(Rung::Rabbit).await.start().await;
        let mut watch = connect(&shop).await;
        let named = "application_name LIKE 'seckill/%:%@%'";
        assert!(sessions(&mut watch, named).await > 0);
        assert_eq!(sessions(&mut watch, &format!("NOT {named}")).await, 0);
        let mut redis = shop.redis().await;
        let mut ask = redis::cmd("CLIENT");
        let list: String = ask.arg("LIST").arg("TYPE").arg("normal").query_async(&mut redis).await.unwrap();
        let database = format!(" db={} ", shop.setting("SECKILL_REDIS_URL").rsplit('/').next().unwrap());
        let own: Vec<&str> =
            list.lines().filter(|line| line.contains(&database) && !line.contains("cmd=client")).collect();
        assert!(!own.is_empty() && own.iter().all(|line| line.contains(" name=seckill/")), "{list}");
        let vhost = shop.setting("SECKILL_AMQP_URL").rsplit('/').next().unwrap().to_owned();
        eventually("RabbitMQ lists the connections", TIMEOUT, async || {
            let listed = manage(Method::GET, &format!("/api/vhosts/{vhost}/connections"), "").await.json();
            let connections = listed.as_array().cloned().unwrap_or_default();
            let is_named = |of: &serde_json::Value| {
                of["client_properties"]["connection_name"].as_str().is_some_and(|name| name.contains("(seckill/"))
            };
            if !connections.is_empty() && connections.iter().all(is_named) { Ok(()) } else { Err(listed.to_string()) }
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn locked_sale_delays_neither_orders_nor_expiry_nor_schedule_of_another() {
        for rung in [Rung::Redis, Rung::Rabbit] {
            let shop = Plan::on(rung).await.start().await;
            let locked = shop.create(NewSale::of(9).closes_in(Duration::from_secs(6))).await;
            shop.change_sale_state(&locked, "start").await;
            let other = shop.open(NewSale::of(9)).await;
            let late = shop.shopper(1).unpaid_order(&other).await;
            let stuck = shop.shopper(2).unpaid_order(&locked).await;
            let due = shop.create(NewSale::of(9).opens_in(Duration::from_secs(8))).await;

            let mut lock = lock(&shop, &locked).await;
            let waiting = shop.shopper(3).buy_one(&locked).await;
            shop.shopper(4).unpaid_order(&other).await;
            let expire = format!("UPDATE orders SET pay_by_ms = 1 WHERE id IN ('{late}', '{stuck}')");
            on_database(&shop, &expire).await;
            shop.shopper(1).wait_for_status(&other, &late, "cancelled").await;
            // The locked sale is overdue to close by then.
            shop.wait_for_phase(&due, "open").await;
            shop.shopper(5).unpaid_order(&other).await;
            assert_eq!(
                shop.shopper(3).order(&locked, &waiting).await.expect(200).json()["order"]["status"],
                "reserved"
            );

            sqlx::raw_sql("ROLLBACK").execute(&mut lock).await.unwrap();
            eventually("the locked sale's orders go on", TIMEOUT, async || {
                let [waiting, stuck] = [
                    shop.shopper(3).order(&locked, &waiting).await.expect(200).text(),
                    shop.shopper(2).order(&locked, &stuck).await.expect(200).text(),
                ];
                let done = waiting.contains("\"unpaid\"") && stuck.contains("\"cancelled\"");
                if done { Ok(()) } else { Err(waiting + &stuck) }
            })
            .await;
            shop.wait_for_phase(&locked, "ended").await;
        }
    }

    /// The broker sends a consumer 64 messages that are not acknowledged, and nothing more.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn locked_sale_with_more_messages_than_a_consumer_takes_delays_no_other() {
        const ORDERS: u64 = 80;
        let shop = Plan::on(Rung::Rabbit).await.start().await;
        let (locked, other) = (shop.open(NewSale::of(ORDERS as i64)).await, shop.open(NewSale::of(9)).await);
        let mut lock = lock(&shop, &locked).await;
        // One after the other, so that each is a message.
        for n in 0..ORDERS {
            shop.shopper(n).buy_one(&locked).await;
        }
        for n in 0..3 {
            shop.shopper(n).unpaid_order(&other).await;
        }
        assert_eq!(shop.numbers(&locked).await["sold"], 0);
        sqlx::raw_sql("ROLLBACK").execute(&mut lock).await.unwrap();
        shop.wait_for_sold(&locked, ORDERS as i64, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    /// A confirmation that waits for a lock began before the time of its reservation was over. The one after it is refused.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn refused_confirmation_stays_refused_although_an_earlier_one_waits() {
        let (shop, sale) = Shop::selling(Rung::Postgres, NewSale::of(9)).await;
        let other = OtherShop::of(&shop).await;
        other.ask(Method::POST, "/api/v1/shoppers", &json!({"id": "4711"})).await.unwrap().expect(201);
        let path = format!("/api/v1/sales/{sale}/reservations");
        let units = json!({"shopper": "4711", "quantity": 1});
        let made = other.ask(Method::POST, &path, &units).await.unwrap().expect(201).json();
        let id = made["reservation"]["id"].as_str().unwrap();
        let path = format!("{path}/{id}");
        let read = async || other.ask(Method::GET, &path, &json!({})).await.unwrap().expect(200).json();
        let confirm = async || {
            let order = json!({"reference": "order 1"});
            other.ask(Method::POST, &format!("{path}/confirm"), &order).await.unwrap()
        };

        const NOW: &str = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT";
        on_database(&shop, &format!("UPDATE orders SET pay_by_ms = {NOW} + 3000 WHERE id = '{id}'")).await;
        let (mut held, mut watch) = (connect(&shop).await, connect(&shop).await);
        let lock = format!("BEGIN; UPDATE orders SET quantity = quantity WHERE id = '{id}'");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut held).await.unwrap();
        let late = async {
            let waits = "wait_event_type = 'Lock' AND query LIKE '%paid%'";
            let waiting = async || sessions(&mut watch, waits).await;
            until("the first one waits for the lock", TIMEOUT, waiting, |waiting| *waiting > 0).await;
            let is_over = format!("SELECT COUNT(*) FROM orders WHERE id = '{id}' AND pay_by_ms < {NOW}");
            let over = async || {
                let row = sqlx::raw_sql(AssertSqlSafe(is_over.clone())).fetch_one(&mut watch).await.unwrap();
                row.get::<i64, _>(0)
            };
            until("its time is over", TIMEOUT, over, |over| *over == 1).await;
            let told = (read().await["reservation"]["status"].clone(), confirm().await);
            sqlx::raw_sql("ROLLBACK").execute(&mut held).await.unwrap();
            told
        };
        let (early, (status, refused)) = tokio::join!(confirm(), late);
        let end = read().await["reservation"]["status"].clone();
        let told_expired = status == "expired" || refused.code() == "reservation_expired";
        assert!(!told_expired || end != "confirmed", "{status}, {} and then {end}", refused.text());
        assert_eq!(early.status == 200, end == "confirmed", "{} and then {end}", early.text());
        shop.audit_is_clean().await;
    }

    /// A process that the system suspends keeps its connection, and without a time limit also its locks.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn consumer_that_is_frozen_in_a_transaction_loses_its_locks() {
        let roles = ["serve", "control", "consume", "consume"];
        let mut shop = Plan::on(Rung::Redis).await.roles(&roles).start().await;
        shop.process("consume", 1).kill();
        let (one, two) = (shop.open(NewSale::of(9)).await, shop.open(NewSale::of(9)).await);
        let other = shop.open(NewSale::of(9)).await;
        let mut watch = connect(&shop).await;
        // Both sales in one transaction, which then waits for the lock.
        let mut held = lock(&shop, &one).await;
        shop.process("consume", 0).signal("STOP");
        let first = shop.shopper(1).buy_one(&one).await;
        let second = shop.shopper(2).buy_one(&two).await;
        shop.process("consume", 0).signal("CONT");
        let waits = "state = 'active' AND wait_event_type = 'Lock' AND query LIKE '%sales%'";
        let read = async || sessions(&mut watch, waits).await;
        until("the consumer waits for the lock", TIMEOUT, read, |waiting| *waiting > 0).await;
        shop.process("consume", 0).signal("STOP");
        sqlx::raw_sql("ROLLBACK").execute(&mut held).await.unwrap();
        shop.process("consume", 1).start();
        shop.shopper(3).unpaid_order(&other).await;
        let first_order = shop.shopper(1).order(&one, &first).await.expect(200).text();
        assert!(first_order.contains("\"reserved\""), "another sale does not wait for the locks: {first_order}");
        shop.change_sale_state(&one, "pause").await;
        shop.change_sale_state(&two, "pause").await;
        for (shopper, sale, order) in [(1, &one, &first), (2, &two, &second)] {
            let read = async || shop.shopper(shopper).order(sale, order).await.expect(200).text();
            until("the other consumer takes the order over", TIMEOUT, read, |order| order.contains("\"unpaid\"")).await;
        }
        shop.process("consume", 0).signal("CONT");
        shop.audit_is_clean().await;
    }

    /// Releases can never be carried out in a sale that is over, and not now in a sale that is not loaded.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn releases_of_a_sale_without_keys_hold_up_no_other_sale() {
        let (shop, sale) = Shop::selling(Rung::Redis, NewSale::of(1)).await;
        let (retired, draft) = (shop.create(NewSale::of(1)).await, shop.create(NewSale::of(1)).await);
        let retire =
            format!("UPDATE sales SET state = 'ended', closes_at_ms = 1, retired_at_ms = 1 WHERE id = {retired}");
        on_database(&shop, &retire).await;
        for (n, gone) in [&retired, &draft].into_iter().enumerate() {
            // These releases are older than any other.
            let late = format!(
                "INSERT INTO releases (order_id, sale_id, user_id, quantity)
                 SELECT '00000000-0000-7000-8{n}00-' || LPAD(n::text, 12, '0'), {gone}, '00000000-0000-7000-8000-000000000001', 1
                 FROM generate_series(1, 520) AS n"
            );
            on_database(&shop, &late).await;
        }
        let order = shop.shopper(1).unpaid_order(&sale).await;
        on_database(&shop, &format!("UPDATE orders SET pay_by_ms = 1 WHERE id = '{order}'")).await;
        let next = shop.shopper(2);
        until("the unit returns", TIMEOUT, async || next.buy(&sale, 1).await, |answer| answer.status == 202).await;
        let mut watch = connect(&shop).await;
        eventually("releases of the retired sale are gone", TIMEOUT, async || {
            let sql = format!("SELECT COUNT(*) FROM releases WHERE sale_id = {retired}");
            let left: i64 = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut watch).await.unwrap().get(0);
            if left == 0 { Ok(()) } else { Err(left.to_string()) }
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn refused_refund_stops_neither_refunds_nor_webhooks() {
        let (shop, sale) = Shop::selling(Rung::Redis, NewSale::of(9)).await;
        let mut orders = Vec::new();
        for n in 1..=3 {
            let order = shop.shopper(n).unpaid_order(&sale).await;
            orders.push(order);
        }
        // The provider has not captured this payment, so it refuses to refund it.
        let refused = "00000000-0000-7000-8000-000000000001";
        on_database(
            &shop,
            &format!(
                "INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms)
                   VALUES ('{refused}', '{}', 'sandbox', 1999, 'CNY', 'refund_pending', 1);
                 INSERT INTO sandbox_payments (id, amount, currency, return_path, status)
                   VALUES ('{refused}', 1999, 'CNY', '/', 'open')",
                orders[0]
            ),
        )
        .await;
        // The shop has no report about this payment yet.
        let checkout = shop.shopper(2).begin_payment(&sale, &orders[1]).await;
        let payment = checkout.rsplit('/').next().unwrap();
        let body = json!({"type": "payment.captured", "data": {"payment_id": payment}});
        on_database(
            &shop,
            &format!(
                "UPDATE sandbox_payments SET status = 'captured' WHERE id = '{payment}';
                 INSERT INTO sandbox_webhooks (id, body, next_at_ms) VALUES ('msg_late', '{body}', 1)"
            ),
        )
        .await;
        shop.shopper(2).wait_for_status(&sale, &orders[1], "paid").await;
        shop.shopper(3).pay(&sale, &orders[2]).await;
        let refund = format!("/api/admin/orders/{}/refund", orders[2]);
        shop.admin().await.post(&refund, json!({"reason": "broken"})).await.expect(200);
        shop.shopper(3).wait_for_status(&sale, &orders[2], "refunded").await;
    }
}
