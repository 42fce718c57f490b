//! The Redis master of the benchmarks, with sales that have no row in the database.

use std::sync::Arc;
use std::time::Duration;

use domain::Bucket;
use domain::sale::SaleState;
use domain::{Currency, GoodsId, Money, Sale, SaleId};
use engine::catalogue::Catalogue;
use engine::redis::connection::RedisConnection;
use engine::stock::load::LoadOptions;
use engine::stock::redis::RedisStock;
use store::{Allotment, SaleDraft, Store};

/// The script of the first source article: one claim per call, without users.
/// KEYS 1 sale hash; ARGV 1 units; returns the units granted, 0 when there are not enough.
pub const TOTAL_AND_BOOKED: &str = "
local sale = redis.call('HMGET', KEYS[1], 'Total', 'Booked')
local total, booked, units = tonumber(sale[1]), tonumber(sale[2]), tonumber(ARGV[1])
if not total or booked + units > total then return 0 end
redis.call('HINCRBY', KEYS[1], 'Booked', units)
return units";

/// Ids of benchmark sales start here, above the ids that a shop on the same stack reaches.
const PAYMENT_WINDOW: Duration = Duration::from_secs(1_800);
const FIRST_SALE: i64 = 900_000_000;

/// The `n`th sale of a benchmark: live, one unit per user, nothing sold.
pub fn sale(n: i64, total: u64) -> Sale {
    let (price, total) = (Money::new(100, Currency::CNY), total as i64);
    let draft = SaleDraft { goods_id: GoodsId(1), price, total, per_user_limit: 1, ..SaleDraft::blank() };
    Sale { epoch: 1, ..draft.sale(SaleId(FIRST_SALE + n), SaleState::Live) }
}

/// The shop's Redis stock. It never reads these sales from the database.
pub fn stock(master: RedisConnection, database_url: &str) -> anyhow::Result<RedisStock> {
    let store = Store::open(database_url)?;
    let catalogue = Arc::new(Catalogue::new(store.clone()));
    Ok(RedisStock::new(master, catalogue, store, PAYMENT_WINDOW))
}

/// Loads a sale into Redis, in place of an earlier one. The units of a split sale are allotted at once, in equal
/// shares.
pub async fn open(stock: &RedisStock, sale: &Sale) -> anyhow::Result<()> {
    let count = i64::from(sale.rush.buckets);
    for (part, bucket) in (0..).zip(Bucket::of_sale(sale)) {
        stock.unload(bucket).await?;
        let units = sale.total / count + i64::from(i64::from(part) < sale.total % count);
        let share = (count > 1).then_some(Allotment { part, allotted: units, target: units, fence: 1 });
        let options = LoadOptions { epoch: sale.epoch, share, ..LoadOptions::default() };
        anyhow::ensure!(stock.load(sale, bucket, options).await?, "the sale is already loaded");
    }
    Ok(())
}
