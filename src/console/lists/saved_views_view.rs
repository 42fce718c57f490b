//! The bar above a list of the console: its saved views, and the columns that can be chosen.

use crate::lists::list_view::ListQuery;
use domain::{ConsoleList, Locale, SavedView};
use words::{TablesText, fill, text};

/// The saved views that a member of the staff has for a list, and the list's present address.
#[derive(Debug)]
pub struct ListBar {
    locale: Locale,
    pub query: ListQuery,
    pub views: Vec<SavedView>,
    /// The result of a form about views.
    pub notice: Option<ViewNotice>,
}

/// A sentence, and whether something went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewNotice {
    pub words: &'static str,
    pub is_bad: bool,
}

/// A link that shows or hides a column.
pub struct ColumnLink {
    pub name: &'static str,
    pub path: String,
    pub is_shown: bool,
    /// What the link does.
    pub label: String,
}

/// A link of a column's head that sorts by it.
pub struct SortLink {
    /// `None` for a column that is sorted in its only order.
    pub path: Option<String>,
    pub label: String,
    /// The value of `aria-sort`, if the list is sorted by the column.
    pub sorted: Option<&'static str>,
}

impl ListBar {
    pub fn new(locale: Locale, query: ListQuery, views: Vec<SavedView>, notice: &str) -> ListBar {
        let t = &text(locale).tables;
        ListBar { locale, query, views, notice: ViewNotice::of(t, notice) }
    }

    fn text(&self) -> &'static TablesText {
        &text(self.locale).tables
    }

    /// The list as it is shown now, from its first page.
    pub fn path(&self) -> String {
        self.query.path(self.locale)
    }

    pub fn path_of(&self, view: &SavedView) -> String {
        ListQuery::read(view.list, &view.query).path(self.locale)
    }

    /// Whether the list shows this view now.
    pub fn is_current(&self, view: &SavedView) -> bool {
        view.query == self.query.encoded()
    }

    /// The list without a filter.
    pub fn plain_path(&self) -> String {
        ListQuery::read(self.query.list, "").path(self.locale)
    }

    /// The name of what the list shows without a filter.
    pub fn plain_name(&self) -> &'static str {
        match self.query.list {
            ConsoleList::Sales => text(self.locale).sales.tab_current,
            _ => self.text().all,
        }
    }

    pub fn shows(&self, column: &str) -> bool {
        self.query.shows(column)
    }

    pub fn columns(&self, names: &[(&'static str, &'static str)]) -> Vec<ColumnLink> {
        let t = self.text();
        let link = |&(key, name): &(&'static str, &'static str)| {
            let is_shown = self.shows(key);
            let path = self.query.toggled(key).path(self.locale);
            ColumnLink { name, path, is_shown, label: fill(if is_shown { t.hide } else { t.show }, name) }
        };
        names.iter().map(link).collect()
    }

    /// The head of a column by which a list can be sorted. Only columns with an index have one, so that no sort order
    /// reads a whole table. `ascending` and `descending` are the values of `sort`; the default's value is empty. `None`
    /// for an order that the list does not have. Another click reverses the order.
    pub fn sort(&self, name: &str, ascending: &str, descending: Option<&str>) -> SortLink {
        let t = self.text();
        let (sorted, next, words) = match self.query.get("sort") {
            sort if sort == ascending => (Some("ascending"), descending, t.descending),
            sort if Some(sort) == descending => (Some("descending"), Some(ascending), t.ascending),
            _ => (None, Some(ascending), t.ascending),
        };
        let path = next.map(|next| self.query.with("sort", next).path(self.locale));
        SortLink { path, label: fill(words, name), sorted }
    }

    /// The values of `sort` and `hide`, which a filter's form sends along.
    pub fn kept(&self) -> impl Iterator<Item = (&'static str, &str)> {
        ["sort", "hide"].into_iter().map(|key| (key, self.query.get(key))).filter(|(_, value)| !value.is_empty())
    }
}

impl ViewNotice {
    fn of(t: &'static TablesText, code: &str) -> Option<ViewNotice> {
        let (words, is_bad) = match code {
            "saved" => (t.done_saved, false),
            "renamed" => (t.done_renamed, false),
            "deleted" => (t.done_deleted, false),
            "bad_name" => (t.bad_name, true),
            "bad_query" => (t.bad_query, true),
            "too_many" => (t.too_many, true),
            "name_taken" => (t.name_taken, true),
            _ => return None,
        };
        Some(ViewNotice { words, is_bad })
    }
}
