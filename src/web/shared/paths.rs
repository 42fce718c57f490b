//! Paths of pages that several handlers link to.

use url::form_urlencoded::Serializer;

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

/// The page of a shopper's turn in a waiting room, or of the own moment in a sale in front of another shop.
pub fn line_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/line")
}

/// The page of an account's entry in a draw.
pub fn entry_path(locale: Locale, sale: SaleId) -> String {
    format!("/{locale}/sales/{sale}/entry")
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

/// The query with the fields that are not empty.
pub fn link_query<const N: usize>(fields: [(&str, &str); N]) -> String {
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Serializer::new(String::new()).extend_pairs(given).finish()
}

/// An address of the console, with or without a query, in a language.
pub fn console_link(path: &str, locale: Locale) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("{path}{mark}lang={locale}")
}

#[cfg(test)]
mod tests {
    use super::{console_link, link_query};
    use domain::Locale;

    #[test]
    fn console_link_keeps_its_query() {
        assert_eq!(console_link("/admin/orders", Locale::Zh), "/admin/orders?lang=zh");
        assert_eq!(console_link("/admin/orders?sale=2", Locale::En), "/admin/orders?sale=2&lang=en");
    }

    #[test]
    fn query_has_the_fields_that_are_not_empty() {
        assert_eq!(
            link_query([("user", "李 & 王"), ("from", ""), ("sale", "1")]),
            "user=%E6%9D%8E+%26+%E7%8E%8B&sale=1"
        );
        assert_eq!(link_query([("from", "")]), "");
    }
}
