//! The books, for programs: the trial balance of a period. The journal is [`crate::web::admin::journal_csv`].

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;

use super::StaffCall;
use crate::domain::Money;
use crate::domain::books::{AccountKind, TrialBalanceLine};
use crate::web::cache_policy::Cache;
use crate::web::extract::Query;
use crate::web::extract::session::ViewBooks;
use crate::web::problem::Problem;
use crate::web::shared::books_query::BooksQuery;

#[derive(Serialize)]
struct BooksJson {
    from: Timestamp,
    to: Timestamp,
    lines: Vec<LineJson>,
}

#[derive(Serialize)]
struct LineJson {
    account: AccountKind,
    opening: Money,
    debits: Money,
    credits: Money,
    closing: Money,
}

impl From<TrialBalanceLine> for LineJson {
    fn from(line: TrialBalanceLine) -> Self {
        let TrialBalanceLine { account, opening, debits, credits, closing } = line;
        LineJson { account, opening, debits, credits, closing }
    }
}

#[derive(Serialize)]
struct BooksAnswer {
    books: BooksJson,
}

/// The trial balance of a period.
pub async fn show(
    (State(shop), _): StaffCall<ViewBooks>,
    Query(query): Query<BooksQuery>,
) -> Result<Response, Problem> {
    let period = query.period(shop.clock.now()).map_err(Problem::invalid)?;
    let lines = shop.store.trial_balance(period).await?.into_iter().map(LineJson::from).collect();
    let books = BooksJson { from: period.from, to: period.to, lines };
    Ok((Cache::Private, Answer(BooksAnswer { books })).into_response())
}
