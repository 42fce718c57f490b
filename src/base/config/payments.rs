//! Which payment providers are on.

use anyhow::ensure;

use super::{Source, WebConfig};
use domain::wire::wire_enum;

wire_enum! {
    /// A provider that takes payments and top-ups.
    pub enum PaymentProvider {
        /// The cashier that accepts every payment without money.
        Sandbox = "sandbox",
    }
}

/// The payment providers.
#[derive(Debug, Clone)]
pub struct PaymentsConfig {
    /// The providers that payers may choose, the first one first. Empty: orders are paid from wallets only.
    pub offered: Vec<PaymentProvider>,
}

impl PaymentsConfig {
    /// The names of the providers that are offered, or `none`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.offered.iter().map(|provider| provider.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// The sandbox gives goods and wallet money away, so a shop behind https gets it only if the setting says so.
pub(super) fn read_payments(source: &Source, web: &WebConfig) -> anyhow::Result<PaymentsConfig> {
    let default = if web.is_https() { Vec::new() } else { vec![PaymentProvider::Sandbox] };
    let offered = source.parse("payments", default, |text| {
        let mut offered = Vec::new();
        for name in text.split(',').map(str::trim).filter(|_| text != "none") {
            let found = name.parse().map_err(|()| anyhow::anyhow!("expected sandbox or none"))?;
            ensure!(!offered.contains(&found), "{name} stands in the list twice");
            offered.push(found);
        }
        Ok(offered)
    })?;
    Ok(PaymentsConfig { offered })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn sandbox_behind_https_has_to_be_asked_for() {
        let offered = |file: &str| Config::read_text(file).unwrap().payments.offered;
        assert_eq!(offered("public_url = 'http://shop.example'"), [PaymentProvider::Sandbox]);
        assert_eq!(offered("public_url = 'https://shop.example'"), []);
        assert_eq!(offered("public_url = 'https://shop.example'\npayments = 'sandbox'"), [PaymentProvider::Sandbox]);
    }
}
