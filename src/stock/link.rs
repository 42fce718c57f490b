//! Connections to Redis: multiplexed, re-established by themselves, with bounded waits.

use std::time::Duration;

use anyhow::Context;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, ConnectionInfo, IntoConnectionInfo};
use secrecy::{ExposeSecret, SecretString};

/// How long one command may take. After that nobody knows whether it was carried out.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

fn address(url: &SecretString) -> anyhow::Result<ConnectionInfo> {
    let info = url.expose_secret().into_connection_info().context("not a Redis address")?;
    // Without this every small command waits for the previous one's acknowledgement.
    Ok(info.set_tcp_settings(TcpSettings::default().set_nodelay(true)))
}

/// A shared connection for commands that answer at once. It connects with the first command, fails commands while the
/// server is away, and heals by itself.
pub fn shared(url: &SecretString) -> anyhow::Result<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(ANSWER_WITHIN))
        .set_number_of_retries(1)
        .set_min_delay(Duration::from_millis(50))
        .set_max_delay(Duration::from_millis(200));
    let client = Client::open(address(url)?)?;
    ConnectionManager::new_lazy_with_config(client, config).context("cannot prepare the connection to Redis")
}

/// A connection of one's own for a command that waits at most `longest` at the server.
pub async fn private(url: &SecretString, longest: Duration) -> anyhow::Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(longest + ANSWER_WITHIN));
    let client = Client::open(address(url)?)?;
    client.get_multiplexed_async_connection_with_config(&config).await.context("cannot connect to Redis")
}
