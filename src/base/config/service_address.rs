//! The addresses of Redis and RabbitMQ, with the certificates for connections by TLS.

use anyhow::Context;
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

pub(super) fn amqp_url(text: &str, tls: &ClientTls) -> anyhow::Result<Option<ServiceAddress>> {
    let known = text.starts_with("amqp://") || text.starts_with("amqps://");
    anyhow::ensure!(known, "expected amqp://… or amqps://…");
    Url::parse(text).context("not a valid address")?;
    Ok(Some(ServiceAddress { url: SecretString::from(text.to_owned()), tls: tls.clone() }))
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
