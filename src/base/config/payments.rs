//! Which payment provider is on.

use super::Source;
use domain::wire::wire_enum;

wire_enum! {
    /// What takes payments and top-ups.
    pub enum PaymentProvider {
        /// The cashier that accepts every payment without money.
        Sandbox = "sandbox",
        /// Nothing: orders are paid from wallets only.
        None = "none",
    }
}

/// The provider as configured. The sandbox gives goods and wallet money away, so a shop behind https has to ask for it.
/// Without a word it has none.
pub(super) fn read_payments(source: &Source, is_https: bool) -> anyhow::Result<PaymentProvider> {
    let default = if is_https { PaymentProvider::None } else { PaymentProvider::Sandbox };
    source.parse("payments", default, |text| text.parse().map_err(|()| anyhow::anyhow!("expected sandbox or none")))
}
