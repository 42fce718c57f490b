//! What a Redis server says about itself.

use anyhow::Context;
use seckill::redis::connection::RedisConnection;

/// One line of INFO.
pub async fn info(redis: &RedisConnection, section: &str, field: &str) -> anyhow::Result<String> {
    let text: String = redis::cmd("INFO").arg(section).query_async(&mut redis.clone()).await?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.with_context(|| format!("INFO {section} has no {field}"))?.trim().to_owned())
}
