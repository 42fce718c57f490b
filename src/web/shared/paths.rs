//! Paths of pages that several handlers link to.

use crate::Shop;
use domain::{Locale, OrderId, PacketId, SaleId};

pub fn account_path(locale: Locale) -> String {
    format!("/{locale}/account")
}

pub fn registration_path(locale: Locale) -> String {
    format!("/{locale}/register")
}

/// The page that asks for a link to set a new password.
pub fn recovery_path(locale: Locale) -> String {
    format!("/{locale}/recovery")
}

pub fn order_path(locale: Locale, sale: SaleId, order: OrderId) -> String {
    format!("/{locale}/orders/{sale}/{order}")
}

pub fn order_address_path(locale: Locale, sale: SaleId, order: OrderId) -> String {
    format!("{}/address", order_path(locale, sale, order))
}

pub fn sale_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}")
}

/// The form that asks about the goods of a sale.
pub fn questions_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/questions")
}

/// The questions of an account.
pub fn own_questions_path(locale: Locale) -> String {
    format!("/{locale}/questions")
}

/// The page of a shopper's turn in a waiting room.
pub fn line_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/line")
}

/// The rules of a sale about who may take part, for one shopper.
pub fn eligibility_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/eligibility")
}

pub fn wallet_path(locale: Locale) -> String {
    format!("/{locale}/wallet")
}

pub fn packet_path(locale: Locale, id: PacketId) -> String {
    format!("/{locale}/packets/{id}")
}

/// The absolute URL at which a packet is claimed. It names no language: it redirects to the visitor's.
pub fn packet_share_url(shop: &Shop, id: PacketId) -> String {
    format!("{}/packets/{id}", shop.config.public_url)
}

/// The sale of a path such as `/en/sales/7/buy`.
pub fn sale_of_path(path: &str) -> Option<SaleId> {
    let mut parts = path.split(['/', '?', '#']).skip(2);
    if parts.next() != Some("sales") {
        return None;
    }
    parts.next()?.parse().ok()
}
