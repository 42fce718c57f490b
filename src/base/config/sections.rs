//! Settings that are read together: accounts, logs, mail, and the shop's secret.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::Url;

use crate::config::{ServiceAddress, Source, WebConfig, duration, variable, whole};
use crate::tls::ClientTls;
use domain::MailAddress;

/// Whole units of a currency: two of the demo's phones, and not three.
const DEFAULT_SECOND_PERSON_ABOVE: i64 = 5_000;
const MAX_SECOND_PERSON_ABOVE: i64 = 1_000_000_000;
/// The minimum of both settings: processes store uses of sessions every half minute, and filling in a form takes less
/// than this.
const MIN_STAFF_TIME: Duration = Duration::from_secs(60);

pub(super) fn admin_password(source: &Source) -> anyhow::Result<Option<SecretString>> {
    let password = source.secret("admin-password");
    let long_enough = password.as_ref().is_none_or(|p| p.expose_secret().chars().count() >= 8);
    anyhow::ensure!(long_enough, "SECKILL_ADMIN_PASSWORD has a wrong value: it needs at least 8 characters");
    Ok(password)
}

/// What one person may refund alone within a day, in whole units of the payment's currency. `None`: no limit.
pub(super) fn second_person_above(source: &Source) -> anyhow::Result<Option<i64>> {
    source.parse("second-person-above", Some(DEFAULT_SECOND_PERSON_ABOVE), |text| match text {
        "off" => Ok(None),
        text => whole(text, 0, MAX_SECOND_PERSON_ABOVE).map(Some).context("expected off, or a whole number"),
    })
}

/// For how long staff are trusted, by the clock of a setting.
pub(super) fn a_minute_or_more(source: &Source, name: &str, default: Duration) -> anyhow::Result<Duration> {
    source.parse(name, default, |text| {
        let parsed = duration(text)?;
        anyhow::ensure!(parsed >= MIN_STAFF_TIME, "expected at least one minute");
        Ok(parsed)
    })
}

// What is logged, and how.

/// A level for everything, levels for modules, or both: `info,sqlx=warn`. Filters of spans and fields are not supported.
pub(super) fn log_levels(text: &str) -> anyhow::Result<Targets> {
    let mut targets = Targets::new();
    // `Targets` can read texts itself, but takes any word that is not a level for the name of a module.
    for part in text.split(',').map(str::trim) {
        targets = match part.split_once('=') {
            None => targets.with_default(level(part)?),
            Some((module, of_module)) => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
                ensure!(!module.is_empty() && module.chars().all(is_name), "{module:?} is not the name of a module");
                targets.with_target(module, level(of_module)?)
            }
        };
    }
    Ok(targets)
}

fn level(text: &str) -> anyhow::Result<LevelFilter> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let known = LEVELS.iter().any(|level| text.eq_ignore_ascii_case(level));
    ensure!(known, "{text:?} is not a level; expected {}, such as info,sqlx=warn", LEVELS.join(", "));
    Ok(text.parse()?)
}

pub(super) fn log_format(text: &str) -> anyhow::Result<bool> {
    match text {
        "text" => Ok(false),
        "json" => Ok(true),
        _ => bail!("expected text or json"),
    }
}

// The mail server, and the address that the shop writes from.

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

// The strength of the shop's secret. Sessions are signed with it.

const MIN_BYTES: usize = 64;
/// Minimum entropy of the whole secret, estimated from how often each byte occurs. 64 random hexadecimal digits have
/// about 245.
const MIN_BITS: f64 = 192.0;

/// Checks the length. If other machines can reach the shop, also checks that the secret is set and looks random.
pub(super) fn check_secret(
    web: &WebConfig,
    secret: Option<&SecretString>,
    previous: Option<&SecretString>,
) -> anyhow::Result<()> {
    let is_local = web.listen.ip().is_loopback();
    for (variable, secret) in [("SECKILL_SECRET", secret), ("SECKILL_SECRET_PREVIOUS", previous)] {
        let Some(secret) = secret.map(SecretString::expose_secret) else { continue };
        ensure!(secret.len() >= MIN_BYTES, "{variable} has a wrong value: it needs at least {MIN_BYTES} bytes");
        ensure!(
            !web.is_reachable() || looks_random(secret.as_bytes()),
            "{variable} has a wrong value: it repeats itself and could be guessed; make one with: openssl rand -hex 64"
        );
    }
    ensure!(
        is_local || secret.is_some(),
        "SECKILL_SECRET is required when SECKILL_LISTEN ({}) can be reached from other machines; \
         make one with: openssl rand -hex 64",
        web.listen
    );
    Ok(())
}

fn looks_random(secret: &[u8]) -> bool {
    estimated_bits(secret) >= MIN_BITS && period(secret) > MIN_BYTES / 2
}

/// Shannon's entropy of the bytes, times their number.
fn estimated_bits(secret: &[u8]) -> f64 {
    let mut counts = [0.0_f64; 256];
    for &byte in secret {
        counts[usize::from(byte)] += 1.0;
    }
    let length = secret.len() as f64;
    counts.iter().filter(|&&count| count > 0.0).map(|count| count * (length / count).log2()).sum()
}

/// The length of the piece whose repetition makes up the whole.
fn period(secret: &[u8]) -> usize {
    (1..secret.len()).find(|&length| secret[length..] == secret[..secret.len() - length]).unwrap_or(secret.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn log_levels_apply_to_all_modules_or_to_one() {
        use tracing::Level;
        let default = log_levels("info,sqlx=warn,lapin=warn").unwrap();
        assert!(default.would_enable("seckill::gate", &Level::INFO));
        assert!(!default.would_enable("seckill::gate", &Level::DEBUG));
        assert!(default.would_enable("sqlx::query", &Level::WARN));
        assert!(!default.would_enable("sqlx::query", &Level::INFO));
        let spaced = log_levels("warn, seckill::gate=trace").unwrap();
        assert!(spaced.would_enable("seckill::gate", &Level::TRACE));
        assert!(!spaced.would_enable("seckill::stock", &Level::INFO));
        assert!(!log_levels("off").unwrap().would_enable("seckill", &Level::ERROR));
    }

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for wrong in ["verbose", "info,sqlx", "info,sqlx=loud", "info,,sqlx=warn", "=info", "info[request]=debug", "3"]
        {
            assert!(log_levels(wrong).is_err(), "{wrong}");
        }
        assert!(log_levels("verbose").unwrap_err().to_string().contains("\"verbose\""));
        assert!(log_levels("INFO,a-b::c=Debug").is_ok());
    }

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
        let wrong = "http://mail.example smtp://mail.example?tls=opportunistic smtps://mail.example?tls=required \
            smtp://mail.example/path smtp://user@mail.example smtp:///";
        for wrong in wrong.split(' ') {
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

    #[test]
    fn secrets_that_can_be_guessed_are_told_from_random_ones() {
        for weak in
            ["s".repeat(64), "password".repeat(8), "abcdefghijklmnopqrstuvwxyz012345".repeat(2), "01".repeat(99)]
        {
            assert!(!looks_random(weak.as_bytes()), "{weak}");
        }
        for _ in 0..1_000 {
            let hex: String = (0..32).map(|_| format!("{:02x}", rand::random::<u8>())).collect();
            assert!(looks_random(hex.as_bytes()), "{hex}");
        }
    }
}
