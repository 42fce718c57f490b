//! The chance of scripts and of people on waitlists, in a real shop: scripts join at once and press on, people join after
//! 2 to 12 seconds.

mod stack {
    use std::time::Duration;

    use domain::{SaleId, WaiterState};
    use futures::future::join_all;
    use rand::RngExt;
    use serde_json::json;

    use crate::support::{NewSale, Plan, Rung, eventually, pause, user_id};

    const TIMEOUT: Duration = Duration::from_secs(120);
    const SALES: u64 = 40;
    const UNITS: u64 = 10;
    /// Accounts of each of the two groups that wait for units of a sale.
    const GROUP: u64 = 25;
    /// When everybody has joined, but the first segment may still run.
    const ALL_JOINED_MS: u64 = 12_500;

    /// The n-th account that has to do with a sale: first its buyers, then scripts, then people.
    fn number(sale: u64, n: u64) -> u64 {
        sale * 1_000 + n
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn scripts_and_people_on_a_waitlist_have_the_same_chance() {
        let shop = Plan::on(Rung::Rabbit).await.set("SECKILL_USER_RATE", "1000").start().await;
        let mut sales: Vec<String> = Vec::new();
        for _ in 0..SALES {
            sales.push(shop.open(NewSale::of(UNITS as i64)).await);
        }
        let serve = async |n: u64, sale: &str| {
            let buyers: Vec<_> = (0..UNITS).map(|buyer| shop.shopper(number(n, buyer))).collect();
            let orders = join_all(buyers.iter().map(async |buyer| {
                let order = eventually("the unit is bought", TIMEOUT, async || {
                    let answer = buyer.try_buy(sale, 1).await?;
                    if answer.status == 202 { Ok(answer.order_id()) } else { Err(answer.text()) }
                })
                .await;
                buyer.wait_for_status(sale, &order, "unpaid").await;
                order
            }));
            let orders = orders.await;
            shop.wait_for_phase(sale, "sold_out").await;
            let join = async |account: u64, presses: u64, after: u64| {
                let shopper = shop.shopper(number(n, UNITS + account));
                pause(after).await;
                for _ in 0..presses {
                    let joined = shopper.client.post(&format!("/api/sales/{sale}/waitlist"), json!({})).await;
                    assert!(matches!(joined.status, 200 | 201), "{}", joined.text());
                    pause(if presses > 1 { ALL_JOINED_MS / presses } else { 0 }).await;
                }
            };
            let scripts = join_all((0..GROUP).map(|script| join(script, 5, 0)));
            let people = join_all((GROUP..2 * GROUP).map(|person| {
                let after = rand::rng().random_range(2_000..12_000);
                join(person, 1, after)
            }));
            tokio::join!(scripts, people);
            for (buyer, order) in buyers.iter().zip(orders) {
                buyer.cancel(sale, &order).await.expect(200);
            }
        };
        join_all(sales.iter().zip(1..).map(|(sale, n)| serve(n, sale))).await;

        let store = shop.store();
        let (mut scripts, mut people) = (0, 0);
        for (sale, n) in sales.iter().zip(1..) {
            let id = SaleId(sale.parse().unwrap());
            let offered = eventually("every unit is offered", TIMEOUT, async || {
                let mut offered = Vec::new();
                for account in 0..2 * GROUP {
                    let user = user_id(number(n, UNITS + account));
                    let waiter = store.waitlists().waiter(id, user).await.map_err(|error| error.to_string())?;
                    offered.extend(waiter.filter(|it| it.state == WaiterState::Offered).map(|_| account));
                }
                if offered.len() as u64 == UNITS { Ok(offered) } else { Err(format!("{} are", offered.len())) }
            })
            .await;
            let of_scripts = offered.iter().filter(|account| **account < GROUP).count();
            scripts += of_scripts;
            people += offered.len() - of_scripts;
        }
        let (tries, ratio) = ((SALES * GROUP) as f64, scripts as f64 / people as f64);
        let part = |wins: usize| 1.0 / wins as f64 - 1.0 / tries;
        let error = (part(scripts) + part(people)).sqrt();
        let factor = (1.96 * error).exp();
        println!(
            "| {}, {0}, {UNITS} | waitlist of a shop on rung 3, people join after 2 to 12 s, {SALES} sales | at once | \
             {ratio:.2} | {:.2} to {:.2} | {scripts}, {people} |",
            GROUP,
            ratio / factor,
            ratio * factor
        );
        // By chance alone the ratio is beyond this once in 16,000 runs.
        assert!(ratio.ln().abs() < 4.0 * error, "scripts have {ratio:.2} times the chance of people");
    }
}
