//! Dead letters: messages and single orders that can never be persisted delay no other orders, and operators decide
//! about them.

mod stack {
    use std::time::Duration;

    use engine::pipeline::message::{ORDER, ORDER_V1, SHARE_V1};
    use engine::pipeline::rabbit::{DEAD_LETTER_QUEUE, ORDER_QUEUE};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use serde_json::{Value, json};

    use crate::support::{Broker, NewSale, Plan, Rung, all_become, eventually, on_database, order_count, seed};

    const TIMEOUT: Duration = Duration::from_secs(20);
    const ROLES: [&str; 4] = ["serve", "relay", "consume", "control"];

    #[tokio::test]
    async fn unreadable_messages_become_dead_letters_and_orders_continue() {
        let mut random = StdRng::seed_from_u64(seed());
        let (shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(30)).await;
        let broker = Broker::of(&shop).await;
        let id = |n: u8| format!("0198c0de-0000-7000-8000-0000000000{n:02}");
        let order = |sale: &str, quantity: i64| {
            let at = "2026-11-21T12:00:00Z";
            json!({"order_id": id(1), "user_id": id(2), "sale_id": sale, "quantity": quantity, "reserved_at": at})
        };
        let orders = |sale: &str, quantities: &[i64]| -> Vec<u8> {
            let order = |quantity| json!({"order_id": id(1), "user_id": id(2), "quantity": quantity});
            let orders: Vec<Value> = quantities.iter().map(order).collect();
            let at = "2026-11-21T12:00:00Z";
            let message = json!({"sale_id": sale, "bucket": sale, "entry": "1-0", "reserved_at": at, "orders": orders});
            message.to_string().into()
        };
        let share = |packet: &str, amount: i64| {
            let at = "2026-11-21T12:00:00Z";
            json!({"packet_id": packet, "user_id": id(2), "share": 0, "amount": amount, "claimed_at": at})
        };
        let mut poison: Vec<(&str, Vec<u8>)> = vec![
            (ORDER.name, b"not JSON".to_vec()),
            (ORDER.name, Vec::new()),
            (ORDER.name, b"{}".to_vec()),
            (ORDER.name, orders(&sale, &[])),
            (ORDER.name, orders(&sale, &[1, 0])),
            (ORDER.name, orders("424242", &[1, 1])),
            (ORDER_V1.name, b"not JSON".to_vec()),
            (ORDER_V1.name, order(&sale, 0).to_string().into()),
            (ORDER_V1.name, order(&sale, -1).to_string().into()),
            (ORDER_V1.name, order("424242", 1).to_string().into()),
            (ORDER_V1.name, order("0", 1).to_string().into()),
            (SHARE_V1.name, order(&sale, 1).to_string().into()),
            (SHARE_V1.name, share("424242", 1).to_string().into()),
            (SHARE_V1.name, share("424242", 0).to_string().into()),
            (ORDER_V1.name, share("424242", 1).to_string().into()),
            ("order.reserved.v9", order(&sale, 1).to_string().into()),
            (ORDER.name, order(&sale, 1).to_string().into()),
            ("", order(&sale, 1).to_string().into()),
        ];
        poison.push((ORDER.name, (0..5_000).map(|_| random.random::<u8>()).collect()));
        let (before, after) = poison.split_at(poison.len() / 2);
        for (kind, body) in before {
            broker.publish(kind, body).await;
        }
        let orders = shop.all_buy(&sale, 0..30).await;
        for (kind, body) in after {
            broker.publish(kind, body).await;
        }
        all_become(&orders, &sale, "unpaid").await;
        broker.holds(DEAD_LETTER_QUEUE, poison.len() as u32).await;
        broker.holds(ORDER_QUEUE, 0).await;
        shop.wait_for_sold(&sale, 30, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn dead_letters_are_listed_replayed_and_discarded() {
        let (shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(5)).await;
        let (broker, admin) = (Broker::of(&shop).await, shop.admin().await);
        let letters = async || admin.get("/api/admin/dead-letters").await.expect(200).json()["letters"].clone();
        let settle = async |action: &str, body| admin.post(&format!("/api/admin/dead-letters/{action}"), body).await;
        assert_eq!(letters().await, json!([]));
        broker.publish("order.reserved.v9", b"from the future").await;
        for _ in 0..2 {
            broker.publish(ORDER.name, b"not JSON").await;
        }
        broker.holds(DEAD_LETTER_QUEUE, 3).await;

        // Listing does not remove them.
        for _ in 0..25 {
            assert_eq!(letters().await.as_array().unwrap().len(), 3);
        }
        broker.holds(DEAD_LETTER_QUEUE, 3).await;
        let found = letters().await;
        let future = found.as_array().unwrap().iter().find(|letter| letter["content"] == "from the future").unwrap();
        assert_eq!((&future["message_type"], &future["reason"]), (&json!("order.reserved.v9"), &json!("rejected")));
        assert!(future["at"].is_string() && future["place"]["kind"] == "queue", "{future}");

        // A replayed message that is still unreadable becomes a dead letter again.
        assert_eq!(settle("replay", json!({"all": true})).await.expect(200).json(), json!({"settled": 3}));
        broker.holds(ORDER_QUEUE, 0).await;
        broker.holds(DEAD_LETTER_QUEUE, 3).await;
        let doctor = shop.run(&["doctor"]).await;
        let report = String::from_utf8_lossy(&doctor.stdout);
        assert!(report.contains("FAIL  rabbitmq: 3 dead letters wait"), "{report}");

        let id = &future["id"];
        assert_eq!(settle("discard", json!({"id": id})).await.expect(200).json(), json!({"settled": 1}));
        broker.holds(DEAD_LETTER_QUEUE, 2).await;
        settle("discard", json!({"id": id})).await.expect_problem(404, "not_found");
        let log = admin.get("/api/admin/audit-log").await.expect(200).json();
        let entry = &log["entries"][0];
        assert_eq!((&entry["action"], &entry["before"]["content"]), (&json!("discard"), &json!("from the future")));

        // Purchases go on at the same time.
        let orders = shop.all_buy(&sale, 0..5).await;
        all_become(&orders, &sale, "unpaid").await;
    }

    /// The other orders of its message are persisted, and the letter names the bad one.
    #[tokio::test]
    async fn order_that_the_database_refuses_becomes_a_dead_letter_of_its_own() {
        const ORDERS: usize = 40;
        let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(ORDERS as i64)).await;
        shop.process("consume", 0).kill();
        let mut orders = shop.all_buy(&sale, 0..ORDERS as u64).await;
        let broker = Broker::of(&shop).await;
        let messages = broker.take(ORDERS).await;
        let largest = messages.iter().max_by_key(|message| order_count(message)).unwrap();
        assert!(order_count(largest) > 1, "concurrent purchases share a message");
        let body: Value = serde_json::from_slice(&largest.data).unwrap();
        let refused = body["orders"][0]["order_id"].as_str().unwrap().to_owned();
        on_database(&shop, &format!("ALTER TABLE orders ADD CONSTRAINT refused CHECK (id <> '{refused}')")).await;
        broker.requeue().await;
        shop.process("consume", 0).start();
        let bad = orders.remove(orders.iter().position(|(_, order)| *order == refused).unwrap());
        all_become(&orders, &sale, "unpaid").await;
        assert_eq!(bad.0.order(&sale, &refused).await.expect(200).json()["order"]["status"], "reserved");

        let admin = shop.admin().await;
        let letters = eventually("there is a dead letter", TIMEOUT, async || {
            let found = admin.get("/api/admin/dead-letters").await.expect(200).json()["letters"].take();
            if found == json!([]) { Err("none".into()) } else { Ok(found) }
        })
        .await;
        // The sweep publishes the entry again from time to time, and each time there is another letter with the same
        // content.
        for letter in letters.as_array().unwrap() {
            assert_eq!(letter["items"], json!([refused]), "{letter}");
            assert_eq!((&letter["message_id"], &letter["reason"]), (&json!(refused), &json!("refused")));
            assert_eq!(letter["id"], letters[0]["id"]);
        }
        let page = admin.get("/admin/system?lang=en").await.expect(200);
        assert!(page.text().contains("Orders or claims: 1"), "{}", page.text());

        // Once the database accepts the order, a replay is enough, however often it is made.
        on_database(&shop, "ALTER TABLE orders DROP CONSTRAINT refused").await;
        for _ in 0..2 {
            admin.post("/api/admin/dead-letters/replay", json!({"all": true})).await.expect(200);
        }
        bad.0.wait_for_status(&sale, &refused, "unpaid").await;
        broker.holds(ORDER_QUEUE, 0).await;
        broker.holds(DEAD_LETTER_QUEUE, 0).await;
        shop.wait_for_sold(&sale, ORDERS as i64, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn dead_letter_of_a_whole_message_lists_its_orders() {
        let shop = Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await;
        let (broker, admin) = (Broker::of(&shop).await, shop.admin().await);
        let ids: Vec<String> = (1..=100).map(|n| format!("0198c0de-0000-7000-8000-000000000{n:03}")).collect();
        let orders: Vec<Value> = ids.iter().map(|id| json!({"order_id": id, "user_id": id, "quantity": 1})).collect();
        let at = "2026-11-21T12:00:00Z";
        let body =
            json!({"sale_id": "424242", "bucket": "424242", "entry": "1-0", "reserved_at": at, "orders": orders});
        broker.publish(ORDER.name, body.to_string().as_bytes()).await;
        broker.holds(DEAD_LETTER_QUEUE, 1).await;
        let letters = admin.get("/api/admin/dead-letters").await.expect(200).json()["letters"].take();
        assert_eq!((&letters[0]["items"], &letters[0]["reason"]), (&json!(ids), &json!("rejected")));
        let page = admin.get("/admin/system?lang=en").await.expect(200);
        assert!(page.text().contains("Orders or claims: 100") && page.text().contains(&ids[99]));
        // The content in the list is cut.
        assert!(
            letters[0]["size"].as_i64().unwrap() > 4096 && !letters[0]["content"].as_str().unwrap().contains(&ids[99])
        );
    }
}
