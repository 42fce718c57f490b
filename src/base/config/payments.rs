//! Which payment provider is on.

use super::Source;
use domain::wire::wire_enum;

wire_enum! {
    /// The provider that takes payments and top-ups.
    pub enum PaymentProvider {
        /// The cashier that accepts every payment without money.
        Sandbox = "sandbox",
        /// No provider: orders are paid from wallets only.
        None = "none",
    }
}

/// The provider as configured. The sandbox gives goods and wallet money away, so a shop behind https gets it only if
/// the setting says so. By default such a shop has no provider.
pub(super) fn read_payments(source: &Source, is_https: bool) -> anyhow::Result<PaymentProvider> {
    let default = if is_https { PaymentProvider::None } else { PaymentProvider::Sandbox };
    source.parse("payments", default, |text| text.parse().map_err(|()| anyhow::anyhow!("expected sandbox or none")))
}
