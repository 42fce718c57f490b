//! The rows of the table.

use std::sync::Arc;

use crate::batched::Batched;
use crate::memcached::{CompareAndSwap, Decrement};
use crate::on_redis::{ListPop, Locked, OneScript, UserScript};
use crate::order_sink::{BlockingQueue, RabbitQueue};
use crate::postgres::{Conditional, RowLock, Version};
use crate::services::Services;
use crate::strategy::{StockStrategy, Strategy};

/// All rows, in the order of the table.
pub fn all(services: &Services) -> Vec<Strategy> {
    let redis = &services.redis;
    let row = |key, name, order_in, one_per_user, deduct: Arc<dyn StockStrategy>| {
        let order_sink = None;
        Strategy { key, name, order_in, one_per_user, deduct, order_sink }
    };
    let queued = |key, name, one_per_user, deduct| Strategy {
        order_sink: Some(Arc::new(BlockingQueue::new(services.database.clone()))),
        ..row(key, name, "queue in the process", one_per_user, deduct)
    };
    let database = |key, name, deduct| row(key, name, "the same transaction", true, deduct);
    let pool = || services.database.clone();
    vec![
        database("row-lock", "PostgreSQL: SELECT … FOR UPDATE", Arc::new(RowLock(pool()))),
        database("version", "PostgreSQL: version column, retry", Arc::new(Version(pool()))),
        database("conditional", "PostgreSQL: conditional update", Arc::new(Conditional(pool()))),
        queued("decr", "memcached: decr", false, Arc::new(Decrement(services.memcached.clone()))),
        queued("cas", "memcached: gets, cas, retry", false, Arc::new(CompareAndSwap(services.memcached.clone()))),
        queued("lock", "Redis: lock, check, deduct, unlock", false, Arc::new(Locked::new(redis.clone()))),
        queued("list", "Redis: pop from a list", false, Arc::new(ListPop(redis.clone()))),
        queued("script", "Redis: script {Total, Booked}", false, Arc::new(OneScript::new(redis.clone()))),
        queued("users", "Redis: script, one per user", true, Arc::new(UserScript::new(redis.clone(), false))),
        Strategy {
            order_sink: Some(Arc::new(RabbitQueue(services.rabbit.clone()))),
            ..row(
                "rabbit",
                "Redis: script {Total, Booked}, then RabbitMQ",
                "RabbitMQ, confirmed",
                false,
                Arc::new(OneScript::new(redis.clone())),
            )
        },
        row(
            "stream",
            "Redis: script, one per user, XADD in it",
            "stream, the same script",
            true,
            Arc::new(UserScript::new(redis.clone(), true)),
        ),
        row("batch", "this shop: batches", "stream, the same script", true, Arc::new(Batched::new(&services.stock, 1))),
        row(
            "buckets",
            "this shop: batches, 4 buckets",
            "stream, the same script",
            true,
            Arc::new(Batched::new(&services.stock, 4)),
        ),
    ]
}
