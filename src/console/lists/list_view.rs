//! The address of a list of the console as a value: which of its keys a query has. A saved view is such an address, and
//! so are the links that sort a list and choose its columns.

use url::form_urlencoded::{Serializer, parse};

use domain::ConsoleList;

/// The query of a list, with the keys that belong to a view, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    pub list: ConsoleList,
    pairs: Vec<(&'static str, String)>,
}

impl ListQuery {
    /// Reads a query string. Cursors, notices, unknown keys and empty values are left out.
    pub fn read(list: ConsoleList, query: &str) -> ListQuery {
        let mut given: Vec<_> = parse(query.as_bytes()).filter(|(_, value)| !value.trim().is_empty()).collect();
        let mut take = |key: &'static str| {
            let at = given.iter().position(|(name, _)| name == key)?;
            Some((key, given.swap_remove(at).1.into_owned()))
        };
        ListQuery { list, pairs: list.keys().iter().filter_map(|key| take(key)).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub fn get(&self, key: &str) -> &str {
        self.pairs.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    }

    /// The same query with another value of a key. An empty value removes the key.
    pub fn with(&self, key: &'static str, value: &str) -> ListQuery {
        let mut pairs = self.pairs.clone();
        pairs.retain(|(name, _)| *name != key);
        if !value.is_empty() {
            pairs.push((key, value.to_owned()));
        }
        pairs.sort_by_key(|(name, _)| self.list.keys().iter().position(|known| known == name));
        ListQuery { list: self.list, pairs }
    }

    /// The columns that the list leaves out.
    pub fn hidden(&self) -> impl Iterator<Item = &str> {
        self.get("hide").split(',').filter(|name| !name.is_empty())
    }

    pub fn shows(&self, column: &str) -> bool {
        !self.hidden().any(|hidden| hidden == column)
    }

    /// The same query with a column shown or hidden.
    pub fn toggled(&self, column: &str) -> ListQuery {
        let mut hidden: Vec<&str> = self.hidden().filter(|hidden| *hidden != column).collect();
        if self.shows(column) {
            hidden.push(column);
        }
        self.with("hide", &hidden.join(","))
    }

    /// URL-encoded, without a question mark.
    pub fn encoded(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.pairs).finish()
    }

    /// The address of the list in a language.
    pub fn path(&self, locale: domain::Locale) -> String {
        let query = self.encoded();
        let separator = if query.is_empty() { "" } else { "&" };
        format!("{}?lang={locale}{separator}{query}", self.list.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Locale;

    #[test]
    fn view_keeps_the_keys_of_its_list_in_their_order() {
        let query = ListQuery::read(ConsoleList::Orders, "lang=en&status=paid&before=x&user=%E6%9D%8E&done=1&sale=");
        assert_eq!(query.encoded(), "user=%E6%9D%8E&status=paid");
        assert_eq!(query.path(Locale::En), "/admin/orders?lang=en&user=%E6%9D%8E&status=paid");
        assert_eq!(query.get("status"), "paid");
        assert!(ListQuery::read(ConsoleList::Users, "status=paid").is_empty());
    }

    #[test]
    fn column_is_hidden_and_shown_again() {
        let query = ListQuery::read(ConsoleList::Users, "hide=role,seen");
        assert!(query.shows("state") && !query.shows("role"));
        assert_eq!(query.toggled("role").encoded(), "hide=seen");
        assert_eq!(query.toggled("state").encoded(), "hide=role%2Cseen%2Cstate");
        assert_eq!(query.toggled("role").toggled("seen").encoded(), "");
    }
}
