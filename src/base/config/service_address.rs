//! The addresses of Redis and RabbitMQ, with the certificates for connections by TLS.

use anyhow::{Context, ensure};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::tls::{ClientTls, Identity, PemFile};

use super::{Source, variable};

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
    pub(super) fn with_url(&self, url: &str) -> ServiceAddress {
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
pub(super) fn check_path(url: &Url) -> anyhow::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

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
}
