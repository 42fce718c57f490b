//! The gain of a second master: the same claims on one bucket of a split sale, and on two buckets on different masters
//! of a Redis Cluster. The calls are packed before the clock starts, so that the client needs little processor time.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base::config::{RedisAddress, ServiceAddress};
use domain::Bucket;
use domain::sale::Rush;
use domain::{OrderId, Sale, UserId};
use engine::redis::connection;
use engine::redis::keys;
use engine::redis::keys::ShortId;
use engine::stock::redis::RedisStock;
use redis::{Client, Connection, Value};
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::{Plan, master, median};

const BATCH: u64 = 128;
/// Pipelined calls per connection, so that the master always has the next one.
const PIPELINED: usize = 2;
/// Enough that two of them are on different masters.
const BUCKETS: u8 = 16;
const SCRIPT: &str = include_str!("../../src/engine/stock/lua/reserve.lua");

/// `url` names the members of a cluster, comma separated.
pub async fn measure(url: ServiceAddress, database_url: &str, plan: &Plan) -> anyhow::Result<()> {
    let stock = master::stock(connection::shared(&url)?, database_url)?;
    if stock.ping().await.is_err() {
        println!("two masters: not measured; scripts/stack up --cluster starts a cluster");
        return Ok(());
    }
    let RedisAddress::Cluster(members) = RedisAddress::parse(&url)? else { bail!("the address names no cluster") };
    let members: Vec<String> = members.iter().map(|one| one.url.expose_secret().to_owned()).collect();
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

/// Reservations per second on this number of masters.
async fn sell(stock: &RedisStock, sale: &Sale, members: &[String], masters: usize, claims: u64) -> anyhow::Result<f64> {
    master::open(stock, sale).await?;
    let mut connections = Vec::new();
    for member in members {
        let mut connection = Client::open(member.as_str())?.get_connection()?;
        let mut buckets = Bucket::of_sale(sale);
        let Some(bucket) = buckets.find(|bucket| is_on_member(&mut connection, *bucket)) else { continue };
        let script: String = redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query(&mut connection)?;
        let calls = (0..claims / BATCH / masters as u64).map(|_| call(&script, bucket)).collect();
        connections.push((connection, calls));
    }
    ensure!(connections.len() >= masters, "the buckets live on fewer than {masters} masters");
    connections.truncate(masters);
    // Redis frees deleted keys in the background.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    let threads: Vec<_> = connections
        .into_iter()
        .map(|(connection, calls)| std::thread::spawn(|| send_calls(connection, calls)))
        .collect();
    for thread in threads {
        thread.join().ok().context("a sending thread has panicked")??;
    }
    Ok((claims / BATCH * BATCH) as f64 / began.elapsed().as_secs_f64())
}

fn is_on_member(connection: &mut Connection, bucket: Bucket) -> bool {
    redis::cmd("EXISTS").arg(keys::hash(bucket)).query::<bool>(connection).unwrap_or(false)
}

/// A batch of claims of new users, one unit each.
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

fn send_calls(mut connection: Connection, calls: Vec<Vec<u8>>) -> anyhow::Result<()> {
    for (n, call) in calls.iter().enumerate() {
        connection.send_packed_command(call)?;
        if n >= PIPELINED {
            granted(&mut connection)?;
        }
    }
    for _ in 0..PIPELINED.min(calls.len()) {
        granted(&mut connection)?;
    }
    Ok(())
}

/// The script returns only epoch and time when every claim was granted.
fn granted(connection: &mut Connection) -> anyhow::Result<()> {
    let answer = connection.recv_response()?;
    ensure!(matches!(&answer, Value::Array(words) if words.len() == 2), "not every claim was granted: {answer:?}");
    Ok(())
}
