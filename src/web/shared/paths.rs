//! Paths of pages that several handlers link to.

use url::form_urlencoded::Serializer;

use crate::Shop;
use domain::{Locale, OrderId, PacketId, SaleId};

/// A function for each path below the language, with what stands in it.
macro_rules! paths {
    ($($(#[$about:meta])* $name:ident($($part:ident: $type:ty),*) $path:literal;)+) => {$(
        $(#[$about])*
        pub fn $name(locale: Locale, $($part: $type),*) -> String {
            format!("/{locale}{}", format_args!($path))
        }
    )+};
}

paths! {
    account_path() "/account";
    registration_path() "/register";
    /// The page that asks for a link to set a new password.
    recovery_path() "/recovery";
    order_path(sale: SaleId, order: OrderId) "/orders/{sale}/{order}";
    order_address_path(sale: SaleId, order: OrderId) "/orders/{sale}/{order}/address";
    sale_path(sale: SaleId) "/sales/{sale}";
    /// The form that asks about the goods of a sale.
    questions_path(sale: SaleId) "/sales/{sale}/questions";
    /// The questions of an account.
    own_questions_path() "/questions";
    /// The page of a shopper's turn in a waiting room, or of the own moment in a sale in front of another shop.
    line_path(sale: SaleId) "/sales/{sale}/line";
    /// The page of an account's entry in a draw.
    entry_path(sale: SaleId) "/sales/{sale}/entry";
    waitlist_path(sale: SaleId) "/sales/{sale}/waitlist";
    /// The rules of a sale about who may take part, for one shopper.
    eligibility_path(sale: SaleId) "/sales/{sale}/eligibility";
    wallet_path() "/wallet";
    packet_path(packet: PacketId) "/packets/{packet}";
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
