//! The books, for programs: the trial balance of a period. The journal is [`crate::books::journal_csv`].

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::StaffCall;
use crate::books::query::BooksQuery;
use domain::Money;
use domain::ledger::{AccountKind, TrialBalanceLine};
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::ViewBooks;
use web::problem::Problem;

#[derive(Serialize, JsonSchema)]
struct BooksJson {
    from: Timestamp,
    to: Timestamp,
    lines: Vec<LineJson>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BooksLine")]
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

#[derive(Serialize, JsonSchema)]
struct BooksAnswer {
    books: BooksJson,
}

/// The trial balance of a period.
pub async fn show(
    (State(shop), _): StaffCall<ViewBooks>,
    Query(query): Query<BooksQuery>,
) -> Result<Response, Problem> {
    let period = query.period(shop.clock.now(), &shop.catalogue.settings().zone()).map_err(Problem::invalid)?;
    let lines = shop.store.books().trial_balance(period).await?.into_iter().map(LineJson::from).collect();
    let books = BooksJson { from: period.from, to: period.to, lines };
    Ok((Cache::Private, Answer(BooksAnswer { books })).into_response())
}

web::operations! { "administrators"
    /// The trial balance of a period, for owners
    GET "/api/admin/books" showBooks = show;
        200 BooksAnswer, "Per kind of accounts and currency. The opening balances of a currency sum to zero, and so \
            do the closing ones.";
}
