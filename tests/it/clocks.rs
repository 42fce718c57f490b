//! Hosts whose clocks are wrong: the database's clock decides. The skewed roles run in the test's own process, against
//! the services of a shop.

mod stack {
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::{Config, Source, variable};
    use engine::health::{ClockOffset, watch_clock};
    use seckill::app::Services;
    use tokio::task::JoinHandle;
    use tokio_util::sync::CancellationToken;

    use crate::support::{NewSale, Plan, Rung, Settings, Shop, eventually, on_database};

    const TIMEOUT: Duration = Duration::from_secs(30);
    const THIRTY_ONE_MINUTES: Duration = Duration::from_secs(31 * 60);

    fn ahead(by: Duration) -> Clock {
        Clock::manual(Clock::system().now() + by)
    }

    fn behind(by: Duration) -> Clock {
        Clock::manual(Clock::system().now() - by)
    }

    async fn services(settings: &Settings, clock: Clock) -> Services {
        let given = |name: &str| settings.get(&variable(name)).cloned();
        let config = Config::read(&Source::new(given, |_| None, toml::Table::new()).unwrap()).unwrap();
        Services::build_with(&config, clock).await.unwrap()
    }

    /// Runs data control with this clock.
    async fn control(shop: &Shop, clock: Clock) -> JoinHandle<()> {
        let services = services(shop.processes[0].settings(), clock).await;
        tokio::spawn(async move {
            let stop = CancellationToken::new();
            let control = services.control().run(stop.clone());
            tokio::join!(services.follow(stop), control).1.unwrap();
        })
    }

    /// Runs a consumer with this clock.
    async fn consumer(shop: &Shop, clock: Clock) -> JoinHandle<()> {
        let services = services(shop.processes[0].settings(), clock).await;
        tokio::spawn(async move {
            let stop = CancellationToken::new();
            let consumer = services.consumer().unwrap().run(stop.clone());
            tokio::join!(services.follow(stop), consumer).1.unwrap();
        })
    }

    async fn orders_stay_unpaid(shop: &Shop) {
        let sale = shop.open(NewSale::of(5)).await;
        let shopper = shop.shopper(1);
        let order = shopper.buy_one(&sale).await;
        let seen = shopper.wait_for_status(&sale, &order, "unpaid").await;
        let pay_by: jiff::Timestamp = seen["pay_by"].as_str().unwrap().parse().unwrap();
        let minutes = pay_by.duration_since(Clock::system().now()).as_mins();
        assert!((25..=31).contains(&minutes), "{minutes} minutes to pay, of 30");
        // An order that is really overdue is cancelled, so the expiry has looked at the other one too.
        let late = shop.shopper(2).buy_one(&sale).await;
        shop.shopper(2).wait_for_status(&sale, &late, "unpaid").await;
        on_database(shop, &format!("UPDATE orders SET pay_by_ms = 1 WHERE id = '{late}'")).await;
        shop.shopper(2).wait_for_status(&sale, &late, "cancelled").await;
        assert_eq!(shopper.order(&sale, &order).await.expect(200).json()["order"]["status"], "unpaid");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn consumer_whose_clock_is_half_an_hour_behind_leaves_shoppers_their_time_to_pay() {
        let shop = Plan::on(Rung::Redis).await.roles(&["serve", "control"]).start().await;
        let skewed = consumer(&shop, behind(THIRTY_ONE_MINUTES)).await;
        orders_stay_unpaid(&shop).await;
        skewed.abort();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn control_whose_clock_is_half_an_hour_ahead_cancels_only_what_is_overdue() {
        let shop = Plan::on(Rung::Redis).await.roles(&["serve", "consume"]).start().await;
        let skewed = control(&shop, ahead(THIRTY_ONE_MINUTES)).await;
        orders_stay_unpaid(&shop).await;
        skewed.abort();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn host_whose_clock_is_off_says_so_in_its_metrics() {
        let shop = Plan::on(Rung::Postgres).await.start().await;
        let skewed = services(shop.processes[0].settings(), ahead(Duration::from_secs(600))).await;
        let offset = ClockOffset::measure(&skewed.store, &skewed.clock).await.unwrap();
        assert!(offset.is_too_large() && (590.0..610.0).contains(&offset.seconds), "{offset:?}");
        let (store, clock, metrics) = (skewed.store.clone(), skewed.clock.clone(), skewed.metrics.clone());
        let watch = tokio::spawn(watch_clock(store, clock, metrics, CancellationToken::new()));
        eventually("the metric shows the offset", TIMEOUT, async || {
            let text = skewed.metrics.encode();
            let value = text.lines().find_map(|line| line.strip_prefix("seckill_clock_offset_seconds "));
            let seconds: f64 = value.and_then(|value| value.parse().ok()).unwrap_or_default();
            if (590.0..610.0).contains(&seconds) { Ok(()) } else { Err(text) }
        })
        .await;
        watch.abort();
        let right = services(shop.processes[0].settings(), Clock::system()).await;
        assert!(!ClockOffset::measure(&right.store, &right.clock).await.unwrap().is_too_large());
        let doctor = shop.run(&["doctor"]).await;
        let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(text.contains("ok    clock"), "{text}");
    }

    /// The lease must not contain a time that only its holder's host has reached.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn lease_of_a_control_whose_clock_was_ahead_is_taken_over_within_seconds() {
        let shop = Plan::on(Rung::Redis).await.roles(&["serve", "consume"]).start().await;
        let skewed = control(&shop, ahead(Duration::from_secs(600))).await;
        let sale = shop.open(NewSale::of(5)).await;
        // The role dies without giving the lease back.
        skewed.abort();
        let successor = control(&shop, Clock::system()).await;
        let late = shop.shopper(1).buy_one(&sale).await;
        shop.shopper(1).wait_for_status(&sale, &late, "unpaid").await;
        on_database(&shop, &format!("UPDATE orders SET pay_by_ms = 1 WHERE id = '{late}'")).await;
        eventually("the successor works", TIMEOUT, async || {
            let order = shop.shopper(1).order(&sale, &late).await.expect(200).text();
            if order.contains("\"cancelled\"") { Ok(()) } else { Err(order) }
        })
        .await;
        successor.abort();
    }
}
