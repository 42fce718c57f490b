//! Values of Redis' INFO.

use anyhow::Context;
use engine::redis::connection::RedisConnection;

/// The value of one field of a section.
pub async fn info(redis: &RedisConnection, section: &str, field: &str) -> anyhow::Result<String> {
    let text: String = redis::cmd("INFO").arg(section).query_async(&mut redis.clone()).await?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.with_context(|| format!("INFO {section} has no {field}"))?.trim().to_owned())
}
