//! What RabbitMQ may do to messages: deliver them twice, in any order, and with unreadable content.

mod stack {
    use std::time::Duration;

    use axum::http::Method;
    use futures::future::join_all;
    use lapin::message::Delivery;
    use lapin::options::{BasicGetOptions, BasicNackOptions, BasicPublishOptions, ExchangeDeleteOptions};
    use lapin::options::{QueueDeclareOptions, QueueDeleteOptions};
    use lapin::types::FieldTable;
    use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use seckill::pipeline::rabbit::{DEAD_LETTER_QUEUE, EXCHANGE, KINDS, ORDER, ORDER_QUEUE, SHARE};
    use serde_json::json;

    use crate::support::{NewSale, Plan, Rung, Shop, Shopper, eventually, manage, pause, seed};

    const MESSAGE_TYPE: &str = ORDER.name;
    const TIMEOUT: Duration = Duration::from_secs(20);
    const ROLES: [&str; 4] = ["serve", "relay", "consume", "control"];

    /// A connection of the test to the shop's RabbitMQ.
    struct Broker {
        channel: Channel,
        _connection: Connection,
    }

    impl Broker {
        async fn of(shop: &Shop) -> Broker {
            let url = shop.setting("SECKILL_AMQP_URL");
            let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
            Broker { channel: connection.create_channel().await.unwrap(), _connection: connection }
        }

        async fn holds(&self, queue: &str, messages: u32) {
            eventually(&format!("{queue} holds {messages}"), TIMEOUT, async || {
                let passive = QueueDeclareOptions { passive: true, ..Default::default() };
                let state = self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await.unwrap();
                let found = state.message_count();
                if found == messages { Ok(()) } else { Err(found.to_string()) }
            })
            .await;
        }

        /// Takes `count` messages out of the queue, without an acknowledgement.
        async fn take(&self, count: usize) -> Vec<Delivery> {
            let mut taken = Vec::new();
            while taken.len() < count {
                let got = self.channel.basic_get(ORDER_QUEUE.into(), BasicGetOptions::default()).await.unwrap();
                taken.push(got.expect("a message").delivery);
            }
            taken
        }

        async fn publish(&self, kind: &str, body: &[u8]) {
            let properties = BasicProperties::default().with_delivery_mode(2).with_type(kind.into());
            let options = BasicPublishOptions::default();
            let (exchange, key) = (EXCHANGE.into(), ORDER.key.into());
            self.channel.basic_publish(exchange, key, options, body, properties).await.unwrap().await.unwrap();
        }

        /// Returns everything that was taken.
        async fn requeue(&self) {
            let all = BasicNackOptions { multiple: true, requeue: true };
            self.channel.basic_nack(0, all).await.unwrap();
        }
    }

    async fn all_buy(shop: &Shop, sale: &str, count: u64) -> Vec<(Shopper, String)> {
        join_all((0..count).map(async |n| {
            let shopper = shop.shopper(n);
            let order = shopper.buy_one(sale).await;
            (shopper, order)
        }))
        .await
    }

