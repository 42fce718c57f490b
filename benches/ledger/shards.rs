//! What a second master adds: the same claims on one bucket of a split sale, and on two buckets that live on different
//! masters of a Redis Cluster, each with a core as far as the machine has them. The calls are packed before the clock
//! starts, so that the client hardly takes part.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use redis::{Client, Connection, Value};
use seckill::domain::Bucket;
use seckill::domain::sale::Rush;
use seckill::domain::{OrderId, Sale, UserId};
use seckill::redis::connection;
use seckill::redis::keys;
use seckill::redis::short_id::ShortId;
use seckill::stock::redis::RedisStock;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::{Plan, master, median};

const BATCH: u64 = 128;
/// Calls under way: the master always has the next one.
const AHEAD: usize = 2;
/// Enough that two of them live apart.
const BUCKETS: u8 = 16;
const SCRIPT: &str = include_str!("../../src/stock/lua/reserve.lua");

/// `url` names the members of a cluster, comma separated.
pub async fn measure(url: SecretString, database_url: &str, plan: &Plan) -> anyhow::Result<()> {
    let stock = master::stock(connection::shared(&url)?, database_url)?;
    if stock.ping().await.is_err() {
        println!("two masters: not measured; scripts/stack up --cluster starts a cluster");
        return Ok(());
    }
    let members: Vec<String> = connection::addresses(&url).iter().map(|one| one.expose_secret().to_owned()).collect();
    let sale = Sale { rush: Rush { buckets: BUCKETS, ..Rush::default() }, ..master::sale(0, 1 << 40) };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        for (masters, rates) in [(1, &mut one), (2, &mut two)] {
            rates.push(sell(&stock, &sale, &members, masters, plan.claims).await?);
        }
    }
    for bucket in Bucket::of_sale(&sale) {
        stock.unload(bucket).await?;
    }
    let ratios: Vec<String> = two.iter().zip(&one).map(|(two, one)| format!("{:.2}", two / one)).collect();
    println!(
        "a sale on one master {:.0} reservations/s, on two {:.0}/s: {:.2} of {}",
        median(one.iter().copied()),
        median(two.iter().copied()),
        median(two.iter().zip(&one).map(|(two, one)| two / one)),
        ratios.join(" ")
    );
    Ok(())
}

/// Reservations a second, all of them on so many masters.
async fn sell(stock: &RedisStock, sale: &Sale, members: &[String], masters: usize, claims: u64) -> anyhow::Result<f64> {
    master::open(stock, sale).await?;
    let mut lanes = Vec::new();
    for member in members {
        let mut connection = Client::open(member.as_str())?.get_connection()?;
        let mut buckets = Bucket::of_sale(sale);
        let Some(bucket) = buckets.find(|bucket| lives_there(&mut connection, *bucket)) else { continue };
        let script: String = redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query(&mut connection)?;
        let calls = (0..claims / BATCH / masters as u64).map(|_| call(&script, bucket)).collect();
        lanes.push((connection, calls));
    }
    ensure!(lanes.len() >= masters, "the buckets live on fewer than {masters} masters");
    lanes.truncate(masters);
    // What was deleted before is freed meanwhile.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    let threads: Vec<_> =
        lanes.into_iter().map(|(connection, calls)| std::thread::spawn(|| work_off(connection, calls))).collect();
    for thread in threads {
        thread.join().ok().context("a lane has panicked")??;
    }
    Ok((claims / BATCH * BATCH) as f64 / began.elapsed().as_secs_f64())
}

fn lives_there(connection: &mut Connection, bucket: Bucket) -> bool {
    redis::cmd("EXISTS").arg(keys::hash(bucket)).query::<bool>(connection).unwrap_or(false)
}

/// A batch of new users who want one unit each.
fn call(script: &str, bucket: Bucket) -> Vec<u8> {
    let names = [keys::hash, keys::holders, keys::outbox, keys::start, keys::access];
    let mut call = redis::cmd("EVALSHA");
    call.arg(script).arg(names.len()).arg(&names.map(|name| name(bucket))).arg("claim").arg(BATCH).arg(1);
    for _ in 0..BATCH {
        let (user, order) = (UserId(Uuid::now_v7()), OrderId(Uuid::now_v7()));
        call.arg(ShortId::of(user.0)).arg(format!("{}:1", ShortId::of(order.0)));
    }
    call.get_packed_command()
}

fn work_off(mut connection: Connection, calls: Vec<Vec<u8>>) -> anyhow::Result<()> {
    for (n, call) in calls.iter().enumerate() {
        connection.send_packed_command(call)?;
        if n >= AHEAD {
            granted(&mut connection)?;
        }
    }
    for _ in 0..AHEAD.min(calls.len()) {
        granted(&mut connection)?;
    }
    Ok(())
}

/// The script says no more than epoch and time when everybody got what they asked for.
fn granted(connection: &mut Connection) -> anyhow::Result<()> {
    let answer = connection.recv_response()?;
    ensure!(matches!(&answer, Value::Array(words) if words.len() == 2), "not everybody was granted: {answer:?}");
    Ok(())
}
