//! The addresses of the services: Redis and RabbitMQ with the certificates for connections by TLS, and the database.

use std::net::IpAddr;

use anyhow::{Context, bail, ensure};
use ipnet::IpNet;
use redis::IntoConnectionInfo;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::config::{Source, variable};
use crate::lifecycle::process_name;
use crate::tls::{ClientTls, Identity, PemFile};

/// The address of a service, which may contain a password, and the certificates of its connections.
#[derive(Debug, Clone)]
pub struct ServiceAddress {
    pub url: SecretString,
    pub tls: ClientTls,
}

impl ServiceAddress {
    /// Whether connections are encrypted. An address with TLS is never connected to without TLS.
    pub fn is_encrypted(&self) -> bool {
        let url = self.url.expose_secret();
        let with_tls = ["rediss://", "rediss+sentinel://", "amqps://", "smtps://"];
        with_tls.iter().any(|scheme| url.starts_with(scheme)) || url.starts_with("smtp://") && url.contains("?tls=")
    }

    /// The addresses of a list with commas.
    pub fn each(&self) -> Vec<ServiceAddress> {
        self.url.expose_secret().split(',').map(|url| self.with_url(url.trim())).collect()
    }

    /// Another address with the same certificates.
    fn with_url(&self, url: &str) -> ServiceAddress {
        ServiceAddress { url: SecretString::from(url.to_owned()), tls: self.tls.clone() }
    }
}

/// Trusts the system's certificates only.
impl From<&str> for ServiceAddress {
    fn from(url: &str) -> ServiceAddress {
        ServiceAddress { url: SecretString::from(url), tls: ClientTls::default() }
    }
}

/// One address, or several nodes of one cluster with commas between them.
pub(super) fn amqp_url(text: &str, tls: &ClientTls) -> anyhow::Result<Option<ServiceAddress>> {
    let address = ServiceAddress { url: SecretString::from(text.to_owned()), tls: tls.clone() };
    let mut first: Option<Url> = None;
    for node in address.each() {
        let url = node.url.expose_secret();
        let known = ["amqp://", "amqps://"].iter().any(|scheme| url.starts_with(scheme));
        ensure!(known, "expected amqp://… or amqps://…, several with commas; a comma in a password is %2C");
        let url = Url::parse(url).context("not a valid address")?;
        check_path(&url)?;
        if let Some(first) = &first {
            let alike =
                url.scheme() == first.scheme() && url.path().trim_matches('/') == first.path().trim_matches('/');
            ensure!(alike, "expected the same scheme and the same virtual host in all addresses");
        }
        first.get_or_insert(url);
    }
    Ok(Some(address))
}

/// Refuses a virtual host or a database whose name looks like another address. The name is sent to the server, and comes
/// back in its errors, and with it the password of that address.
fn check_path(url: &Url) -> anyhow::Result<()> {
    let suspicious = url.path().contains("://") || url.path().contains('@');
    ensure!(
        !suspicious,
        "the part after the host looks like another address; in passwords write / as %2F and @ as %40"
    );
    Ok(())
}

/// Reads and checks the files that `tls-ca`, `tls-cert` and `tls-key` name.
pub(super) fn read_tls(source: &Source) -> anyhow::Result<ClientTls> {
    let file = |name: &str| source.parse(name, None, |path| PemFile::read(path.as_ref()).map(Some));
    let (ca, certificate, key) = (file("tls-ca")?, file("tls-cert")?, file("tls-key")?);
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (None, None) => None,
        (Some(_), None) => anyhow::bail!("SECKILL_TLS_CERT is set but SECKILL_TLS_KEY, its key, is not"),
        (None, Some(_)) => anyhow::bail!("SECKILL_TLS_KEY is set but SECKILL_TLS_CERT, its certificate, is not"),
    };
    let has_identity = identity.is_some();
    let tls = ClientTls::new(ca, identity);
    tls.check_ca().with_context(|| format!("{} has a wrong value", variable("tls-ca")))?;
    if has_identity {
        tls.config().context("SECKILL_TLS_CERT or SECKILL_TLS_KEY has a wrong value")?;
    }
    Ok(tls)
}

// The address of the database. Defaults that PostgreSQL's client would choose by itself are written out here, so the
// setting alone decides whether a connection is encrypted.

