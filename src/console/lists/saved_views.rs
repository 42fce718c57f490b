//! Saved views: a member of the staff saves the query of a list under a name. Each member sees and changes only their
//! own views.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::lists::list_view::ListQuery;
use crate::lists::saved_views_view::ListBar;
use crate::log::query::AuditLogQuery;
use crate::orders::search::OrderSearchQuery;
use crate::{StaffVisit, StaffVisitTo};
use domain::address::tidy;
use domain::{ConsoleList, Locale, SavedView, UserId};
use store::SaveViewOutcome;
use web::Shop;
use web::extract::session::ViewConsole;
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds};
use web::problem::{Code, Problem};
use web::shared::response::see_other;

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

#[derive(Deserialize)]
pub struct ViewForm {
    #[serde(default)]
    name: String,
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

pub async fn save(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Form(form): Form<NewViewForm>,
) -> Result<Response, Problem> {
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
) -> Result<Response, Problem> {
    let owner = staff.session.user_id;
    let view = shop.store.saved_views().get(owner, id).await?.ok_or(Code::NotFound)?;
    let query = ListQuery::read(view.list, &view.query);
    let Some(name) = checked_name(&form.name) else { return Ok(back(&query, visitor.locale, "bad_name")) };
    let outcome = shop.store.saved_views().rename(owner, id, &name).await?;
    Ok(back(&query, visitor.locale, notice(outcome, "renamed")?))
}

pub async fn delete(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ViewConsole, Uuid>,
) -> Result<Response, Problem> {
    let owner = staff.session.user_id;
    let view = shop.store.saved_views().get(owner, id).await?.ok_or(Code::NotFound)?;
    shop.store.saved_views().delete(owner, id).await?;
    Ok(back(&ListQuery::read(view.list, ""), visitor.locale, "deleted"))
}
