//! Which payment providers are on, and their keys.

use anyhow::{Context, bail, ensure};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{Source, WebConfig};
use domain::wire::wire_enum;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

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
}
