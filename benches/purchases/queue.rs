//! Waiting rooms, measured against the purchase and the button of the same run.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use seckill::clock::Clock;
use seckill::control::queues::Queues;
use seckill::control::sales_admin::SaleCommand;
use seckill::domain::draw::EntryId;
use seckill::domain::{Bilingual, Currency, Money, QueuePlan, Rush, SaleId, SaleMode, UserId, Window};
use seckill::store::{GoodsDraft, JoinOutcome, Joining, SaleDraft, Store};
use uuid::Uuid;

use super::shop::Shop;
use super::wrk::{Load, write_requests, wrk};
use super::{Plan, print_ratio};

const WAITING: usize = 1_000_000;
/// Requests for places of one transaction, as a loaded process makes them.
const BATCH: usize = 256;
const UNITS: i64 = 100;
/// Long enough to let a million in.
const OPENS_IN: Duration = Duration::from_secs(3600);

/// Places taken over HTTP, and the line.
pub async fn joins_and_line(shop: &Shop, dir: &Path, connections: u32, plan: &Plan) -> anyhow::Result<()> {
    let (config, shoppers) = (&shop.services.config, plan.shoppers());
    let (mut joins, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        // One sale at a time: the shop goes on following the winners of one that is open.
        let rush = shop.open_sale(shoppers as i64).await?;
        let buy = dir.join("buy");
        write_requests(&shop.purchases(rush, shoppers)?, &buy)?;
        let below = wrk(config, Load { requests: &buy, expected: 202 }, dir, connections, plan.seconds)?;
        shop.stop_sale(rush).await?;
        let (queue, join) = (queue_sale(shop).await?, dir.join("join"));
        let place = format!("/api/sales/{queue}/place");
        write_requests(&shop.posts_of(&place, shoppers, |_| Ok("{}".to_owned()))?, &join)?;
        let above = wrk(config, Load { requests: &join, expected: 201 }, dir, connections, plan.seconds)?;
        joins.push((above, below));
        let mut rates = Vec::new();
        for name in ["line", "button"] {
            let request = format!("GET /api/sales/{queue}/{name} HTTP/1.1\r\nHost: {}\r\n\r\n", config.web.listen);
            std::fs::write(dir.join(name), format!("{}\n{request}", request.len()).repeat(1000))?;
            let load = Load { requests: &dir.join(name), expected: 200 };
            rates.push(wrk(config, load, dir, connections, plan.seconds)?);
        }
        lines.push((rates[0], rates[1]));
        shop.stop_sale(queue).await?;
    }
    print_ratio(connections, "places taken", "accepted purchases", joins);
    print_ratio(connections, "line", "button", lines);
    Ok(())
}

/// A million places, and the steps of data control with them. Its own process does the same work meanwhile, so a step counts
/// only if it found something to do.
pub async fn a_million_wait(shop: &Shop) -> anyhow::Result<()> {
    let (store, metrics) = (&shop.services.store, shop.services.metrics.clone());
    let sale = queue_sale(shop).await?;
    let began = Instant::now();
    stream::iter(0..WAITING / BATCH).map(|_| Ok(join(store, sale))).try_buffer_unordered(2).try_collect::<()>().await?;
    let took = began.elapsed().as_secs_f64();
    println!("{WAITING} places taken in {took:.1} s: {:.0}/s", WAITING as f64 / took);
    shop.services.sales_admin().change(sale, SaleCommand::Start, "bench").await?;
    let control = Queues::new(store.clone(), metrics);
    let mut steps = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        control.step().await?;
        steps.push(began.elapsed().as_secs_f64() * 1_000.0);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let queue = store.queue(sale).await?.context("the queue")?;
    ensure!(queue.called == UNITS, "{} were called", queue.called);
    let first = steps[..3].iter().copied().fold(0.0, f64::max);
    let mut later = steps.split_off(3);
    later.sort_by(f64::total_cmp);
    println!("a step of data control: {first:.0} ms for the lock, then {:.1} ms (median)", later[later.len() / 2]);
    let waiting = shop.services.waiting_rooms.clone();
    shop.services.catalogue.refresh().await?;
    let began = Instant::now();
    waiting.refresh().await?;
    let body = waiting.line_body(sale).context("the line")?;
    println!("the line: {} bytes, read in {:.1} ms", body.len(), began.elapsed().as_secs_f64() * 1_000.0);
    Ok(())
}

/// Announces a sale with a waiting room that shoppers may join at once.
async fn queue_sale(shop: &Shop) -> anyhow::Result<SaleId> {
    let text = Bilingual::new("压测", "Benchmark");
    let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
    let sales_admin = shop.services.sales_admin();
    let goods = sales_admin.put_goods(None, draft, "bench").await?.context("goods")?;
    let draft = SaleDraft {
        goods_id: goods.id,
        price: Money::new(100, Currency::CNY),
        list_price: None,
        total: UNITS,
        per_user_limit: 1,
        window: Window { opens_at: Some(Clock::system().now() + OPENS_IN), closes_at: None },
        rush: Rush::default(),
        mode: SaleMode::Queue(QueuePlan { prequeue_s: 24 * 3600, gather_s: 0, seat_s: 3_600 }),
        eligibility: Default::default(),
    };
    let sale = sales_admin.create_sale(draft, "bench").await?;
    // Every process follows within a second, and reads the line within another.
    tokio::time::sleep(Duration::from_secs(3)).await;
    Ok(sale.id)
}

async fn join(store: &Store, sale: SaleId) -> anyhow::Result<()> {
    let user = || UserId(Uuid::new_v4());
    let batch: Vec<Joining> = (0..BATCH)
        .map(|_| Joining { user_id: user(), entry: EntryId::new(Uuid::new_v4().into_bytes()), signed: None })
        .collect();
    let outcomes = store.join_queue(sale, &batch).await?;
    ensure!(outcomes.iter().all(|outcome| matches!(outcome, JoinOutcome::Joined { is_new: true, .. })), "not joined");
    Ok(())
}