/// The values of `sslmode`, from no TLS to a fully checked certificate.
const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// Checks an address and completes it. `sslmode` defaults to `verify-full` if a CA is given and the server is on
/// another machine, otherwise to `disable`. With a CA, `require` becomes `verify-ca`, as in PostgreSQL's own client.
/// `prefer` is allowed for this machine only, because the server or a machine in between can make it plain.
pub(super) fn database_url(text: &str, tls: &ClientTls) -> anyhow::Result<String> {
    if text.starts_with("sqlite:") {
        return Ok(text.to_owned());
    }
    let known = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    ensure!(known, "expected sqlite://… or postgres://…");
    let mut url = Url::parse(text).context("not a valid address")?;
    check_path(&url)?;
    let mode = ssl_mode(&url, tls.ca().is_some())?;
    let rest: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !matches!(&**name, "sslmode" | "ssl-mode"))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let has = |name: &str| rest.iter().any(|(given, _)| given.replace('-', "") == name);
    let mut add = vec![("sslmode", mode.to_owned())];
    if !has("application_name") {
        add.push(("application_name", process_name().to_owned()));
    }
    if mode != "disable" {
        if let Some(ca) = tls.ca().filter(|_| !has("sslrootcert") && !has("sslca")) {
            add.push(("sslrootcert", ca.path.display().to_string()));
        }
        if let Some(own) = tls.identity().filter(|_| !has("sslcert")) {
            add.push(("sslcert", own.certificate.path.display().to_string()));
            add.push(("sslkey", own.key.path.display().to_string()));
        }
    }
    url.query_pairs_mut().clear().extend_pairs(&rest).extend_pairs(&add);
    Ok(url.into())
}

fn ssl_mode(url: &Url, has_ca: bool) -> anyhow::Result<&'static str> {
    let given = url.query_pairs().filter(|(name, _)| matches!(&**name, "sslmode" | "ssl-mode")).last();
    let is_local = is_on_this_machine(url);
    let Some((_, given)) = given else { return Ok(if has_ca && !is_local { "verify-full" } else { "disable" }) };
    let Some(mode) = SSL_MODES.into_iter().find(|mode| *mode == given) else {
        bail!("sslmode: expected one of {}", SSL_MODES.join(", "))
    };
    ensure!(
        mode != "prefer" || is_local,
        "sslmode=prefer may be plain without notice; on another machine use verify-full, or disable in a private network"
    );
    Ok(if mode == "require" && has_ca { "verify-ca" } else { mode })
}

/// Whether the server is reached by the loopback interface or a socket file.
fn is_on_this_machine(url: &Url) -> bool {
    let given = url.query_pairs().filter(|(name, _)| matches!(&**name, "host" | "hostaddr")).last();
    let host = given.map(|(_, host)| host.into_owned()).or_else(|| url.host_str().map(str::to_owned));
    let Some(host) = host.filter(|host| !host.is_empty()) else { return true };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.starts_with('/') || host.starts_with("%2F") || address.is_ok_and(|ip| ip.is_loopback())
}

// The address of Redis: one server, the members of a cluster, or Sentinels that know the server.

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

// Networks in CIDR notation, such as `10.0.0.0/8` and `2001:db8::/32`.

/// A network; a single address is a network of its own. IPv4 addresses that are written as IPv6 count as IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr(IpNet);

