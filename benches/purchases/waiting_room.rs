//! Waiting rooms, measured against the purchase and the button of the same run.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base::clock::Clock;
use control::sales_admin::SaleCommand;
use control::waiting_rooms::WaitingRoomSteps;
use domain::draw::EntryId;
use domain::{SaleId, SaleMode, UserId, WaitingRoomPlan, Window};
use engine::batching::Batch;
use engine::redis::connection::{self, RedisConnection};
use engine::waiting_rooms::places::{Gathered, Gathering};
use store::{Joining, SaleDraft, SaveOptions};
use uuid::Uuid;

use super::info::info;
use super::shop::Shop;
use super::wrk::{Load, write_requests, wrk};
use super::{Plan, print_ratio};

const WAITING: usize = 1_000_000;
/// Places requested per call, as a loaded process batches them.
const BATCH: usize = 256;
const UNITS: i64 = 100;
/// Long enough to let a million in.
const OPENS_IN: Duration = Duration::from_secs(3600);
/// Long enough for data control to open the list, and for each process to load the sale and then its waiting room.
const JOINING_IN: Duration = Duration::from_secs(3);
/// How long PostgreSQL still looks at the new rows after a list is locked.
const CALM_AFTER: Duration = Duration::from_secs(5);

/// Places taken over HTTP, and reads of the waiting room's public state.
pub async fn joins_and_line(shop: &Shop, dir: &Path, connections: u32, plan: &Plan) -> anyhow::Result<()> {
    let (config, shoppers) = (&shop.services.config, plan.shoppers());
    let (mut joins, mut lines) = (Vec::new(), Vec::new());
    for round in 0..plan.rounds {
        // One sale at a time: the shop goes on reading the winners of an open sale.
        let rush = shop.open_sale(shoppers as i64).await?;
        let buy = dir.join("buy");
        write_requests(&shop.purchases(rush, shoppers)?, &buy)?;
        let below = wrk(config, Load { requests: &buy, expected: Some(202) }, dir, connections, plan.seconds)?;
        shop.stop_sale(rush).await?;
        let (queue, join) = (waiting_room_sale(shop).await?, dir.join("join"));
        let place = format!("/api/sales/{queue}/place");
        write_requests(&shop.posts_of(&place, shoppers, |_| Ok("{}".to_owned()))?, &join)?;
        let above = wrk(config, Load { requests: &join, expected: Some(201) }, dir, connections, plan.seconds)?;
        joins.push((above, below));
        // After this, data control and PostgreSQL have nothing else to do.
        lock(shop, queue).await?;
        tokio::time::sleep(CALM_AFTER).await;
        let rate = |name: &str| {
            let request = format!("GET /api/sales/{queue}/{name} HTTP/1.1\r\nHost: {}\r\n\r\n", config.web.listen);
            std::fs::write(dir.join(name), format!("{}\n{request}", request.len()).repeat(1000))?;
            wrk(config, Load { requests: &dir.join(name), expected: None }, dir, connections, plan.seconds)
        };
        // `line` is measured first in every second round.
        lines.push(if round % 2 == 0 {
            (rate("line")?, rate("button")?)
        } else {
            let button = rate("button")?;
            (rate("line")?, button)
        });
        shop.stop_sale(queue).await?;
    }
    print_ratio(connections, "places taken", "accepted purchases", joins);
    print_ratio(connections, "line", "button", lines);
    Ok(())
}

/// A million places in Redis, their rows, and the steps of data control with them. The shop's own process does the same
/// work at the same time, so the steps show what it costs to find that there is nothing to do.
pub async fn a_million_wait(shop: &Shop) -> anyhow::Result<()> {
    let (store, metrics) = (&shop.services.store, shop.services.metrics.clone());
    let redis = shop.services.config.redis.as_ref().context("this rung has no Redis")?;
    let master = connection::shared(&redis.master)?;
    let gathering = Gathering::new(master.clone(), store.clone());
    let sale = waiting_room_sale(shop).await?;
    let (began, empty) = (Instant::now(), memory(&master).await?);
    for _ in 0..WAITING / BATCH {
        take(&gathering, sale).await?;
    }
    let took = began.elapsed().as_secs_f64();
    let bytes = (memory(&master).await? - empty) as f64 / WAITING as f64;
    println!("{WAITING} places given in {took:.1} s: {:.0}/s, {bytes:.0} bytes each", WAITING as f64 / took);
    let began = Instant::now();
    lock(shop, sale).await?;
    println!("their rows were written, and the list locked, in {:.1} s", began.elapsed().as_secs_f64());
    let control = WaitingRoomSteps::new(store.clone(), None, metrics);
    let mut steps = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        control.step().await?;
        steps.push(began.elapsed().as_secs_f64() * 1_000.0);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let queue = store.waiting_rooms().get(sale).await?.context("the queue")?;
    ensure!((queue.joined, queue.called) == (WAITING as i64 / BATCH as i64 * BATCH as i64, UNITS), "{queue:?}");
    steps.sort_by(f64::total_cmp);
    println!("a step of data control: {:.1} ms (median)", steps[steps.len() / 2]);
    let waiting = shop.services.waiting_rooms.clone();
    shop.services.catalogue.refresh().await?;
    let began = Instant::now();
    waiting.read_lines(Duration::ZERO).await?;
    let body = waiting.line_body(sale).context("the line")?;
    println!("the line: {} bytes, read in {:.1} ms", body.len(), began.elapsed().as_secs_f64() * 1_000.0);
    Ok(())
}

/// Starts the sale, and returns when its list is locked.
async fn lock(shop: &Shop, sale: SaleId) -> anyhow::Result<()> {
    shop.services.sales_admin().change(sale, SaleCommand::Start, "bench").await?;
    while shop.services.store.waiting_rooms().get(sale).await?.context("the queue")?.root.is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Announces a sale with a waiting room, and returns when shoppers may join.
async fn waiting_room_sale(shop: &Shop) -> anyhow::Result<SaleId> {
    let draft = shop.draft(UNITS).await?;
    let window = Window { opens_at: Some(Clock::system().now() + OPENS_IN), closes_at: None };
    let prequeue_s = (OPENS_IN - JOINING_IN).as_secs() as i64;
    let mode = SaleMode::WaitingRoom(WaitingRoomPlan { prequeue_s, gather_s: 0, seat_s: 3_600 });
    let draft = SaleDraft { window, mode, ..draft };
    let sale = shop.services.sales_admin().create_sale(draft, &SaveOptions::default(), "bench").await?;
    tokio::time::sleep(JOINING_IN).await;
    Ok(sale.id)
}

/// Takes a batch of places.
async fn take(gathering: &Gathering, sale: SaleId) -> anyhow::Result<()> {
    let claim = |_| Joining {
        user_id: UserId(Uuid::now_v7()),
        entry: EntryId::new(rand::random()),
        signed: None,
        holds_nothing: false,
        may_be_gathered: false,
    };
    let batch = Batch { bucket: Gathering::bucket(sale), claims: (0..BATCH).map(claim).collect() };
    let answers = gathering.take(&[batch]).await.remove(0)?;
    ensure!(
        answers.iter().all(|answer| matches!(answer, Some(Gathered::New(_)))),
        "a place was given before, or the list opens later"
    );
    Ok(())
}

/// Bytes that Redis uses.
async fn memory(master: &RedisConnection) -> anyhow::Result<i64> {
    Ok(info(master, "memory", "used_memory").await?.parse()?)
}
