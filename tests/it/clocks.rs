//! Hosts whose clocks are wrong: the database's clock decides. The skewed roles run in the test's own process, against
//! the services of a shop.

mod stack {
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::{Config, Source, variable};
    use seckill::app::Services;
    use tokio::task::JoinHandle;
    use tokio_util::sync::CancellationToken;

    use crate::support::{
        NewSale, Plan, Rung, Settings, Shop, Shopper, eventually, on_database, pause, set_clock, until,
    };

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
            let consumer = services.pipeline().consumer().unwrap().run(stop.clone());
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
        let late = shop.shopper(2).unpaid_order(&sale).await;
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
        let (health, metrics) = (skewed.health.clone(), skewed.metrics.clone());
        let problem = async || health.clock_problem();
        let passing = tokio::spawn({
            let clock = skewed.clock.clone();
            async move {
                loop {
                    pause(100).await;
                    clock.advance(Duration::from_millis(100));
                }
            }
        });
        let follow = tokio::spawn({
            let health = health.clone();
            async move { health.follow_clock(metrics, CancellationToken::new()).await }
        });
        eventually("the metric shows the offset", TIMEOUT, async || {
            let text = skewed.metrics.encode();
            let value = text.lines().find_map(|line| line.strip_prefix("seckill_clock_offset_seconds "));
            let seconds: f64 = value.and_then(|value| value.parse().ok()).unwrap_or_default();
            if (590.0..610.0).contains(&seconds) { Ok(()) } else { Err(text) }
        })
        .await;
        assert_eq!(problem().await, None, "the clock is wrong by as much as it is known to be");
        skewed.clock.advance(Duration::from_secs(60));
        eventually("a jump of the clock is named", TIMEOUT, async || problem().await.ok_or("no problem".to_owned()))
            .await;
        eventually("the clock is followed again", TIMEOUT, async || problem().await.map_or(Ok(()), Err)).await;
        follow.abort();
        passing.abort();
        let doctor = shop.run(&["doctor"]).await;
        let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(text.contains("ok    clock"), "{text}");
    }

    /// One server's clock is half a minute ahead, the other's half a minute behind.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn servers_whose_clocks_are_wrong_sell_when_the_master_does() {
        let plan = Plan::on(Rung::Redis).await.roles(&["serve", "serve", "consume", "control"]);
        let plan = plan.each_process(|n, role, settings| {
            if role == "serve" {
                set_clock(settings, [30, -30][n]);
            }
        });
        let shop = plan.start().await;
        let soon = NewSale::of(5).opens_in(Duration::from_secs(5)).closes_in(Duration::from_secs(16));
        let sale = shop.create(soon).await;
        shop.wait_for_phase(&sale, "upcoming").await;
        shop.wait_for_phase(&sale, "open").await;
        for n in 0..2 {
            let shopper = Shopper::new(shop.shopper(n as u64 + 1).client.at(n));
            shopper.buy_one(&sale).await;
        }
        shop.wait_for_phase(&sale, "ended").await;
        shop.wait_for_sold(&sale, 2, TIMEOUT).await;
    }

    /// The server follows the master's clock to the millisecond, which the moments of accounts need.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn server_whose_clock_is_ahead_lets_nobody_through_a_spread_early() {
        let plan = Plan::on(Rung::Redis).await.roles(&["serve", "consume", "control"]);
        let shop = plan.each_process(|_, role, settings| {
            if role == "serve" {
                set_clock(settings, 30);
            }
        });
        crate::contract::selling::nobody_buys_early(&shop.start().await).await;
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
        let late = shop.shopper(1).unpaid_order(&sale).await;
        on_database(&shop, &format!("UPDATE orders SET pay_by_ms = 1 WHERE id = '{late}'")).await;
        let read = async || shop.shopper(1).order(&sale, &late).await.expect(200).text();
        until("the successor works", TIMEOUT, read, |order| order.contains("\"cancelled\"")).await;
        successor.abort();
    }
}