impl Cidr {
    pub fn parse(text: &str) -> anyhow::Result<Cidr> {
        const EXPECTED: &str = "expected addresses or networks such as 10.0.0.0/8, comma separated";
        let (address, prefix) = text.trim().split_once('/').map_or((text.trim(), None), |(a, p)| (a, Some(p)));
        let first = address.parse::<IpAddr>().context(EXPECTED)?;
        ensure!(prefix.is_none() || first == first.to_canonical(), EXPECTED);
        let network = match prefix {
            Some(prefix) => IpNet::new(first, prefix.parse().context(EXPECTED)?).context(EXPECTED)?,
            None => first.to_canonical().into(),
        };
        ensure!(network.trunc() == network, "{text} is not the first address of its network");
        Ok(Cidr(network))
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::tls::{Identity, PemFile};

    #[test]
    fn several_nodes_are_a_list_and_nothing_else_is() {
        let read = |text: &str| amqp_url(text, &ClientTls::default()).map(|address| address.unwrap().each());
        let nodes = read("amqp://u:p@a/shop, amqp://u:p@b:5673/shop").unwrap();
        let urls: Vec<&str> = nodes.iter().map(|node| node.url.expose_secret()).collect();
        assert_eq!(urls, ["amqp://u:p@a/shop", "amqp://u:p@b:5673/shop"]);
        assert_eq!(read("amqp://u:p%2Cw@a/%2F").unwrap().len(), 1);
        for wrong in [
            "amqp://u:p@a,b:5672",
            "amqp://u:p@a/x,amqp://u:p@b/y",
            "amqp://u:p@a,amqps://u:p@b",
            "amqp://u:p@a/shop amqp://u:p@b/shop",
            "amqp://u:p@a/shop;amqp://u:p@b/shop",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    /// A server repeats the name of a virtual host or database in its error, so a password must not get into one.
    #[test]
    fn wrong_address_is_refused_without_its_password() {
        for (key, value) in [
            ("amqp_url", "amqp://u:sesame@a/x;amqp://u:sesame@b/x"),
            ("amqp_url", "amqp://u:1/sesame@a/x"),
            ("amqp_url", "amqp://u:sesame@a:port/x"),
            ("database_url", "postgres://u:sesame@a/x,postgres://u:sesame@b/x"),
            ("database_url", "postgres://u:1/sesame@a/x"),
            ("database_url", "postgres://u:sesame@a:port/x"),
            ("redis_url", "redis://u:sesame@a/1;redis://u:sesame@b/1"),
            ("redis_url", "redis://u:sesame@a:port"),
            ("redis_url", "redis+sentinel://:sesame@a/x,redis+sentinel://:sesame@b/x"),
            ("redis_url", "redis+sentinel://u:1/sesame@a/x"),
            ("smtp_url", "smtp://u:sesame@a,smtp://u:sesame@b"),
        ] {
            let file = format!("{key} = '{value}'\n{}", if key == "amqp_url" { "redis_url = 'redis://a'" } else { "" });
            let error = format!("{:#}", Config::read_text(&file).expect_err(value));
            assert!(error.contains(&variable(key)) && !error.contains("sesame"), "{value}: {error}");
        }
    }

    fn file(path: &str) -> PemFile {
        PemFile { path: path.into(), text: Vec::new() }
    }

    fn query(text: &str, tls: &ClientTls) -> String {
        let url = database_url(text, tls).unwrap_or_else(|error| format!("refused: {error:#}"));
        let query = url.split_once('?').map_or(url.clone(), |(_, query)| query.to_owned());
        query.replace("&application_name=seckill", "")
    }

    #[test]
    fn mode_follows_from_the_address_and_is_never_a_fall_back() {
        let (none, ca) = (ClientTls::default(), ClientTls::new(Some(file("/ca.pem")), None));
        assert_eq!(query("postgres://db/x", &none), "sslmode=disable");
        assert_eq!(query("postgres://db/x", &ca), "sslmode=verify-full&sslrootcert=%2Fca.pem");
        assert_eq!(query("postgres://127.0.0.1/x", &ca), "sslmode=disable");
        assert_eq!(query("postgres://db/x?sslmode=require", &none), "sslmode=require");
        assert_eq!(query("postgres://db/x?sslmode=require", &ca), "sslmode=verify-ca&sslrootcert=%2Fca.pem");
        for mode in ["disable", "verify-ca", "verify-full"] {
            assert_eq!(query(&format!("postgres://db/x?sslmode={mode}"), &none), format!("sslmode={mode}"));
        }
        assert_eq!(query("postgres://[::1]/x?sslmode=prefer", &none), "sslmode=prefer");
        assert!(query("postgres://db/x?sslmode=prefer", &none).contains("refused"));
        assert!(query("postgres://localhost/x?sslmode=prefer&host=db", &none).contains("refused"));
        assert!(query("postgres://db/x?sslmode=allow", &none).contains("refused"));
    }

    #[test]
    fn other_parameters_and_files_of_the_address_stay() {
        let identity = Identity { certificate: file("/c.pem"), key: file("/k.pem") };
        let tls = ClientTls::new(Some(file("/ca.pem")), Some(identity));
        let given = "postgres://db/x?application_name=a%20b&sslmode=verify-full&sslrootcert=/other.pem";
        let expected =
            "application_name=a+b&sslrootcert=%2Fother.pem&sslmode=verify-full&sslcert=%2Fc.pem&sslkey=%2Fk.pem";
        assert_eq!(query(given, &tls), expected);
        assert_eq!(database_url("sqlite://x?mode=rwc", &tls).unwrap(), "sqlite://x?mode=rwc");
    }

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
        let wrong = "http://a redis://a,http://b redis://a,rediss://b rediss://a/#insecure redis+sentinel://a \
            redis+sentinel://a/ redis+sentinel://a:x/shop redis+sentinel://a/shop/x \
            redis+sentinel://me:1/secret@a redis+sentinel://,a/shop";
        for text in wrong.split(' ') {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    fn contains(network: &str, address: &str) -> bool {
        Cidr::parse(network).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn network_has_the_addresses_of_its_prefix() {
        assert!(contains("10.0.0.0/8", "10.255.0.1") && !contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("192.0.2.128/25", "192.0.2.255") && !contains("192.0.2.128/25", "192.0.2.127"));
        assert!(contains("192.0.2.7", "192.0.2.7") && !contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("0.0.0.0/0", "203.0.113.9") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::"));
        assert!(contains("::/0", "2001:db8::1") && contains("::1", "::1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.1.1") && contains("::ffff:10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.1/8", "::ffff:10.0.0.0/104"]
        {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }
}
