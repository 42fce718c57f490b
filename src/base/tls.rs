//! TLS to the services: the certificates that this process trusts, and the certificate that it shows to them.
//!
//! The files are read and checked once, at the start; renewed certificates need a restart. The CAs of the system and of
//! the file are trusted. The only cryptographic provider is ring.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// Characters per line of PEM.
const PEM_LINE: usize = 64;

/// A file in PEM, and its path, which PostgreSQL's client asks for.
#[derive(Clone)]
pub struct PemFile {
    pub path: PathBuf,
    pub text: Vec<u8>,
}

impl PemFile {
    pub fn read(path: &Path) -> anyhow::Result<PemFile> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(PemFile { path: path.to_owned(), text })
    }

    fn certificates(&self) -> anyhow::Result<Vec<CertificateDer<'static>>> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        let found = found.with_context(|| format!("{} is not valid PEM", self.path.display()))?;
        ensure!(!found.is_empty(), "{} has no certificate in PEM", self.path.display());
        Ok(found)
    }

    fn key(&self) -> anyhow::Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::from_pem_slice(&self.text)
            .with_context(|| format!("{} has no private key in PEM", self.path.display()))
    }
}

/// The certificate of this process, with the chain up to its CA, and its key.
#[derive(Clone)]
pub struct Identity {
    pub certificate: PemFile,
    pub key: PemFile,
}

impl Identity {
    /// The certificate itself in DER, without its chain.
    pub fn leaf(&self) -> anyhow::Result<CertificateDer<'static>> {
        Ok(self.certificate.certificates()?.swap_remove(0))
    }
}

/// The TLS settings of connections to the services: trusted CAs and the own certificate. Clones share them.
#[derive(Clone, Default)]
pub struct ClientTls(Arc<Inner>);

#[derive(Default)]
struct Inner {
    ca: Option<PemFile>,
    identity: Option<Identity>,
    /// Built for the first connection, which also reads the system's CAs.
    config: OnceLock<Arc<ClientConfig>>,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |file: &PemFile| file.path.clone();
        let (ca, certificate) = (self.ca().map(path), self.identity().map(|own| own.certificate.path.clone()));
        f.debug_struct("ClientTls").field("ca", &ca).field("certificate", &certificate).finish_non_exhaustive()
    }
}

impl ClientTls {
    pub fn new(ca: Option<PemFile>, identity: Option<Identity>) -> ClientTls {
        ClientTls(Arc::new(Inner { ca, identity, config: OnceLock::new() }))
    }

    /// The file with further CAs.
    pub fn ca(&self) -> Option<&PemFile> {
        self.0.ca.as_ref()
    }

    pub fn identity(&self) -> Option<&Identity> {
        self.0.identity.as_ref()
    }

    /// Fails unless the file of CAs can be used.
    pub fn check_ca(&self) -> anyhow::Result<()> {
        let Some(ca) = self.ca() else { return Ok(()) };
        for certificate in ca.certificates()? {
            let added = RootCertStore::empty().add(certificate);
            added.with_context(|| format!("{} has an invalid certificate", ca.path.display()))?;
        }
        Ok(())
    }

    /// The trusted CAs: from the file and from the system. Certificates of the system that cannot be read are left out.
    pub fn roots(&self) -> anyhow::Result<Vec<CertificateDer<'static>>> {
        let mut roots = self.ca().map(PemFile::certificates).transpose()?.unwrap_or_default();
        let is_usable = |root: &CertificateDer<'static>| RootCertStore::empty().add(root.clone()).is_ok();
        roots.extend(rustls_native_certs::load_native_certs().certs.into_iter().filter(is_usable));
        Ok(roots)
    }

    /// The trusted CAs in PEM, for clients that take nothing else.
    pub fn roots_pem(&self) -> anyhow::Result<Vec<u8>> {
        Ok(self.roots()?.iter().flat_map(|root| pem(root).into_bytes()).collect())
    }

    /// The settings of a connection that is made here.
    pub fn config(&self) -> anyhow::Result<Arc<ClientConfig>> {
        if let Some(config) = self.0.config.get() {
            return Ok(config.clone());
        }
        let config = Arc::new(self.build()?);
        Ok(self.0.config.get_or_init(|| config).clone())
    }

    fn build(&self) -> anyhow::Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for root in self.roots()? {
            roots.add(root)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(roots);
        Ok(match self.identity() {
            None => builder.with_no_client_auth(),
            Some(Identity { certificate, key }) => {
                let built = builder.with_client_auth_cert(certificate.certificates()?, key.key()?);
                built.with_context(|| {
                    format!("{} and {} do not match", certificate.path.display(), key.path.display())
                })?
            }
        })
    }
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    let body = STANDARD.encode(certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in body.as_bytes().chunks(PEM_LINE) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text + "-----END CERTIFICATE-----\n"
}

/// What to change when a service or this process refused the other's certificate; `None` for an error of another kind.
pub fn repair(error: &str) -> Option<&'static str> {
    const UNTRUSTED: &str = "its certificate was not issued by a CA of the system or of SECKILL_TLS_CA";
    const WRONG_NAME: &str = "its certificate is for another name than the address has";
    const UNWANTED: &str = "it wants another client certificate (SECKILL_TLS_CERT, SECKILL_TLS_KEY)";
    const INVALID: &str = "its certificate is not valid (SECKILL_TLS_CA)";
    const PLAIN: &str = "it does not speak TLS on this port";
    let repairs = [
        ("UnknownIssuer", UNTRUSTED),
        ("not valid for name", WRONG_NAME),
        ("NotValidForName", WRONG_NAME),
        ("CertificateRequired", UNWANTED),
        ("UnknownCA", UNWANTED),
        ("BadCertificate", UNWANTED),
        ("HandshakeFailure", UNWANTED),
        ("invalid peer certificate", INVALID),
        ("InvalidContentType", PLAIN),
        ("corrupt message", PLAIN),
        ("server does not support TLS", PLAIN),
    ];
    repairs.iter().find(|(part, _)| error.contains(part)).map(|&(_, repair)| repair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_survives_the_way_through_pem() {
        let certificate = CertificateDer::from((0..200).collect::<Vec<u8>>());
        let read: Vec<_> = CertificateDer::pem_slice_iter(pem(&certificate).as_bytes()).map(Result::unwrap).collect();
        assert_eq!(read, [certificate]);
    }

    #[test]
    fn files_without_a_certificate_or_key_are_refused() {
        let file = |text: &str| PemFile { path: "x.pem".into(), text: text.as_bytes().to_vec() };
        for text in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let error = ClientTls::new(Some(file(text)), None).check_ca().unwrap_err();
            assert!(error.to_string().contains("x.pem"), "{error:#}");
        }
        let identity = Identity { certificate: file(""), key: file("") };
        assert!(ClientTls::new(None, Some(identity)).config().is_err());
    }

    #[test]
    fn a_refused_certificate_names_the_setting() {
        assert!(repair("invalid peer certificate: UnknownIssuer").unwrap().contains("SECKILL_TLS_CA"));
        assert!(repair("received fatal alert: CertificateRequired").unwrap().contains("SECKILL_TLS_CERT"));
        assert_eq!(repair("Connection refused"), None);
    }
}
