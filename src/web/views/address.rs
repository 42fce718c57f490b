//! An address of an order, as its owner and the staff see it.

use domain::{Address, Locale};
use words::country;

/// An address to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressView {
    pub recipient: String,
    pub phone: String,
    pub lines: Vec<String>,
    pub country: String,
}

impl AddressView {
    pub fn of(address: &Address, locale: Locale) -> AddressView {
        AddressView {
            recipient: address.recipient.clone(),
            phone: address.phone.clone(),
            lines: address.lines(),
            country: country(locale, &address.country).to_owned(),
        }
    }
}
