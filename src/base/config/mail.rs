//! The mail server, and the address that the shop writes from.

use anyhow::{Context, ensure};
use secrecy::SecretString;
use url::Url;

use super::{ServiceAddress, Source, variable};
use crate::tls::ClientTls;
use domain::MailAddress;

#[derive(Debug, Clone)]
pub struct MailConfig {
    /// `None`: messages stay in the database, and owners read them in the console.
    pub smtp: Option<ServiceAddress>,
    /// The sender of messages.
    pub from: MailAddress,
}

pub(super) fn read_mail(source: &Source, tls: &ClientTls, public_url: &str) -> anyhow::Result<MailConfig> {
    let smtp = source.secret("smtp-url").map(|url| smtp_url(url, tls)).transpose();
    let smtp = smtp.with_context(|| format!("{} has a wrong value", variable("smtp-url")))?;
    let from = source.parse("mail-from", default_sender(public_url), |text| {
        MailAddress::parse(text).context("expected an address such as shop@shop.example")
    })?;
    Ok(MailConfig { smtp, from })
}

/// `smtp://` without TLS, `smtp://…?tls=required` with STARTTLS, `smtps://` with TLS from the first byte. The server's
/// offers do not change that.
fn smtp_url(text: SecretString, tls: &ClientTls) -> anyhow::Result<ServiceAddress> {
    use secrecy::ExposeSecret;
    const EXPECTED: &str = "expected smtp://…, smtp://…?tls=required or smtps://…";
    let url = Url::parse(text.expose_secret()).context("not a valid address")?;
    ensure!(matches!(url.scheme(), "smtp" | "smtps") && url.has_host(), EXPECTED);
    ensure!(matches!(url.path(), "" | "/") && url.fragment().is_none(), EXPECTED);
    ensure!(url.query().is_none_or(|query| url.scheme() == "smtp" && query == "tls=required"), EXPECTED);
    let has_credentials = !url.username().is_empty();
    ensure!(has_credentials == url.password().is_some(), "the address has a user without a password, or the reverse");
    Ok(ServiceAddress { url: text, tls: tls.clone() })
}

/// An address at the host that shoppers see.
fn default_sender(public_url: &str) -> MailAddress {
    let host = Url::parse(public_url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let address = MailAddress::parse(&format!("no-reply@{host}"));
    address.or_else(|| MailAddress::parse("no-reply@seckill.invalid")).expect("the last one is an address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn read(file: &str) -> anyhow::Result<MailConfig> {
        Ok(Config::read(&Source { file: file.parse().unwrap(), ..Source::default() })?.mail)
    }

    #[test]
    fn encryption_follows_from_the_address() {
        for (url, encrypted) in [
            ("smtp://127.0.0.1:2525", false),
            ("smtp://user:p%40ss@mail.example", false),
            ("smtp://user:pass@mail.example?tls=required", true),
            ("smtps://mail.example", true),
        ] {
            assert_eq!(read(&format!("smtp_url = '{url}'")).unwrap().smtp.unwrap().is_encrypted(), encrypted, "{url}");
        }
        for wrong in [
            "http://mail.example",
            "smtp://mail.example?tls=opportunistic",
            "smtps://mail.example?tls=required",
            "smtp://mail.example/path",
            "smtp://user@mail.example",
            "smtp:///",
        ] {
            let error = format!("{:#}", read(&format!("smtp_url = '{wrong}'")).unwrap_err());
            assert!(error.contains("SECKILL_SMTP_URL") && !error.contains(wrong), "{wrong}: {error}");
        }
    }

    #[test]
    fn sender_is_at_the_host_of_the_shop() {
        let from = |file: &str| read(file).unwrap().from.as_str().to_owned();
        assert_eq!(from("public_url = 'https://shop.example'"), "no-reply@shop.example");
        assert_eq!(from("public_url = 'http://127.0.0.1:8080'"), "no-reply@seckill.invalid");
        assert_eq!(from("mail_from = 'hello@shop.example'"), "hello@shop.example");
    }
}
