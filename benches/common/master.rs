//! The Redis of the benchmarks: sales that only Redis knows, and what the server says about itself.

use anyhow::Context;
use redis::aio::ConnectionManager;
use seckill::domain::sale::SaleState;
use seckill::domain::{Currency, GoodsId, Money, Sale, SaleId, Window};
use seckill::stock::redis::RedisStock;

/// The script of the first source article, one claim a call, which knows nothing of users.
/// KEYS 1 sale hash; ARGV 1 units; returns the units granted, 0 when there are not enough.
pub const TOTAL_AND_BOOKED: &str = "
local sale = redis.call('HMGET', KEYS[1], 'Total', 'Booked')
local total, booked, units = tonumber(sale[1]), tonumber(sale[2]), tonumber(ARGV[1])
if not total or booked + units > total then return 0 end
redis.call('HINCRBY', KEYS[1], 'Booked', units)
return units";

/// Sale numbers from here on belong to benchmarks; a shop on the same stack does not get that far.
const FIRST_SALE: i64 = 900_000_000;

/// The `n`th sale of a benchmark, live, one unit for each user, with nothing sold.
pub fn sale(n: i64, total: u64) -> Sale {
    Sale {
        id: SaleId(FIRST_SALE + n),
        goods_id: GoodsId(1),
        price: Money::new(100, Currency::CNY),
        list_price: None,
        total: total as i64,
        sold: 0,
        granted: 0,
        per_user_limit: 1,
        window: Window { opens_at: None, closes_at: None },
        state: SaleState::Live,
        version: 1,
        epoch: 1,
    }
}

/// Brings a sale to life, whatever there was of it before.
pub async fn open(stock: &RedisStock, sale: &Sale) -> anyhow::Result<()> {
    stock.unload(sale.id).await?;
    anyhow::ensure!(stock.load(sale, sale.epoch, 0, false).await?, "the sale is there already");
    Ok(())
}

/// One line of INFO.
pub async fn info(redis: &ConnectionManager, section: &str, field: &str) -> anyhow::Result<String> {
    let text: String = redis::cmd("INFO").arg(section).query_async(&mut redis.clone()).await?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.with_context(|| format!("INFO {section} has no {field}"))?.trim().to_owned())
}
