//! The outbox in Redis, read by the consumer on rung 2 and by the relay on rung 3.

mod stack {
    use std::time::Duration;

    use redis::AsyncCommands;
    use redis::aio::MultiplexedConnection;
    use seckill::domain::Bucket;
    use seckill::redis::keys;

    use crate::support::{Crowd, NewSale, Plan, Rung, Shop, pause};

    const SOON: Duration = Duration::from_secs(30);

    async fn master(shop: &Shop) -> MultiplexedConnection {
        let client = redis::Client::open(shop.setting("SECKILL_REDIS_URL")).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_a_dead_consumer_had_in_hand_is_taken_over() {
        let mut shop = Plan::on(Rung::Redis).await.apart().start().await;
        let sale = shop.open(NewSale::of(200)).await;
        let mut crowd = Crowd::new(&sale);
        crowd.arrive(&shop, 150, Duration::from_millis(1_500));
        for n in 0..4 {
            pause(300).await;
            shop.process("consume", n % 2).kill();
            // One of them comes back, the other leaves what it had in hand to it.
            if n != 3 {
                shop.process("consume", n % 2).start();
            }
        }
        crowd.arrive(&shop, 150, Duration::from_millis(500));
        crowd.served().await;
        assert_eq!(crowd.winners(), 200, "{:?}", crowd.refusals());
        shop.has_sold(&sale, 200, SOON).await;
        for outcome in crowd.outcomes() {
            for order in &outcome.orders {
                outcome.shopper.sees(&sale, order, "unpaid").await;
            }
        }
        shop.audit_is_clean().await;
    }

    async fn poison_is_set_aside(rung: Rung) {
        let shop = Shop::start(rung).await;
        let sale = shop.open(NewSale::of(10)).await;
        let id = sale.parse().map(seckill::domain::SaleId).unwrap();
        let mut master = master(&shop).await;
        let poison: [&[(&str, &str)]; 4] = [
            &[("at", "soon"), ("orders", "x")],
            &[("nothing", "")],
            &[("at", "1700000000000"), ("orders", "not three words")],
            &[("orders", "\u{0}")],
        ];
        let mut crowd = Crowd::new(&sale);
        for fields in poison {
            let _: String = master.xadd(keys::outbox(Bucket::whole(id)), "*", fields).await.unwrap();
            crowd.arrive(&shop, 3, Duration::ZERO);
            crowd.served().await;
        }
        assert_eq!(crowd.winners(), 10);
        shop.has_sold(&sale, 10, SOON).await;
        shop.audit_is_clean().await;
        let dead: i64 = master.xlen(keys::dead(Bucket::whole(id))).await.unwrap();
        assert_eq!(dead, poison.len() as i64);
    }

    #[tokio::test]
    async fn an_entry_that_nobody_can_read_is_set_aside_by_the_consumer() {
        poison_is_set_aside(Rung::Redis).await;
    }

    #[tokio::test]
    async fn an_entry_that_nobody_can_read_is_set_aside_by_the_relay() {
        poison_is_set_aside(Rung::Rabbit).await;
    }
}
