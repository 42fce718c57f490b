//! A shopper's addresses, and the choice of an address for an order.

use askama::Template;
use jiff::Timestamp;

use crate::sign_in::view::SaleBeside;
use domain::address::COUNTRIES;
use domain::{Address, AddressId, Locale, Money, OrderId, SaleId};
use pages::filters;
use store::SavedAddress;
use web::shared::FieldError;
use web::views::Chrome;
use web::views::address::AddressView;
use words::{OrdersText, country, field_error, text};

/// The fields of an address as entered.
#[derive(Debug)]
pub struct AddressForm {
    pub locale: Locale,
    pub typed: Address,
    pub errors: Vec<FieldError>,
}

impl AddressForm {
    pub fn blank(locale: Locale) -> AddressForm {
        // Readers of Chinese most likely live in China. In English no country is preselected.
        let country = if locale == Locale::Zh { "CN".to_owned() } else { String::new() };
        AddressForm { locale, typed: Address { country, ..Address::default() }, errors: Vec::new() }
    }

    fn t(&self) -> &'static OrdersText {
        &text(self.locale).orders
    }

    /// Chinese addresses begin with the region and end with the name.
    fn is_large_to_small(&self) -> bool {
        self.locale == Locale::Zh
    }

    fn error_text(&self, field: &str) -> Option<&'static str> {
        let error = self.errors.iter().find(|e| e.field == field)?;
        Some(field_error(self.locale, error.code))
    }

    /// The fields with errors, and their labels.
    fn wrong_fields(&self) -> Vec<(&'static str, &'static str)> {
        let t = self.t();
        let fields = self.errors.iter().map(|error| error.field);
        fields
            .map(|field| (field, t.entries().find(|(key, _)| *key == field).map_or(field, |(_, words)| words)))
            .collect()
    }

    fn countries(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let locale = self.locale;
        COUNTRIES.iter().map(move |code| (*code, country(locale, code)))
    }
}

/// An address in the list of the account.
#[derive(Debug)]
pub struct AddressCard {
    pub id: AddressId,
    pub is_default: bool,
    pub view: AddressView,
}

impl AddressCard {
    pub fn of(saved: &SavedAddress, locale: Locale) -> AddressCard {
        AddressCard { id: saved.id, is_default: saved.is_default, view: AddressView::of(&saved.address, locale) }
    }
}

/// All addresses of an account.
#[derive(Debug, Template)]
#[template(path = "addresses/addresses.html")]
pub struct AddressesPage {
    pub chrome: Chrome,
    pub addresses: Vec<AddressCard>,
    /// The action that the page reports as done: `saved`, `deleted`, `default`.
    pub done: String,
}

impl AddressesPage {
    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().orders;
        match self.done.as_str() {
            "saved" => Some(t.done_saved),
            "deleted" => Some(t.done_deleted),
            "default" => Some(t.done_default),
            _ => None,
        }
    }
}

/// The form of a new or existing address.
#[derive(Debug, Template)]
#[template(path = "addresses/address.html")]
pub struct AddressPage {
    pub chrome: Chrome,
    /// `None` for a new address.
    pub edited: Option<EditedAddress>,
    pub form: AddressForm,
    pub as_default: bool,
    pub alert: Option<AddressAlert>,
    /// The sale that the address is for.
    pub sale: Option<SaleBeside>,
}

/// The address that the form changes.
#[derive(Debug)]
pub struct EditedAddress {
    pub id: AddressId,
    /// The version that the form was filled with.
    pub version: String,
}

/// Why an address was not saved.
#[derive(Debug)]
pub enum AddressAlert {
    /// The account has the maximum number of addresses.
    Full,
    /// The address was changed after the form was filled, and is now this.
    ChangedMeanwhile(AddressCard),
}

/// The choice of the address for an order.
#[derive(Debug, Template)]
#[template(path = "addresses/order_address.html")]
pub struct OrderAddressPage {
    pub chrome: Chrome,
    pub sale_id: SaleId,
    pub id: OrderId,
    pub goods_name: String,
    pub amount: Money,
    pub saved: Vec<AddressCard>,
    /// The id of a saved address, or `new`.
    pub choice: String,
    pub form: AddressForm,
    pub keep: bool,
    /// The shopper started a payment before the order had an address.
    pub needed: bool,
    /// The source of the money of the payment that follows; empty for the shop's first provider.
    pub from: String,
    /// Whether a payment can follow.
    pub can_pay: bool,
    /// Until when an unpaid order waits for its payment.
    pub pay_by: Option<Timestamp>,
}

impl OrderAddressPage {
    fn is_chosen(&self, id: &AddressId) -> bool {
        self.choice == id.to_string()
    }
}
