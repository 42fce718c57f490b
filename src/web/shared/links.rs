//! Links: queries that preserve what a visitor has typed, and the language of an address of the console.

use url::form_urlencoded::Serializer;

use domain::Locale;

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
    use super::console_link;
    use super::link_query;
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
