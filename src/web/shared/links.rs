//! Queries of links that keep what a visitor has typed.

use url::form_urlencoded::Serializer;

/// The query with those fields that are not empty.
pub fn link_query<const N: usize>(fields: [(&str, &str); N]) -> String {
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Serializer::new(String::new()).extend_pairs(given).finish()
}

#[cfg(test)]
mod tests {
    use super::link_query;

    #[test]
    fn query_has_the_fields_that_are_not_empty() {
        assert_eq!(
            link_query([("user", "李 & 王"), ("from", ""), ("sale", "1")]),
            "user=%E6%9D%8E+%26+%E7%8E%8B&sale=1"
        );
        assert_eq!(link_query([("from", "")]), "");
    }
}
