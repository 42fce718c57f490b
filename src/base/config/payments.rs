//! Which payment providers are on, and their keys.

use anyhow::{Context, bail, ensure};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{Source, WebConfig, variable};
use crate::rsa::{SigningKey, VerifyingKey};
use domain::wire::wire_enum;

const STRIPE_API: &str = "https://api.stripe.com";
const WECHATPAY_API: &str = "https://api.mch.weixin.qq.com";
const ALIPAY_API: &str = "https://openapi.alipay.com";
/// The hosts of Alipay's sandbox end so.
const ALIPAY_SANDBOX: &str = ".alipaydev.com";

wire_enum! {
    /// A provider that takes payments and top-ups.
    pub enum PaymentProvider {
        /// The cashier that accepts every payment without money.
        Sandbox = "sandbox",
        /// Stripe Checkout.
        Stripe = "stripe",
        WechatPay = "wechatpay",
        Alipay = "alipay",
    }
}

/// The payment providers.
#[derive(Debug, Clone)]
pub struct PaymentsConfig {
    /// The providers that payers may choose, the first one first. Empty: orders are paid from wallets only.
    pub offered: Vec<PaymentProvider>,
    /// The accounts at providers. Earlier payments end at one that is not offered any more.
    pub stripe: Option<StripeConfig>,
    pub wechatpay: Option<WechatPayConfig>,
    pub alipay: Option<AlipayConfig>,
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

#[derive(Debug, Clone)]
pub struct WechatPayConfig {
    pub mchid: String,
    pub appid: String,
    pub key: SigningKey,
    /// The number of the certificate of `key`.
    pub serial: String,
    /// 32 bytes.
    pub v3_key: SecretString,
    /// The id of the platform's public key, and the key, for accounts that have one.
    pub public_key: Option<(String, VerifyingKey)>,
    /// The origin of the API.
    pub api: String,
    /// Whether the API is a stand-in on this machine. WeChat Pay has no test mode.
    pub is_test: bool,
}

#[derive(Debug, Clone)]
pub struct AlipayConfig {
    pub app_id: String,
    pub seller_id: String,
    pub key: SigningKey,
    /// Keys by which Alipay may have signed: several while one is replaced.
    pub alipay_keys: Vec<VerifyingKey>,
    /// Whether payers on a computer scan a QR code on the shop's page, instead of going to Alipay's.
    pub shows_code: bool,
    /// The origin of the gateway.
    pub api: String,
    /// Whether it is Alipay's sandbox, or a stand-in on this machine.
    pub is_test: bool,
}

/// The sandbox gives goods and wallet money away, so a shop behind https gets it only if the setting says so, and never
/// beside a provider that takes money. By default a shop has the providers whose keys it has.
pub(super) fn read_payments(source: &Source, web: &WebConfig) -> anyhow::Result<PaymentsConfig> {
    use PaymentProvider::{Alipay, Sandbox, Stripe, WechatPay};
    let (stripe, wechatpay) = (read_stripe(source, web)?, read_wechatpay(source, web)?);
    let alipay = read_alipay(source, web)?;
    let with_keys = [(Stripe, stripe.is_some()), (WechatPay, wechatpay.is_some()), (Alipay, alipay.is_some())];
    let mut default: Vec<PaymentProvider> = with_keys.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    if default.is_empty() && !web.is_https() {
        default.push(Sandbox);
    }
    let offered = source.parse("payments", default, |text| {
        let mut offered = Vec::new();
        for name in text.split(',').map(str::trim).filter(|_| text != "none") {
            let expected = "expected stripe, wechatpay, alipay, sandbox, a list, or none";
            let found = name.parse().map_err(|()| anyhow::anyhow!(expected))?;
            ensure!(!offered.contains(&found), "{name} stands in the list twice");
            ensure!(!with_keys.contains(&(found, false)), "{name} needs its keys, see docs/payments.md");
            offered.push(found);
        }
        let is_free = offered.contains(&Sandbox);
        let is_alone = !is_free || !web.is_https() || offered.len() == 1;
        ensure!(is_alone, "the sandbox gives goods away; behind https it cannot stand beside another provider");
        Ok(offered)
    })?;
    Ok(PaymentsConfig { offered, stripe, wechatpay, alipay })
}

/// Settings of which a provider needs all. `None` if none of them is given.
fn together<const N: usize>(source: &Source, names: [&'static str; N]) -> anyhow::Result<Option<[SecretString; N]>> {
    let values = names.map(|name| source.secret(name));
    let Some(given) = names.iter().zip(&values).find(|(_, value)| value.is_some()).map(|(name, _)| name) else {
        return Ok(None);
    };
    if let Some((missing, _)) = names.iter().zip(&values).find(|(_, value)| value.is_none()) {
        bail!("{} is set but {} is not", variable(given), variable(missing));
    }
    let values: Vec<SecretString> = values.into_iter().flatten().collect();
    Ok(values.try_into().ok())
}

/// The text of a value that is no secret.
fn checked(name: &str, value: &SecretString, is_right: bool, expected: &str) -> anyhow::Result<String> {
    ensure!(is_right, "{} has a wrong value: expected {expected}", variable(name));
    Ok(value.expose_secret().to_owned())
}

fn is_number(text: &str) -> bool {
    (8..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn read_stripe(source: &Source, web: &WebConfig) -> anyhow::Result<Option<StripeConfig>> {
    let (api, _) = read_api(source, "stripe-api", STRIPE_API)?;
    let keys = together(source, ["stripe-secret-key", "stripe-webhook-secret"])?;
    let Some([secret_key, webhook]) = keys else { return Ok(None) };
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

fn read_wechatpay(source: &Source, web: &WebConfig) -> anyhow::Result<Option<WechatPayConfig>> {
    let (api, is_test) = read_api(source, "wechatpay-api", WECHATPAY_API)?;
    let names = ["wechatpay-mchid", "wechatpay-appid", "wechatpay-key", "wechatpay-serial", "wechatpay-v3-key"];
    let public_key = together(source, ["wechatpay-public-key-id", "wechatpay-public-key"])?;
    let Some([mchid, appid, key, serial, v3_key]) = together(source, names)? else {
        ensure!(public_key.is_none(), "SECKILL_WECHATPAY_PUBLIC_KEY is set but SECKILL_WECHATPAY_MCHID is not");
        return Ok(None);
    };
    ensure!(is_test || web.is_https(), "WeChat Pay needs an https address in SECKILL_PUBLIC_URL for its notices");
    let is_mchid = is_number(mchid.expose_secret());
    let is_appid = appid.expose_secret().starts_with("wx")
        && appid.expose_secret().bytes().all(|byte| byte.is_ascii_alphanumeric());
    let serial_text = serial.expose_secret();
    let is_serial = serial_text.len() >= 8 && serial_text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_v3_key = v3_key.expose_secret().len() == 32;
    ensure!(is_v3_key, "SECKILL_WECHATPAY_V3_KEY has a wrong value: expected the 32 characters of the APIv3 key");
    let public_key = public_key.map(|[id, key]| {
        let is_id = id.expose_secret().starts_with("PUB_KEY_ID_");
        let id = checked("wechatpay-public-key-id", &id, is_id, "PUB_KEY_ID_…")?;
        anyhow::Ok((id, read_key("wechatpay-public-key", &key, VerifyingKey::parse)?))
    });
    Ok(Some(WechatPayConfig {
        mchid: checked("wechatpay-mchid", &mchid, is_mchid, "the number of the merchant, such as 1900000001")?,
        appid: checked("wechatpay-appid", &appid, is_appid, "wx…")?,
        key: read_key("wechatpay-key", &key, SigningKey::parse)?,
        serial: checked(
            "wechatpay-serial",
            &serial,
            is_serial,
            "the hexadecimal number of the merchant's certificate",
        )?,
        v3_key,
        public_key: public_key.transpose()?,
        api,
        is_test,
    }))
}

fn read_alipay(source: &Source, web: &WebConfig) -> anyhow::Result<Option<AlipayConfig>> {
    let (api, is_local) = read_api(source, "alipay-api", ALIPAY_API)?;
    let shows_code = source.parse("alipay-scan", false, |text| text.parse().context("expected true or false"))?;
    let keys = together(source, ["alipay-app-id", "alipay-seller-id", "alipay-key", "alipay-public-key"])?;
    let Some([app_id, seller_id, key, alipay_keys]) = keys else { return Ok(None) };
    let is_test = is_local || Url::parse(&api)?.host_str().is_some_and(|host| host.ends_with(ALIPAY_SANDBOX));
    ensure!(is_test || web.is_https(), "Alipay needs an https address in SECKILL_PUBLIC_URL, except for its sandbox");
    let (is_app, is_seller) = (is_number(app_id.expose_secret()), is_number(seller_id.expose_secret()));
    Ok(Some(AlipayConfig {
        app_id: checked("alipay-app-id", &app_id, is_app, "the number of the app, such as 2021000000000001")?,
        seller_id: checked(
            "alipay-seller-id",
            &seller_id,
            is_seller,
            "the number of the merchant, such as 2088000000000001",
        )?,
        key: read_key("alipay-key", &key, SigningKey::parse)?,
        alipay_keys: read_key("alipay-public-key", &alipay_keys, |keys| {
            keys.split(',').map(|key| VerifyingKey::parse(key.trim())).collect()
        })?,
        shows_code,
        api,
        is_test,
    }))
}

fn read_key<T>(name: &str, value: &SecretString, parse: fn(&str) -> anyhow::Result<T>) -> anyhow::Result<T> {
    parse(value.expose_secret()).with_context(|| format!("{} has a wrong value", variable(name)))
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

/// The origin of an API, and whether it is a stand-in on this machine. Keys or orders are sent there, so it must be
/// encrypted elsewhere.
fn read_api(source: &Source, name: &str, default: &str) -> anyhow::Result<(String, bool)> {
    source.parse(name, (default.to_owned(), false), |text| {
        let origin = super::origin(text)?;
        let host = Url::parse(&origin)?.host_str().unwrap_or_default().to_owned();
        let is_local = matches!(host.as_str(), "127.0.0.1" | "localhost" | "[::1]");
        ensure!(origin.starts_with("https://") || is_local, "expected https://…");
        Ok((origin, is_local))
    })
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
            (format!("stripe_secret_key = '{live}'"), "SECKILL_STRIPE_WEBHOOK_SECRET is not"),
            ("stripe_webhook_secret = 'whsec_sesame6789'".to_owned(), "SECKILL_STRIPE_SECRET_KEY is not"),
            ("payments = 'stripe'".to_owned(), "SECKILL_PAYMENTS has a wrong value: stripe needs its keys"),
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

    const KEY: &str = include_str!("../../../tests/providers/keys/merchant.key");
    const CERTIFICATE: &str = include_str!("../../../tests/providers/keys/platform_a.pem");

    fn wechatpay() -> String {
        format!(
            "{HTTPS}\nwechatpay_mchid = '1900000001'\nwechatpay_appid = 'wx0123456789abcdef'\nwechatpay_key = \"\"\"{KEY}\"\"\"\n\
             wechatpay_serial = '1DDE55AD98ED71D6'\nwechatpay_v3_key = '0123456789abcdef0123456789abcdef'"
        )
    }

    fn alipay() -> String {
        format!(
            "alipay_app_id = '2021000000000001'\nalipay_seller_id = '2088000000000001'\nalipay_key = \"\"\"{KEY}\"\"\"\n\
             alipay_public_key = \"\"\"{CERTIFICATE}\"\"\"\nalipay_api = 'https://openapi-sandbox.dl.alipaydev.com'"
        )
    }

    #[test]
    fn wechat_pay_and_alipay_are_offered_with_all_their_keys() {
        use PaymentProvider::*;
        assert_eq!(offered(&format!("{}\n{}\n{KEYS}", wechatpay(), alipay())), [Stripe, WechatPay, Alipay]);
        let of = |file: &str| Config::read_text(file).unwrap().payments;
        assert!(of(&wechatpay()).wechatpay.is_some_and(|account| !account.is_test));
        assert!(of(&alipay()).alipay.is_some_and(|account| account.is_test), "the sandbox needs no https");
        let live = format!("{HTTPS}\n{}", alipay().replace("openapi-sandbox.dl.alipaydev.com", "openapi.alipay.com"));
        assert!(of(&live).alipay.is_some_and(|account| !account.is_test));
        let debug = format!("{:?}", (of(&wechatpay()), of(&alipay())));
        assert!(!debug.contains("0123456789abcdef0") && !debug.contains("MII"), "{debug}");
    }

    #[test]
    fn two_keys_of_alipay_are_read_while_one_is_replaced() {
        let keys = |text: &str| {
            let file = alipay().replace(CERTIFICATE, &format!("{CERTIFICATE}{text}"));
            Config::read_text(&file).map(|config| config.payments.alipay.unwrap().alipay_keys.len())
        };
        let other = include_str!("../../../tests/providers/keys/platform_b.pem");
        assert_eq!((keys("").unwrap(), keys(&format!(", {other}")).unwrap()), (1, 2));
        for wrong in [",", ", sesame"] {
            let message = format!("{:#}", keys(wrong).unwrap_err());
            assert!(
                message.contains("SECKILL_ALIPAY_PUBLIC_KEY has a wrong value") && !message.contains("sesame"),
                "{message}"
            );
        }
    }

    #[test]
    fn wrong_keys_of_wechat_pay_and_alipay_stop_the_start() {
        let no_https = |file: String| file.replace("https://shop.example", "http://127.0.0.1:8080");
        for (file, words) in [
            (
                wechatpay().replace("BEGIN PRIVATE KEY", "BEGIN SESAME"),
                "SECKILL_WECHATPAY_KEY has a wrong value: expected a private key in PEM",
            ),
            (wechatpay().replace(KEY, "MIIsesame"), "SECKILL_WECHATPAY_KEY has a wrong value"),
            (
                wechatpay().replace("abcdef0123456789abcdef'", "sesame'"),
                "SECKILL_WECHATPAY_V3_KEY has a wrong value: expected the 32",
            ),
            (wechatpay().replace("1900000001", "sesame"), "SECKILL_WECHATPAY_MCHID has a wrong value"),
            (wechatpay().replace("wx0123456789abcdef", "sesame"), "SECKILL_WECHATPAY_APPID has a wrong value"),
            (wechatpay().replace("1DDE55AD98ED71D6", "sesame"), "SECKILL_WECHATPAY_SERIAL has a wrong value"),
            (
                wechatpay().replace("wechatpay_serial", "#"),
                "SECKILL_WECHATPAY_MCHID is set but SECKILL_WECHATPAY_SERIAL is not",
            ),
            (format!("{}\nwechatpay_public_key = 'sesame'", wechatpay()), "SECKILL_WECHATPAY_PUBLIC_KEY_ID is not"),
            (
                format!("{}\nwechatpay_public_key = 'sesame'\nwechatpay_public_key_id = 'PUB_KEY_ID_1'", wechatpay()),
                "SECKILL_WECHATPAY_PUBLIC_KEY has a wrong value",
            ),
            (no_https(wechatpay()), "WeChat Pay needs an https address in SECKILL_PUBLIC_URL"),
            (alipay().replace(CERTIFICATE, KEY), "SECKILL_ALIPAY_PUBLIC_KEY has a wrong value"),
            (alipay().replace(KEY, CERTIFICATE), "SECKILL_ALIPAY_KEY has a wrong value"),
            (alipay().replace("2088000000000001", "sesame"), "SECKILL_ALIPAY_SELLER_ID has a wrong value"),
            (
                alipay().replace("openapi-sandbox.dl.alipaydev.com", "alipaydev.com.example"),
                "Alipay needs an https address",
            ),
            (format!("{}\nalipay_scan = 'perhaps'", alipay()), "SECKILL_ALIPAY_SCAN has a wrong value"),
            ("payments = 'alipay'".to_owned(), "alipay needs its keys"),
        ] {
            let message = format!("{:#}", Config::read_text(&file).expect_err(words));
            assert!(message.contains(words) && !message.contains("sesame"), "{words}: {message}");
        }
    }
}
