//! The mail server, by SMTP. Whether the connection is encrypted follows from the address alone
//! (`docs/decisions/0029`).

use std::time::{Duration, SystemTime};

use anyhow::Context;
use boxed::boxed;
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Identity, Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use secrecy::ExposeSecret;
use url::Url;

use super::Letter;
use crate::TransportError;
use base::config::{MailConfig, ServiceAddress};
use domain::MailAddress;
use store::Mail;

/// How long the server may take for one message, with the connection.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Ports for addresses without one.
const SMTP_PORT: u16 = 25;
const SUBMISSION_PORT: u16 = 587;
const SMTPS_PORT: u16 = 465;

/// A mail server.
pub struct Transport {
    smtp: AsyncSmtpTransport<Tokio1Executor>,
    from: Address,
    /// The domain of Message-IDs.
    domain: String,
}

#[boxed]
impl Transport {
    /// `None` if no server is configured.
    pub fn of(config: &MailConfig) -> anyhow::Result<Option<Transport>> {
        config.smtp.as_ref().map(|server| Transport::new(server, &config.from)).transpose()
    }

    fn new(server: &ServiceAddress, from: &MailAddress) -> anyhow::Result<Transport> {
        let url = Url::parse(server.url.expose_secret())?;
        let host = url.host_str().context("SECKILL_SMTP_URL has no host")?.trim_matches(['[', ']']);
        let (tls, port) = match (server.is_encrypted(), url.scheme()) {
            (false, _) => (Tls::None, SMTP_PORT),
            (true, "smtps") => (Tls::Wrapper(parameters(server, host)?), SMTPS_PORT),
            (true, _) => (Tls::Required(parameters(server, host)?), SUBMISSION_PORT),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host);
        let mut builder = builder.port(url.port().unwrap_or(port)).tls(tls).timeout(Some(SEND_TIMEOUT));
        if let Some(password) = url.password() {
            let decoded = |text: &str| urlencoded(text).context("SECKILL_SMTP_URL: user or password is not UTF-8");
            builder = builder.credentials(Credentials::new(decoded(url.username())?, decoded(password)?));
        }
        let domain = from.as_str().rsplit('@').next().unwrap_or_default().to_owned();
        Ok(Transport { smtp: builder.build(), from: from.as_str().parse()?, domain })
    }

    /// Sends a message. After an error it is unknown whether the server has it.
    pub async fn send(&self, mail: &Mail, letter: &Letter) -> Result<(), TransportError> {
        let message = self.message(mail, letter)?;
        match tokio::time::timeout(SEND_TIMEOUT, self.smtp.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(TransportError { is_permanent: error.is_permanent(), ..TransportError::new(&error) }),
            Err(elapsed) => Err(TransportError::new(&elapsed)),
        }
    }

    fn message(&self, mail: &Mail, letter: &Letter) -> Result<Message, TransportError> {
        let to: Address = mail.recipient.parse().map_err(|error| TransportError::new(&error))?;
        let written_at = Duration::from_millis(mail.created_at.as_millisecond().try_into().unwrap_or_default());
        let message = Message::builder()
            .from(Mailbox::new(Some(letter.sender.clone()), self.from.clone()))
            .to(Mailbox::new(None, to))
            .subject(&letter.subject)
            .date(SystemTime::UNIX_EPOCH + written_at)
            .message_id(Some(format!("<{}@{}>", mail.id, self.domain)))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN);
        message.body(letter.text.clone()).map_err(|error| TransportError::new(&error))
    }

    /// Whether the server answers, and accepts user and password.
    pub async fn check(&self) -> anyhow::Result<()> {
        let answers = self.smtp.test_connection().await.map_err(|error| TransportError::new(&error))?;
        anyhow::ensure!(answers, "the server does not accept commands");
        Ok(())
    }
}

/// Tells programs that answer mail not to answer this (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(AutoSubmitted)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        lettre::message::header::HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

/// The same CAs and the same client certificate as for other services.
fn parameters(server: &ServiceAddress, host: &str) -> anyhow::Result<TlsParameters> {
    let mut builder = TlsParameters::builder(host.to_owned()).certificate_store(CertificateStore::None);
    for root in server.tls.roots()? {
        builder = builder.add_root_certificate(Certificate::from_der(root.to_vec())?);
    }
    if let Some(own) = server.tls.identity() {
        // lettre 0.11 takes the certificate as it is sent, in DER, whatever the name says. It sends no chain.
        builder = builder.identify_with(Identity::from_pem(&own.leaf()?, &own.key.text)?);
    }
    Ok(builder.build_rustls()?)
}

/// Decodes user and password, which are written in the address with `%40` for `@`.
fn urlencoded(text: &str) -> Option<String> {
    let plain = text.replace('+', "%2B");
    let pair = format!("x={plain}");
    let decoded = url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned());
    decoded.filter(|value| !value.contains('\u{fffd}'))
}
