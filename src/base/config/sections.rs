//! Settings that are read together: accounts, logs, mail, payments, and the shop's secret.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::Url;

use crate::config::{ServiceAddress, Source, WebConfig, duration, variable};
use crate::tls::ClientTls;
use domain::MailAddress;
use domain::wire::wire_enum;

const DEFAULT_STAFF_IDLE: Duration = Duration::from_secs(30 * 60);
const DEFAULT_STAFF_STEP_UP: Duration = Duration::from_secs(15 * 60);
/// Whole units of a currency: two of the demo's phones, and not three.
const DEFAULT_SECOND_PERSON_ABOVE: i64 = 5_000;
const MAX_SECOND_PERSON_ABOVE: i64 = 1_000_000_000;
const DEFAULT_FREE_REGISTRATIONS: u32 = 10;
/// Upper limit of the setting: more accounts than a network registers in an hour.
const MAX_FREE_REGISTRATIONS: u32 = 1_000_000;
/// The minimum of both settings: processes store uses of sessions every half minute, and filling in a form takes less
/// than this.
const MIN: Duration = Duration::from_secs(60);

pub(super) fn admin_password(source: &Source) -> anyhow::Result<Option<SecretString>> {
    let password = source.secret("admin-password");
    let long_enough = password.as_ref().is_none_or(|p| p.expose_secret().chars().count() >= 8);
    anyhow::ensure!(long_enough, "SECKILL_ADMIN_PASSWORD has a wrong value: it needs at least 8 characters");
    Ok(password)
}

/// How long staff may leave a session unused.
pub(super) fn staff_idle(source: &Source) -> anyhow::Result<Duration> {
    a_minute_or_more(source, "staff-idle", DEFAULT_STAFF_IDLE)
}

/// How long staff are not asked for their password again after they entered it.
pub(super) fn staff_step_up(source: &Source) -> anyhow::Result<Duration> {
    a_minute_or_more(source, "staff-step-up", DEFAULT_STAFF_STEP_UP)
}

/// What one person may refund alone within a day, in whole units of the payment's currency. `None`: no limit.
pub(super) fn second_person_above(source: &Source) -> anyhow::Result<Option<i64>> {
    source.parse("second-person-above", Some(DEFAULT_SECOND_PERSON_ABOVE), |text| match text {
        "off" => Ok(None),
        text => {
            let parsed = text.parse().ok().filter(|units| (0..=MAX_SECOND_PERSON_ABOVE).contains(units));
            parsed
                .map(Some)
                .with_context(|| format!("expected off, or a whole number from 0 to {MAX_SECOND_PERSON_ABOVE}"))
        }
    })
}

/// Accounts that a host registers within an hour without a proof of work.
pub(super) fn free_registrations(source: &Source) -> anyhow::Result<u32> {
    source.parse("free-registrations", DEFAULT_FREE_REGISTRATIONS, |text| {
        let parsed = text.parse().ok().filter(|free| (1..=MAX_FREE_REGISTRATIONS).contains(free));
        parsed.with_context(|| format!("expected a whole number from 1 to {MAX_FREE_REGISTRATIONS}"))
    })
}

