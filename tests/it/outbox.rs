//! The outbox in Redis. The consumer reads it on rung 2, the relay on rung 3.

mod stack {
    use std::time::Duration;

    use domain::{Bucket, SaleId};
    use engine::redis::keys;
    use redis::AsyncCommands;

    use crate::support::{Load, NewSale, Plan, Rung, Shop, pause, until};

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pending_entries_of_a_dead_consumer_are_taken_over() {
        let (mut shop, sale) = Plan::on(Rung::Redis).await.one_role_per_process().open(NewSale::of(200)).await;
        let mut load = Load::new(&sale);
        load.arrive(&shop, 150, Duration::from_millis(1_500));
        for n in 0..4 {
            pause(300).await;
            shop.process("consume", n % 2).kill();
            // The consumer that was killed last stays down, so the other one takes over its pending entries.
            if n != 3 {
                shop.process("consume", n % 2).start();
            }
        }
        load.serve(&shop, 150, Duration::from_millis(500)).await;
        assert_eq!(load.winners(), 200, "{:?}", load.refusals());
        shop.wait_for_sold(&sale, 200, TIMEOUT).await;
        for outcome in load.outcomes() {
            for order in &outcome.orders {
                outcome.shopper.wait_for_status(&sale, order, "unpaid").await;
            }
        }
        shop.audit_is_clean().await;
    }

    /// The consumer has read the entry and holds its order, and dies before the database takes it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn entry_outlives_a_consumer_that_dies_before_its_order_is_stored() {
        let mut plan = Plan::on(Rung::Redis).await.roles(&["serve", "consume", "control"]);
        let database = plan.through_proxy("SECKILL_DATABASE_URL");
        database.restore().await;
        let (mut shop, sale) = plan.open(NewSale::of(5)).await;
        // From here on the consumer knows the sale, which it would otherwise learn from the database.
        shop.shopper(1).unpaid_order(&sale).await;
        let shopper = shop.shopper(2);
        database.cut();
        let order = shopper.buy_one(&sale).await;
        let consumer = shop.process("consume", 0);
        let read = async || consumer.log();
        until("the consumer holds the order", TIMEOUT, read, |log| log.contains("does not take orders")).await;
        consumer.kill();
        // Reconciliation would find the hold without an order in the end. The entry must not need that.
        let outbox = keys::outbox(Bucket::whole(sale.parse().map(SaleId).unwrap()));
        let kept: i64 = shop.redis().await.xlen(outbox).await.unwrap();
        assert_eq!(kept, 1, "the entry stays until its order is stored");
        shop.process("consume", 0).start();
        database.restore().await;
        // A consumer takes over entries that another has left for ten seconds.
        let read = async || shopper.order(&sale, &order).await;
        until("the order is stored", TIMEOUT, read, |answer| answer.text().contains("\"unpaid\"")).await;
        shop.audit_is_clean().await;
    }

    async fn unreadable_entry_becomes_a_dead_letter(rung: Rung) {
        let (shop, sale) = Shop::selling(rung, NewSale::of(10)).await;
        let id = sale.parse().map(SaleId).unwrap();
        let mut master = shop.redis().await;
        let poison: [&[(&str, &str)]; 4] = [
            &[("at", "soon"), ("orders", "x")],
            &[("nothing", "")],
            &[("at", "1700000000000"), ("orders", "not three words")],
            &[("orders", "\u{0}")],
        ];
        let mut load = Load::new(&sale);
        for fields in poison {
            let _: String = master.xadd(keys::outbox(Bucket::whole(id)), "*", fields).await.unwrap();
            load.serve(&shop, 3, Duration::ZERO).await;
        }
        assert_eq!(load.winners(), 10);
        shop.wait_for_sold(&sale, 10, TIMEOUT).await;
        shop.audit_is_clean().await;
        let dead: i64 = master.xlen(keys::dead(Bucket::whole(id))).await.unwrap();
        assert_eq!(dead, poison.len() as i64);
    }

    cases! { unreadable_entry_becomes_a_dead_letter:
        consumer_sets_an_unreadable_entry_aside: Rung::Redis,
        relay_sets_an_unreadable_entry_aside: Rung::Rabbit,
    }

    /// The relay moves such an entry to the dead letters after it has published the others, and may die before that.
    #[tokio::test]
    async fn unreadable_entry_that_a_dead_relay_has_read_becomes_a_dead_letter() {
        let mut shop = Plan::on(Rung::Rabbit).await.roles(&["serve", "relay", "consume", "control"]).start().await;
        let sale = shop.open(NewSale::of(1)).await;
        shop.shopper(1).buy_one(&sale).await;
        shop.wait_for_sold(&sale, 1, TIMEOUT).await;
        shop.process("relay", 0).kill();
        let bucket = Bucket::whole(sale.parse().map(domain::SaleId).unwrap());
        let mut master = shop.redis().await;
        let poison = [("at", "soon"), ("orders", "x")];
        let id: String = master.xadd(keys::outbox(bucket), "*", &poison).await.unwrap();
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP").arg("relay").arg("dead").arg("STREAMS").arg(keys::outbox(bucket)).arg(">");
        let read: redis::streams::StreamReadReply = read.query_async(&mut master).await.unwrap();
        assert_eq!(read.keys[0].ids.last().unwrap().id, id);
        shop.process("relay", 0).start();
        let read = async || master.clone().xlen::<_, i64>(keys::dead(bucket)).await.unwrap();
        until("the entry is a dead letter", TIMEOUT, read, |dead| *dead == 1).await;
        shop.audit_is_clean().await;
    }
}
