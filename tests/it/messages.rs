//! What RabbitMQ may do to messages: deliver them twice, in any order, and with unreadable content.

mod stack {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use axum::http::Method;
    use engine::pipeline::message::{KINDS, ORDER, ORDER_V1};
    use engine::pipeline::rabbit::{DEAD_LETTER_QUEUE, EXCHANGE, ORDER_QUEUE};
    use lapin::options::{BasicAckOptions, ExchangeDeleteOptions, QueueDeleteOptions};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use redis::streams::StreamRangeReply;
    use serde_json::{Value, json};

    use crate::support::{Broker, NewSale, Plan, Rung, Shop, all_become, manage, order_count, pause, seed};

    const TIMEOUT: Duration = Duration::from_secs(20);
    const ROLES: [&str; 4] = ["serve", "relay", "consume", "control"];

    fn json_of(body: &[u8]) -> Value {
        serde_json::from_slice(body).unwrap()
    }

    /// The orders of a message, each in the message that earlier versions sent for it.
    fn split(body: &[u8]) -> Vec<Vec<u8>> {
        let body = json_of(body);
        let single = |order: &Value| {
            let mut single = order.clone();
            single["sale_id"] = body["sale_id"].clone();
            single["reserved_at"] = body["reserved_at"].clone();
            single.to_string().into_bytes()
        };
        body["orders"].as_array().unwrap().iter().map(single).collect()
    }

    #[tokio::test]
    async fn one_message_carries_the_orders_of_one_outbox_entry() {
        const ORDERS: usize = 60;
        let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(ORDERS as i64)).await;
        shop.process("consume", 0).kill();
        let orders = shop.all_buy(&sale, 0..ORDERS as u64).await;
        let mut master = shop.redis().await;
        let mut range = redis::cmd("XRANGE");
        range.arg(format!("goods{{{sale}}}:outbox")).arg("-").arg("+");
        let entries: StreamRangeReply = range.query_async(&mut master).await.unwrap();
        // A message that was published again has the same id.
        let broker = Broker::of(&shop).await;
        let messages = broker.take(ORDERS).await;
        let by_id: BTreeMap<String, _> =
            messages.iter().map(|m| (m.properties.message_id().clone().unwrap().to_string(), m)).collect();
        let ids: BTreeSet<String> = entries.ids.iter().map(|entry| format!("{sale}:{}", entry.id)).collect();
        assert_eq!(by_id.keys().cloned().collect::<BTreeSet<_>>(), ids);
        assert!(ids.len() < ORDERS, "concurrent purchases share an entry");

