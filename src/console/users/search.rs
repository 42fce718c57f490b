//! The search for accounts, as the console's page and the API take it in their query.

use schemars::JsonSchema;
use serde::Deserialize;

use domain::{Page, UserId};
use store::{Store, User, UserSearch};
use web::problem::Problem;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

/// A part of a user name or an id, and the cursor of the page.
#[derive(Deserialize, JsonSchema)]
pub struct UserSearchQuery {
    /// The start of a username, or an id.
    #[serde(default)]
    pub q: String,
    #[serde(default)]
    pub before: Cursor,
    /// `oldest` or `name`, for a list of all accounts. A search by name is always sorted by name. Only the page reads
    /// it.
    #[serde(default)]
    #[schemars(skip)]
    pub sort: String,
    #[serde(default)]
    #[schemars(skip)]
    pub hide: String,
}

impl UserSearchQuery {
    fn search(&self) -> UserSearch {
        match (UserSearch::typed(&self.q), self.sort.as_str()) {
            (UserSearch::All, "oldest") => UserSearch::Oldest,
            (UserSearch::All, "name") => UserSearch::ByName,
            (search, _) => search,
        }
    }
}

/// One page of accounts, newest first unless the query says otherwise.
pub async fn find_users(store: &Store, query: &UserSearchQuery) -> Result<Page<User, UserId>, Problem> {
    let before = query.before.read("before")?;
    let users = store.accounts().find_users(&query.search(), before, LARGE_PAGE_SIZE as i64 + 1).await?;
    Ok(Page::cut(users, LARGE_PAGE_SIZE, |user| user.id))
}
