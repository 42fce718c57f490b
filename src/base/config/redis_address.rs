//! The address of Redis: one server, the members of a cluster, or Sentinels that know the server.

use anyhow::{Context, ensure};
use redis::IntoConnectionInfo;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::ServiceAddress;
use super::service_address::check_path;
use crate::tls::ClientTls;

/// Schemes of Sentinels, and whether they and the servers use TLS.
const SENTINEL_SCHEMES: [(&str, bool); 2] = [("redis+sentinel://", false), ("rediss+sentinel://", true)];
const DEFAULT_SENTINEL_PORT: u16 = 26379;

/// The parsed value of a setting such as `SECKILL_REDIS_URL`.
#[derive(Debug, Clone)]
pub enum RedisAddress {
    Server(ServiceAddress),
    /// Some members of a cluster; the client finds the others through them. All of them use TLS, or none does.
    Cluster(Vec<ServiceAddress>),
    Sentinel(SentinelAddress),
}

/// `redis+sentinel://[[user]:password@]host[:port],…/service[/db]`. User and password are sent to the Redis servers,
/// and to Sentinels that ask for a password. With `rediss+sentinel://` connections to all of them use TLS.
#[derive(Debug, Clone)]
pub struct SentinelAddress {
    pub sentinels: Vec<(String, u16)>,
    /// The name under which the Sentinels watch the master.
    pub service: String,
    pub db: i64,
    pub username: Option<String>,
    pub password: Option<SecretString>,
    /// `None`: without TLS.
    pub tls: Option<ClientTls>,
}

impl RedisAddress {
    pub fn parse(address: &ServiceAddress) -> anyhow::Result<RedisAddress> {
        let text = address.url.expose_secret().trim();
        for (scheme, is_encrypted) in SENTINEL_SCHEMES {
            if let Some(rest) = text.strip_prefix(scheme) {
                let tls = is_encrypted.then(|| address.tls.clone());
                return Ok(RedisAddress::Sentinel(SentinelAddress { tls, ..SentinelAddress::parse(rest)? }));
            }
        }
        let members = text.split(',').map(|url| server(address, url.trim()));
        let mut members = members.collect::<anyhow::Result<Vec<_>>>()?;
        let encrypted = members.iter().filter(|member| member.is_encrypted()).count();
        ensure!(encrypted == 0 || encrypted == members.len(), "expected rediss:// for all members or for none");
        match members.len() {
            1 => Ok(RedisAddress::Server(members.remove(0))),
            _ => Ok(RedisAddress::Cluster(members)),
        }
    }
}

fn server(address: &ServiceAddress, text: &str) -> anyhow::Result<ServiceAddress> {
    let known = ["redis://", "rediss://"].iter().any(|scheme| text.starts_with(scheme));
    ensure!(known, "expected redis://…, rediss://… or redis+sentinel://…");
    let url = Url::parse(text).context("not a valid address")?;
    // `#insecure` would make the client skip the check of certificates.
    ensure!(url.fragment().is_none(), "expected an address without #");
    check_path(&url)?;
    Ok(address.with_url(text))
}

impl SentinelAddress {
    /// `rest` follows the scheme.
    fn parse(rest: &str) -> anyhow::Result<SentinelAddress> {
        const EXPECTED: &str = "expected redis+sentinel://[:password@]host:port,host:port/service[/db]";
        let (authority, path) = rest.split_once('/').context(EXPECTED)?;
        let (login, hosts) = authority.rsplit_once('@').map_or((None, authority), |(login, rest)| (Some(login), rest));
        let (username, password) = login.map(login_of).transpose()?.unwrap_or_default();
        let (service, db) = path.split_once('/').unwrap_or((path, ""));
        ensure!(!service.is_empty() && !service.contains(['@', ':']), EXPECTED);
        let db = if db.is_empty() {
            0
        } else {
            db.parse().context("expected the number of a database after the service")?
        };
        let sentinels = hosts.split(',').map(host).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(SentinelAddress { sentinels, service: service.to_owned(), db, username, password, tls: None })
    }
}

/// User and password of `user:password`, with %-escapes decoded.
fn login_of(text: &str) -> anyhow::Result<(Option<String>, Option<SecretString>)> {
    let info = format!("redis://{text}@host").into_connection_info().context("not a valid password")?;
    let settings = info.redis_settings();
    let password = settings.password().map(|password| SecretString::from(password.to_owned()));
    Ok((settings.username().map(str::to_owned), password))
}

/// `host`, `host:port`, `[::1]:port`.
fn host(text: &str) -> anyhow::Result<(String, u16)> {
    let text = text.trim();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().context("expected a port")?),
        _ => (text, DEFAULT_SENTINEL_PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ensure!(!host.is_empty(), "expected the host of a Sentinel");
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<RedisAddress> {
        RedisAddress::parse(&ServiceAddress::from(text))
    }

    fn sentinel(text: &str) -> SentinelAddress {
        match parse(text) {
            Ok(RedisAddress::Sentinel(address)) => address,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_server_a_cluster_and_sentinels_are_told_apart() {
        assert!(matches!(parse("redis://a/1"), Ok(RedisAddress::Server(_))));
        assert!(matches!(parse("redis://a, redis://b"), Ok(RedisAddress::Cluster(members)) if members.len() == 2));
        assert!(matches!(parse("redis+sentinel://a,b/shop"), Ok(RedisAddress::Sentinel(_))));
        assert!(matches!(parse("rediss://a/1"), Ok(RedisAddress::Server(server)) if server.is_encrypted()));
        assert!(sentinel("rediss+sentinel://a/shop").tls.is_some());
        assert!(sentinel("redis+sentinel://a/shop").tls.is_none());
    }

    #[test]
    fn sentinel_address_names_hosts_service_and_login() {
        let full = sentinel("redis+sentinel://me:p%40ss+1@one:1,[::1]:2, three/shop/5");
        let hosts = [("one", 1), ("::1", 2), ("three", 26379)].map(|(host, port)| (host.to_owned(), port));
        assert_eq!(full.sentinels, hosts);
        assert_eq!((full.service.as_str(), full.db, full.username.as_deref()), ("shop", 5, Some("me")));
        assert_eq!(full.password.unwrap().expose_secret(), "p@ss+1");
        let plain = sentinel("redis+sentinel://one/shop");
        assert_eq!((plain.db, plain.username, plain.password.is_none()), (0, None, true));
        let only_password = sentinel("redis+sentinel://:secret@one/shop");
        assert_eq!((only_password.username, only_password.password.unwrap().expose_secret()), (None, "secret"));
    }

    #[test]
    fn wrong_addresses_are_refused() {
        let wrong = [
            "http://a",
            "redis://a,http://b",
            "redis://a,rediss://b",
            "rediss://a/#insecure",
            "redis+sentinel://a",
            "redis+sentinel://a/",
            "redis+sentinel://a:x/shop",
            "redis+sentinel://a/shop/x",
            "redis+sentinel://me:1/secret@a",
            "redis+sentinel://,a/shop",
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
