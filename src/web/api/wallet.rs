//! The wallet, for programs.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::payments::Started;
use crate::domain::Money;
use crate::domain::wallet::{Account, Kind, money};
use crate::store::{About, WalletEntry};
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract;
use crate::web::extract::Query;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::locale;
use crate::web::pages::wallet::{page_of_entries, top_up_amount, wallet_path};
use crate::web::problem::Problem;

#[derive(Serialize)]
struct Wallet {
    balance: Money,
    entries: Vec<Entry>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

/// One line: what came, or went where it is below zero, and what it belongs to.
#[derive(Serialize)]
struct Entry {
    id: String,
    kind: Kind,
    amount: Money,
    at: Timestamp,
    #[serde(flatten)]
    about: Option<About>,
}

impl From<WalletEntry> for Entry {
    fn from(entry: WalletEntry) -> Self {
        let WalletEntry { id, kind, amount, at, about } = entry;
        Entry { id, kind, amount: money(amount), at, about }
    }
}

#[derive(Deserialize)]
pub struct Which {
    before: Option<String>,
}

/// Balance and entries, newest first.
pub async fn show(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    let bad = |()| Problem::invalid_field("before", "bad_cursor");
    let before = which.before.map(|text| text.parse().map_err(bad)).transpose()?;
    let (entries, next) = page_of_entries(&shop, session.user_id, before.as_ref()).await?;
    let wallet = Wallet {
        balance: money(shop.store.wallet_balance(Account::User(session.user_id)).await?),
        entries: entries.into_iter().map(Entry::from).collect(),
        next: next.map(|mark| mark.to_string()),
    };
    Ok((Cache::Private, Json(wallet)).into_response())
}

/// `{"amount":{"amount":5000,"currency":"CNY"}}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    amount: Money,
}

/// Begins to fill the wallet. From the checkout the payer returns to it.
pub async fn top_up(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    uri: Uri,
    headers: HeaderMap,
    extract::Json(wanted): extract::Json<TopUp>,
) -> Result<Response, Problem> {
    let amount = top_up_amount(Some(wanted.amount)).map_err(|code| Problem::invalid_field("amount", code))?;
    let back = wallet_path(locale(&uri, &headers));
    let (id, checkout_url) = shop.payments.top_up(session.user_id, amount, back).await?;
    Ok((StatusCode::CREATED, Json(Started::new(id, checkout_url))).into_response())
}