fn a_minute_or_more(source: &Source, name: &str, default: Duration) -> anyhow::Result<Duration> {
    source.parse(name, default, |text| {
        let parsed = duration(text)?;
        anyhow::ensure!(parsed >= MIN, "expected at least one minute");
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

// Which payment providers are on, and their keys.

const STRIPE_API: &str = "https://api.stripe.com";

wire_enum! {
    /// A provider that takes payments and top-ups.
    pub enum PaymentProvider {
        /// The cashier that accepts every payment without money.
        Sandbox = "sandbox",
        /// Stripe Checkout.
        Stripe = "stripe",
    }
}

/// The payment providers.
#[derive(Debug, Clone)]
pub struct PaymentsConfig {
    /// The providers that payers may choose, the first one first. Empty: orders are paid from wallets only.
    pub offered: Vec<PaymentProvider>,
    /// The account at Stripe. Earlier payments end there although it is not offered any more.
    pub stripe: Option<StripeConfig>,
}

impl PaymentsConfig {
    /// The names of the providers that are offered, or `none`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.offered.iter().map(|provider| provider.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

#[derive(Debug, Clone)]
pub struct StripeConfig {
    pub secret_key: SecretString,
    /// Secrets that may have signed a webhook: several while one is replaced.
    pub webhook_secrets: Vec<SecretString>,
    /// The origin of the API.
    pub api: String,
    /// Whether the key is of the test mode, in which no money moves.
    pub is_test: bool,
}

/// The sandbox gives goods and wallet money away, so a shop behind https gets it only if the setting says so, and never
/// beside a provider that takes money. By default a shop has the providers whose keys it has.
pub(super) fn read_payments(source: &Source, web: &WebConfig) -> anyhow::Result<PaymentsConfig> {
    let stripe = read_stripe(source, web)?;
    let default = match (&stripe, web.is_https()) {
        (Some(_), _) => vec![PaymentProvider::Stripe],
        (None, true) => Vec::new(),
        (None, false) => vec![PaymentProvider::Sandbox],
    };
    let offered = source.parse("payments", default, |text| {
        let mut offered = Vec::new();
        for name in text.split(',').map(str::trim).filter(|_| text != "none") {
            let found = name.parse().map_err(|()| anyhow::anyhow!("expected stripe, sandbox, a list, or none"))?;
            ensure!(!offered.contains(&found), "{name} stands in the list twice");
            offered.push(found);
        }
        if offered.contains(&PaymentProvider::Stripe) && stripe.is_none() {
            bail!("stripe needs SECKILL_STRIPE_SECRET_KEY and SECKILL_STRIPE_WEBHOOK_SECRET");
        }
        let is_free = offered.contains(&PaymentProvider::Sandbox);
        let is_alone = !is_free || !web.is_https() || offered.len() == 1;
        ensure!(is_alone, "the sandbox gives goods away; behind https it cannot stand beside another provider");
        Ok(offered)
    })?;
    Ok(PaymentsConfig { offered, stripe })
}

fn read_stripe(source: &Source, web: &WebConfig) -> anyhow::Result<Option<StripeConfig>> {
    let api = source.parse("stripe-api", STRIPE_API.to_owned(), stripe_api)?;
    let (secret_key, webhook) = match (source.secret("stripe-secret-key"), source.secret("stripe-webhook-secret")) {
        (Some(key), Some(webhook)) => (key, webhook),
        (None, None) => return Ok(None),
        (Some(_), None) => bail!(
            "SECKILL_STRIPE_SECRET_KEY is set but SECKILL_STRIPE_WEBHOOK_SECRET, which verifies Stripe's reports, is not"
        ),
        (None, Some(_)) => bail!("SECKILL_STRIPE_WEBHOOK_SECRET is set but SECKILL_STRIPE_SECRET_KEY is not"),
    };
    let is_test = is_test_key(secret_key.expose_secret()).context("SECKILL_STRIPE_SECRET_KEY has a wrong value")?;
    ensure!(
        is_test || web.is_https(),
        "SECKILL_STRIPE_SECRET_KEY is a live key, which needs an https address in SECKILL_PUBLIC_URL"
    );
    let webhook_secrets: Vec<SecretString> =
        webhook.expose_secret().split(',').map(|secret| SecretString::from(secret.trim().to_owned())).collect();
    ensure!(
        webhook_secrets.iter().all(|secret| has_shape(secret.expose_secret(), "whsec_")),
        "SECKILL_STRIPE_WEBHOOK_SECRET has a wrong value: expected whsec_…, or two with a comma while one is replaced"
    );
    Ok(Some(StripeConfig { secret_key, webhook_secrets, api, is_test }))
}

/// Whether a secret key is of the test mode.
fn is_test_key(key: &str) -> anyhow::Result<bool> {
    ensure!(!key.starts_with("pk_"), "this is a publishable key; expected the secret key, sk_live_… or sk_test_…");
    ensure!(!key.starts_with("whsec_"), "this is a webhook secret; expected a secret key, sk_live_… or sk_test_…");
    let is = |prefixes: [&str; 2]| prefixes.iter().any(|prefix| has_shape(key, prefix));
    ensure!(
        is(["sk_test_", "rk_test_"]) || is(["sk_live_", "rk_live_"]),
        "expected a secret key, sk_live_… or sk_test_…, or a restricted key, rk_live_… or rk_test_…"
    );
    Ok(is(["sk_test_", "rk_test_"]))
}

fn has_shape(text: &str, prefix: &str) -> bool {
    let rest = text.strip_prefix(prefix).unwrap_or_default();
    rest.len() >= 10
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'/' | b'='))
}

/// The key is sent to this origin, so it must be encrypted, apart from a stand-in on this machine.
fn stripe_api(text: &str) -> anyhow::Result<String> {
    let origin = super::origin(text)?;
    let host = Url::parse(&origin)?.host_str().unwrap_or_default().to_owned();
    let is_local = matches!(host.as_str(), "127.0.0.1" | "localhost" | "[::1]");
    ensure!(origin.starts_with("https://") || is_local, "expected https://…");
    Ok(origin)
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

    const KEYS: &str = "stripe_secret_key = 'sk_test_0123456789'\nstripe_webhook_secret = 'whsec_0123456789'";
    const HTTPS: &str = "public_url = 'https://shop.example'";

    fn offered(file: &str) -> Vec<PaymentProvider> {
        Config::read_text(file).unwrap().payments.offered
    }

    #[test]
    fn shop_has_the_providers_whose_keys_it_has() {
        use PaymentProvider::*;
        assert_eq!(offered(""), [Sandbox]);
        assert_eq!(offered(HTTPS), []);
        assert_eq!(offered(KEYS), [Stripe]);
        assert_eq!(offered(&format!("{HTTPS}\n{KEYS}")), [Stripe]);
        assert_eq!(offered(&format!("{KEYS}\npayments = 'sandbox,stripe'")), [Sandbox, Stripe]);
        assert_eq!(offered(&format!("{KEYS}\npayments = 'none'")), []);
        let retired = Config::read_text(&format!("{KEYS}\npayments = 'none'")).unwrap().payments;
        assert!(retired.stripe.is_some_and(|stripe| stripe.is_test), "earlier payments can end");
    }

    #[test]
    fn sandbox_behind_https_has_to_be_asked_for_and_stands_alone() {
        assert_eq!(offered(&format!("{HTTPS}\npayments = 'sandbox'")), [PaymentProvider::Sandbox]);
        let both = format!("{HTTPS}\n{KEYS}\npayments = 'stripe, sandbox'");
        let message = format!("{:#}", Config::read_text(&both).unwrap_err());
        assert!(message.contains("SECKILL_PAYMENTS") && message.contains("gives goods away"), "{message}");
    }

    #[test]
    fn wrong_keys_stop_the_start_and_are_not_shown() {
        let live = "sk_live_sesame6789";
        for (file, words) in [
            (
                KEYS.replace("sk_test", "pk_test"),
                "SECKILL_STRIPE_SECRET_KEY has a wrong value: this is a publishable key",
            ),
            (KEYS.replace("sk_test_0123456789", "sesame"), "SECKILL_STRIPE_SECRET_KEY has a wrong value: expected"),
            (KEYS.replace("sk_test_0123456789", "whsec_sesame6789"), "this is a webhook secret"),
            (KEYS.replace("whsec_0123456789", "sesame"), "SECKILL_STRIPE_WEBHOOK_SECRET has a wrong value"),
            (KEYS.replace("sk_test_0123456789", live), "needs an https address in SECKILL_PUBLIC_URL"),
            (format!("stripe_secret_key = '{live}'"), "SECKILL_STRIPE_WEBHOOK_SECRET, which verifies"),
            ("stripe_webhook_secret = 'whsec_sesame6789'".to_owned(), "SECKILL_STRIPE_SECRET_KEY is not"),
            ("payments = 'stripe'".to_owned(), "SECKILL_PAYMENTS has a wrong value: stripe needs"),
            ("payments = 'sandbox,sandbox'".to_owned(), "twice"),
            (format!("{KEYS}\nstripe_api = 'http://api.example'"), "SECKILL_STRIPE_API"),
        ] {
            let message = format!("{:#}", Config::read_text(&file).expect_err(&file));
            assert!(message.contains(words) && !message.contains("sesame"), "{file}: {message}");
        }
        let debug = format!("{:?}", Config::read_text(KEYS).unwrap());
        assert!(!debug.contains("0123456789"), "{debug}");
    }

    #[test]
    fn two_webhook_secrets_are_read_while_one_is_replaced() {
        let two = KEYS.replace("whsec_0123456789", "whsec_0123456789, whsec_9876543210");
        assert_eq!(Config::read_text(&two).unwrap().payments.stripe.unwrap().webhook_secrets.len(), 2);
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