    #[tokio::test]
    async fn duplicate_and_reordered_messages_count_once() {
        const ORDERS: usize = 50;
        let mut random = StdRng::seed_from_u64(seed());
        let mut shop = Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await;
        let sale = shop.open(NewSale::of(ORDERS as i64)).await;
        shop.process("consume", 0).kill();
        let orders = all_buy(&shop, &sale, ORDERS as u64).await;
        let broker = Broker::of(&shop).await;
        broker.holds(ORDER_QUEUE, ORDERS as u32).await;

        let originals = broker.take(ORDERS).await;
        let mut copies: Vec<&Delivery> = originals.iter().chain(&originals).collect();
        copies.shuffle(&mut random);
        for copy in &copies[..ORDERS + ORDERS / 2] {
            broker.publish(MESSAGE_TYPE, &copy.data).await;
        }
        broker.requeue().await;
        shop.process("consume", 0).start();
        for (shopper, order) in &orders {
            shopper.wait_for_status(&sale, order, "unpaid").await;
        }
        // The rest of the copies, after all orders are stored.
        for copy in &copies[ORDERS + ORDERS / 2..] {
            broker.publish(MESSAGE_TYPE, &copy.data).await;
        }
        broker.holds(ORDER_QUEUE, 0).await;
        broker.holds(DEAD_LETTER_QUEUE, 0).await;
        shop.wait_for_sold(&sale, ORDERS as i64, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn late_copy_of_a_cancelled_order_changes_nothing() {
        let mut shop = Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await;
        let sale = shop.open(NewSale::of(1)).await;
        shop.process("consume", 0).kill();
        let (one, two) = (shop.shopper(1), shop.shopper(2));
        let first = one.buy_one(&sale).await;
        let broker = Broker::of(&shop).await;
        broker.holds(ORDER_QUEUE, 1).await;
        let copy = broker.take(1).await.remove(0).data;
        broker.requeue().await;
        shop.process("consume", 0).start();
        one.wait_for_status(&sale, &first, "unpaid").await;
        one.cancel(&sale, &first).await.expect(200);

        // The unit is on sale again, then sold to another user, then to the first one again: the copy is always too late.
        for buyer in [&two, &one] {
            shop.wait_for_phase(&sale, "open").await;
            broker.publish(MESSAGE_TYPE, &copy).await;
            broker.holds(ORDER_QUEUE, 0).await;
            let again = buyer.buy_one(&sale).await;
            broker.publish(MESSAGE_TYPE, &copy).await;
            broker.holds(ORDER_QUEUE, 0).await;
            buyer.wait_for_status(&sale, &again, "unpaid").await;
            one.wait_for_status(&sale, &first, "cancelled").await;
            // Time in which the units would wrongly be released.
            pause(1_500).await;
            assert_eq!(buyer.buy(&sale, 1).await.expect(200).order_id(), again);
            if std::ptr::eq(buyer, &two) {
                two.cancel(&sale, &again).await.expect(200);
            }
        }
        shop.wait_for_sold(&sale, 1, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn unreadable_messages_become_dead_letters_and_orders_continue() {
        let mut random = StdRng::seed_from_u64(seed());
        let shop = Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await;
        let sale = shop.open(NewSale::of(30)).await;
        let broker = Broker::of(&shop).await;
        let id = |n: u8| format!("0198c0de-0000-7000-8000-0000000000{n:02}");
        let order = |sale: &str, quantity: i64| {
            let at = "2026-11-21T12:00:00Z";
            json!({"order_id": id(1), "user_id": id(2), "sale_id": sale, "quantity": quantity, "reserved_at": at})
        };
        let share = |packet: &str, amount: i64| {
            let at = "2026-11-21T12:00:00Z";
            json!({"packet_id": packet, "user_id": id(2), "share": 0, "amount": amount, "claimed_at": at})
        };
        let mut poison: Vec<(&str, Vec<u8>)> = vec![
            (MESSAGE_TYPE, b"not JSON".to_vec()),
            (MESSAGE_TYPE, Vec::new()),
            (MESSAGE_TYPE, b"{}".to_vec()),
            (MESSAGE_TYPE, order(&sale, 0).to_string().into()),
            (MESSAGE_TYPE, order(&sale, -1).to_string().into()),
            (MESSAGE_TYPE, order("424242", 1).to_string().into()),
            (MESSAGE_TYPE, order("0", 1).to_string().into()),
            (SHARE.name, order(&sale, 1).to_string().into()),
            (SHARE.name, share("424242", 1).to_string().into()),
            (SHARE.name, share("424242", 0).to_string().into()),
            (MESSAGE_TYPE, share("424242", 1).to_string().into()),
            ("order.reserved.v2", order(&sale, 1).to_string().into()),
            ("", order(&sale, 1).to_string().into()),
        ];
        poison.push((MESSAGE_TYPE, (0..5_000).map(|_| random.random::<u8>()).collect()));
        let (before, after) = poison.split_at(poison.len() / 2);
        for (kind, body) in before {
            broker.publish(kind, body).await;
        }
        let orders = all_buy(&shop, &sale, 30).await;
        for (kind, body) in after {
            broker.publish(kind, body).await;
        }
        for (shopper, order) in &orders {
            shopper.wait_for_status(&sale, order, "unpaid").await;
        }
        broker.holds(DEAD_LETTER_QUEUE, poison.len() as u32).await;
        broker.holds(ORDER_QUEUE, 0).await;
        shop.wait_for_sold(&sale, 30, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn dead_letters_are_listed_replayed_and_discarded() {
        let shop = Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await;
        let sale = shop.open(NewSale::of(5)).await;
        let (broker, admin) = (Broker::of(&shop).await, shop.admin().await);
        let letters = async || admin.get("/api/admin/dead-letters").await.expect(200).json()["letters"].clone();
        let settle = async |action: &str, body| admin.post(&format!("/api/admin/dead-letters/{action}"), body).await;
        assert_eq!(letters().await, json!([]));
        broker.publish("order.reserved.v2", b"from the future").await;
        for _ in 0..2 {
            broker.publish(MESSAGE_TYPE, b"not JSON").await;
        }
        broker.holds(DEAD_LETTER_QUEUE, 3).await;

        // Listing does not remove them.
        for _ in 0..25 {
            assert_eq!(letters().await.as_array().unwrap().len(), 3);
        }
        broker.holds(DEAD_LETTER_QUEUE, 3).await;
        let found = letters().await;
        let future = found.as_array().unwrap().iter().find(|letter| letter["content"] == "from the future").unwrap();
        assert_eq!((&future["message_type"], &future["reason"]), (&json!("order.reserved.v2"), &json!("rejected")));
        assert!(future["at"].is_string() && future["place"]["kind"] == "queue", "{future}");

        // A replayed message that is still unreadable becomes a dead letter again.
        assert_eq!(settle("replay", json!({"all": true})).await.expect(200).json(), json!({"settled": 3}));
        broker.holds(ORDER_QUEUE, 0).await;
        broker.holds(DEAD_LETTER_QUEUE, 3).await;

        let id = &future["id"];
        assert_eq!(settle("discard", json!({"id": id})).await.expect(200).json(), json!({"settled": 1}));
        broker.holds(DEAD_LETTER_QUEUE, 2).await;
        settle("discard", json!({"id": id})).await.expect_problem(404, "not_found");
        let log = admin.get("/api/admin/audit-log").await.expect(200).json();
        let entry = &log["entries"][0];
        assert_eq!((&entry["action"], &entry["before"]["content"]), (&json!("discard"), &json!("from the future")));

        // Purchases go on meanwhile.
        let orders = all_buy(&shop, &sale, 5).await;
        for (shopper, order) in &orders {
            shopper.wait_for_status(&sale, order, "unpaid").await;
        }
    }

    /// The outbox keeps an order until it is in the database, so the queues can be filled again.
    #[tokio::test]
    async fn broker_that_lost_its_queues_is_refilled() {
        let mut shop = Plan::on(Rung::Rabbit).await.roles(&ROLES).start().await;
        let sale = shop.open(NewSale::of(20)).await;
        shop.process("consume", 0).kill();
        let orders = all_buy(&shop, &sale, 20).await;
        let broker = Broker::of(&shop).await;
        broker.holds(ORDER_QUEUE, 20).await;
        for queue in [ORDER_QUEUE, DEAD_LETTER_QUEUE] {
            broker.channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await.unwrap();
        }
        broker.channel.exchange_delete(EXCHANGE.into(), ExchangeDeleteOptions::default()).await.unwrap();
        shop.process("consume", 0).start();
        for (shopper, order) in &orders {
            shopper.wait_for_status(&sale, order, "unpaid").await;
        }
        shop.wait_for_sold(&sale, 20, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn exchange_and_queues_have_their_documented_names() {
        let shop = Shop::start(Rung::Rabbit).await;
        let ask = async |what: &str| {
            let path = format!("/api/{what}").replace("VHOST", shop.vhost());
            manage(Method::GET, &path, "").await.expect(200).json()
        };
        assert_eq!(ask("exchanges/VHOST/seckill").await["type"], "topic");
        for queue in [ORDER_QUEUE, DEAD_LETTER_QUEUE] {
            let found = ask(&format!("queues/VHOST/{queue}")).await;
            assert_eq!((&found["durable"], &found["type"]), (&true.into(), &"quorum".into()), "{found}");
        }
        let bindings = ask("bindings/VHOST/e/seckill/q/seckill.orders").await;
        let mut keys: Vec<&str> =
            bindings.as_array().unwrap().iter().filter_map(|b| b["routing_key"].as_str()).collect();
        keys.sort_unstable();
        assert_eq!(keys, KINDS.map(|kind| kind.key));
    }
}