        let mut found = BTreeSet::new();
        for (id, message) in by_id {
            let (properties, body) = (&message.properties, json_of(&message.data));
            assert_eq!(properties.kind().clone().unwrap().as_str(), "order.reserved.v2");
            assert_eq!((message.routing_key.as_str(), *properties.delivery_mode()), ("order.reserved", Some(2)));
            assert_eq!(properties.content_type().clone().unwrap().as_str(), "application/json");
            assert_eq!((&body["sale_id"], &body["bucket"]), (&json!(sale), &json!(sale)));
            assert_eq!(format!("{sale}:{}", body["entry"].as_str().unwrap()), id);
            let at: jiff::Timestamp = body["reserved_at"].as_str().unwrap().parse().unwrap();
            assert_eq!(*properties.timestamp(), Some(at.as_second() as u64));
            let lines = body["orders"].as_array().unwrap();
            assert_eq!(lines.len(), order_count(message));
            for line in lines {
                assert_eq!(line["quantity"], 1);
                assert!(line["user_id"].is_string(), "{line}");
                found.insert(line["order_id"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(found, orders.iter().map(|(_, order)| order.clone()).collect());
    }

    #[tokio::test]
    async fn messages_of_earlier_versions_become_orders() {
        const ORDERS: usize = 20;
        let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(ORDERS as i64)).await;
        shop.process("consume", 0).kill();
        let orders = shop.all_buy(&sale, 0..ORDERS as u64).await;
        let broker = Broker::of(&shop).await;
        let messages = broker.take(ORDERS).await;
        // Nothing else brings the orders to the database: their messages are gone, and no process publishes them again.
        shop.process("relay", 0).kill();
        broker.channel.basic_ack(0, BasicAckOptions { multiple: true }).await.unwrap();
        broker.channel.queue_purge(ORDER_QUEUE.into(), Default::default()).await.unwrap();
        for single in messages.iter().flat_map(|message| split(&message.data)) {
            broker.publish("order.reserved.v1", &single).await;
        }
        shop.process("consume", 0).start();
        all_become(&orders, &sale, "unpaid").await;
        broker.holds(DEAD_LETTER_QUEUE, 0).await;
        shop.process("relay", 0).start();
        shop.wait_for_sold(&sale, ORDERS as i64, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn duplicate_and_reordered_messages_count_once() {
        const ORDERS: usize = 50;
        let mut random = StdRng::seed_from_u64(seed());
        let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(ORDERS as i64)).await;
        shop.process("consume", 0).kill();
        let orders = shop.all_buy(&sale, 0..ORDERS as u64).await;
        let broker = Broker::of(&shop).await;
        let originals = broker.take(ORDERS).await;
        let mut copies: Vec<(&str, Vec<u8>)> = Vec::new();
        for body in originals.iter().map(|message| &message.data) {
            copies.extend([(ORDER.name, body.clone()), (ORDER.name, body.clone())]);
            copies.extend(split(body).into_iter().map(|single| (ORDER_V1.name, single)));
        }
        copies.shuffle(&mut random);
        let (early, late) = copies.split_at(copies.len() * 3 / 4);
        for (kind, body) in early {
            broker.publish(kind, body).await;
        }
        broker.requeue().await;
        shop.process("consume", 0).start();
        all_become(&orders, &sale, "unpaid").await;
        // The rest of the copies, after all orders are stored.
        for (kind, body) in late {
            broker.publish(kind, body).await;
        }
        broker.holds(ORDER_QUEUE, 0).await;
        broker.holds(DEAD_LETTER_QUEUE, 0).await;
        shop.wait_for_sold(&sale, ORDERS as i64, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn late_copy_of_a_cancelled_order_changes_nothing() {
        let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(1)).await;
        shop.process("consume", 0).kill();
        let (one, two) = (shop.shopper(1), shop.shopper(2));
        let first = one.buy_one(&sale).await;
        let broker = Broker::of(&shop).await;
        let copy = broker.take(1).await.remove(0).data;
        broker.requeue().await;
        shop.process("consume", 0).start();
        one.wait_for_status(&sale, &first, "unpaid").await;
        one.cancel(&sale, &first).await.expect(200);

        // The unit is on sale again, is sold to another user, and then to the first one again. The copy always comes
        // too late.
        for buyer in [&two, &one] {
            shop.wait_for_phase(&sale, "open").await;
            broker.publish(ORDER.name, &copy).await;
            broker.holds(ORDER_QUEUE, 0).await;
            let again = buyer.buy_one(&sale).await;
            broker.publish(ORDER.name, &copy).await;
            broker.holds(ORDER_QUEUE, 0).await;
            buyer.wait_for_status(&sale, &again, "unpaid").await;
            one.wait_for_status(&sale, &first, "cancelled").await;
            // Enough time to wrongly release the units.
            pause(1_500).await;
            assert_eq!(buyer.buy(&sale, 1).await.expect(200).order_id(), again);
            if std::ptr::eq(buyer, &two) {
                two.cancel(&sale, &again).await.expect(200);
            }
        }
        shop.wait_for_sold(&sale, 1, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    /// An order stays in the outbox until it is in the database, so the queues can be filled again.
    #[tokio::test]
    async fn broker_that_lost_its_queues_is_refilled() {
        let (mut shop, sale) = Plan::on(Rung::Rabbit).await.roles(&ROLES).open(NewSale::of(20)).await;
        shop.process("consume", 0).kill();
        let orders = shop.all_buy(&sale, 0..20).await;
        let broker = Broker::of(&shop).await;
        broker.take(20).await;
        for queue in [ORDER_QUEUE, DEAD_LETTER_QUEUE] {
            broker.channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await.unwrap();
        }
        broker.channel.exchange_delete(EXCHANGE.into(), ExchangeDeleteOptions::default()).await.unwrap();
        shop.process("consume", 0).start();
        all_become(&orders, &sale, "unpaid").await;
        shop.wait_for_sold(&sale, 20, TIMEOUT).await;
        shop.audit_is_clean().await;
    }

    #[tokio::test]
    async fn exchange_and_queues_have_their_documented_names_and_are_left_without_an_error() {
        let mut shop = Shop::start(Rung::Rabbit).await;
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
        shop.processes[0].terminate();
        assert!(shop.processes[0].ended(TIMEOUT).await.success());
        let log = shop.processes[0].log();
        assert!(!log.contains("ERROR"), "{log}");
    }
}
