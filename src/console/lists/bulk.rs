//! Actions on several orders, accounts or sales. A first form lists what will happen to each item, and which items the
//! action cannot apply to; a second form carries it out. Each item is acted on as on its own page, with its own line in
//! the audit log. So finished items stay done if a later one fails, and an item that changed after the first form is
//! left alone.

pub mod orders;
pub mod sales;
pub mod users;

use std::str::FromStr;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::lists::bulk_view::{BulkItem, BulkPage, BulkVerdict};
use web::extract::visitor::Visitor;
use web::problem::Problem;
use web::shared::FieldError;
use web::shared::response::personal;

/// Items of one batch. Each takes a transaction or more.
const MAX_ITEMS: usize = 100;

/// The form of a list: the ticked rows, and the button.
struct PickedForm<Id, Action> {
    ids: Vec<Id>,
    action: Action,
}

impl<Id: FromStr, Action: FromStr> PickedForm<Id, Action> {
    fn read(fields: &[(String, String)]) -> Result<PickedForm<Id, Action>, Problem> {
        let values = |key: &'static str| fields.iter().filter(move |(name, _)| name == key).map(|(_, value)| value);
        let action = values("action").next().and_then(|action| action.parse().ok());
        let action = action.ok_or_else(|| Problem::invalid_field("action", "unknown"))?;
        let ids: Result<Vec<Id>, _> = values("id").map(|id| id.parse()).collect();
        Ok(PickedForm { ids: ids.map_err(|_| Problem::invalid_field("id", "bad_id"))?, action })
    }
}

/// The form of the summary.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct BulkForm {
    /// Ids, separated by spaces.
    ids: String,
    reason: String,
    message: String,
    /// The number of items, typed. Only actions that cannot be undone and that many shoppers notice ask for it.
    typed: String,
    confirm: String,
}

impl BulkForm {
    fn ids<Id: FromStr>(&self) -> Result<Vec<Id>, Problem> {
        let ids: Option<Vec<Id>> = self.ids.split_whitespace().map(|id| id.parse().ok()).collect();
        let ids = ids.filter(|ids| (1..=MAX_ITEMS).contains(&ids.len()));
        ids.ok_or_else(|| Problem::invalid_field("ids", "bad_id"))
    }

    fn errors(&self, texts: Vec<(&'static str, &'static str)>) -> Vec<FieldError> {
        let mut errors: Vec<_> = texts.into_iter().map(|(field, code)| FieldError { field, code }).collect();
        if self.confirm != "yes" {
            errors.push(FieldError::new("sure", "not_confirmed"));
        }
        errors
    }
}

/// Why a batch of this size cannot be acted on.
fn size_warning(visitor: &Visitor, count: usize) -> Option<&'static str> {
    let t = &words::text(visitor.locale).bulk;
    match count {
        0 => Some(t.none),
        count if count > MAX_ITEMS => Some(t.too_many),
        _ => None,
    }
}

fn answer(page: BulkPage) -> Result<Response, Problem> {
    let is_refused = page.warning.is_some() || !page.errors.is_empty();
    personal(if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }, &page)
}

/// The items in their order, each once.
fn distinct<Id: PartialEq + Copy>(ids: &[Id]) -> Vec<Id> {
    let mut distinct = Vec::with_capacity(ids.len());
    for id in ids {
        if !distinct.contains(id) {
            distinct.push(*id);
        }
    }
    distinct
}

/// An item that does not exist.
fn missing(visitor: &Visitor, id: &impl ToString, list: &str) -> BulkItem {
    let gone = BulkVerdict::NotDone(words::text(visitor.locale).bulk.gone.to_owned());
    BulkItem::new(id, format!("{list}?lang={}", visitor.locale), id.to_string(), String::new(), gone)
}
