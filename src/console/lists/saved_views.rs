//! Saved views: a member of the staff saves the query of a list under a name. Each member sees and changes only their
//! own views.

use axum::http::header::SET_COOKIE;
use serde::de::DeserializeOwned;
use url::form_urlencoded::{Serializer, parse};

use crate::log::AuditLogQuery;
use crate::orders::search::OrderSearchQuery;
use crate::prelude::*;
use domain::SavedView;
use domain::text::tidy;
use store::SaveViewOutcome;
use web::extract::{Density, own_path};
use words::{TablesText, text};

/// The notice that the query of a list may carry after a form about views.
#[derive(Default, Deserialize)]
struct ViewNoticeQuery {
    #[serde(default)]
    view: String,
}

/// What stands above a list. `query` is the query of the list's address.
pub(crate) async fn list_bar(
    shop: &Shop,
    owner: UserId,
    locale: Locale,
    list: ConsoleList,
    query: Option<&str>,
) -> Result<ListBar, Problem> {
    let query = query.unwrap_or_default();
    let notice: ViewNoticeQuery = read(query).unwrap_or_default();
    let views = shop.store.saved_views().list(owner, list).await?;
    Ok(ListBar::new(locale, ListQuery::read(list, query), views, &notice.view))
}

/// The same for a page that shows a form again. Its visitor is a member of the staff.
pub(crate) async fn own_list_bar(
    shop: &Shop,
    visitor: &Visitor,
    list: ConsoleList,
    query: Option<&str>,
) -> Result<ListBar, Problem> {
    let owner = visitor.session.as_ref().ok_or(Code::NotSignedIn)?.user_id;
    list_bar(shop, owner, visitor.locale, list, query).await
}

/// A query as the page of a list reads it.
fn read<T: DeserializeOwned>(query: &str) -> Option<T> {
    let uri = format!("/?{query}").parse().ok()?;
    Some(axum::extract::Query::<T>::try_from_uri(&uri).ok()?.0)
}

/// Whether the list would show something for this query, rather than name a wrong field.
async fn is_readable(shop: &Shop, query: &ListQuery) -> Result<bool, Problem> {
    let text = query.encoded();
    Ok(text.len() <= SavedView::MAX_QUERY
        && match query.list {
            ConsoleList::Orders => match read::<OrderSearchQuery>(&text) {
                Some(search) => search.read(&shop.store).await?.is_ok(),
                None => false,
            },
            ConsoleList::Log => read::<AuditLogQuery>(&text).is_some_and(|query| query.filter().1.is_empty()),
            // The fields of these lists take any text.
            ConsoleList::Sales | ConsoleList::Goods | ConsoleList::Packets | ConsoleList::Users => true,
        })
}

/// The name if its length is within the bounds.
fn checked_name(name: &str) -> Option<String> {
    let name = tidy(name);
    (1..=SavedView::MAX_NAME_CHARS).contains(&name.chars().count()).then_some(name)
}

#[derive(Deserialize)]
pub struct NewViewForm {
    list: String,
    #[serde(default)]
    query: String,
    #[serde(default)]
    name: String,
}

inputs! {
    ViewForm { name }
    DensityForm {
        density,
        /// The path of the list to return to. A script leaves it empty and stays on its page.
        next,
    }
}

/// Redirects to the list, which shows the result of the form.
fn back(query: &ListQuery, locale: Locale, notice: &str) -> Response {
    see_other(&format!("{}&view={notice}", query.path(locale)))
}

fn notice(outcome: SaveViewOutcome, done: &'static str) -> Result<&'static str, Problem> {
    match outcome {
        SaveViewOutcome::Saved => Ok(done),
        SaveViewOutcome::TooMany => Ok("too_many"),
        SaveViewOutcome::NameTaken => Ok("name_taken"),
        SaveViewOutcome::NoSuchView => Err(Code::NotFound.into()),
    }
}

pub async fn save((State(shop), staff, visitor): StaffVisit<ViewConsole>, Form(form): Form<NewViewForm>) -> Answer {
    let list: ConsoleList = form.list.parse().map_err(|()| Problem::invalid_field("list", "unknown"))?;
    let query = ListQuery::read(list, &form.query);
    if !is_readable(&shop, &query).await? {
        return Ok(back(&ListQuery::read(list, ""), visitor.locale, "bad_query"));
    }
    let Some(name) = checked_name(&form.name) else { return Ok(back(&query, visitor.locale, "bad_name")) };
    let new = SavedView { id: Uuid::now_v7(), list, name, query: query.encoded() };
    let outcome = shop.store.saved_views().save(staff.session.user_id, &new, shop.clock.now()).await?;
    Ok(back(&query, visitor.locale, notice(outcome, "saved")?))
}

pub async fn rename(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, Uuid>,
    Form(form): Form<ViewForm>,
) -> Answer {
    let owner = staff.session.user_id;
    let view = shop.store.saved_views().get(owner, id).await?.ok_or(Code::NotFound)?;
    let query = ListQuery::read(view.list, &view.query);
    let Some(name) = checked_name(&form.name) else { return Ok(back(&query, visitor.locale, "bad_name")) };
    let outcome = shop.store.saved_views().rename(owner, id, &name).await?;
    Ok(back(&query, visitor.locale, notice(outcome, "renamed")?))
}

pub async fn delete((State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, Uuid>) -> Answer {
    let owner = staff.session.user_id;
    let view = shop.store.saved_views().get(owner, id).await?.ok_or(Code::NotFound)?;
    shop.store.saved_views().delete(owner, id).await?;
    Ok(back(&ListQuery::read(view.list, ""), visitor.locale, "deleted"))
}

/// The saved views that a member of the staff has for a list, and the list's present address.
#[derive(Debug)]
pub struct ListBar {
    locale: Locale,
    pub query: ListQuery,
    pub views: Vec<SavedView>,
    /// The result of a form about views: a sentence, and whether something went wrong.
    pub notice: Option<(&'static str, bool)>,
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
        ListBar { locale, query, views, notice: notice_words(t, notice) }
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

    pub fn columns(&self, names: &[(&'static str, &'static str)]) -> Vec<ColumnLink> {
        let t = self.text();
        let link = |&(key, name): &(&'static str, &'static str)| {
            let is_shown = self.query.shows(key);
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

fn notice_words(t: &TablesText, code: &str) -> Option<(&'static str, bool)> {
    match code {
        "saved" => Some((t.done_saved, false)),
        "renamed" => Some((t.done_renamed, false)),
        "deleted" => Some((t.done_deleted, false)),
        "bad_name" => Some((t.bad_name, true)),
        "bad_query" => Some((t.bad_query, true)),
        "too_many" => Some((t.too_many, true)),
        "name_taken" => Some((t.name_taken, true)),
        _ => None,
    }
}

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

// The form that sets how close the rows of the console's lists stand.

pub async fn set((State(shop), ..): StaffVisit<ViewConsole>, Form(form): Form<DensityForm>) -> Answer {
    let density: Density = form.density.parse().map_err(|()| Problem::invalid_field("density", "unknown"))?;
    let cookie = [(SET_COOKIE, density.set_cookie(shop.config.is_https()))];
    if form.next.is_empty() {
        return Ok((StatusCode::NO_CONTENT, cookie).into_response());
    }
    let list = own_path(&form.next).filter(|path| path.starts_with("/admin")).unwrap_or("/admin");
    Ok((cookie, see_other(list)).into_response())
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
