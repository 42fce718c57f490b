//! The search for accounts, as the console's page and the API take it in their query.

use serde::Deserialize;

use crate::domain::{Page, UserId};
use crate::store::{Store, User, UserSearch};
use crate::web::problem::Problem;
use crate::web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};

/// A part of a user name or an id, and the cursor of the page.
#[derive(Deserialize)]
pub struct UserSearchQuery {
    #[serde(default)]
    pub q: String,
    #[serde(default)]
    pub before: Cursor,
}

/// One page of accounts, newest first.
pub async fn find_users(store: &Store, query: &UserSearchQuery) -> Result<Page<User, UserId>, Problem> {
    let before = query.before.read("before")?;
    let users = store.find_users(&UserSearch::typed(&query.q), before, LARGE_PAGE_SIZE as i64 + 1).await?;
    Ok(Page::cut(users, LARGE_PAGE_SIZE, |user| user.id))
}
