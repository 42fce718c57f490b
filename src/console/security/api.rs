//! Security events, for owners.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::StaffCall;
use crate::security::query::{SecurityQuery, security_page};
use domain::UserId;
use store::SecurityEventRow;
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::ViewSecurity;
use web::problem::Problem;

#[derive(Serialize, JsonSchema)]
struct SecurityEventsPage {
    events: Vec<SecurityEventJson>,
    /// For `?before=`; `null` on the last page.
    next: Option<String>,
}

/// Similar events of one minute, counted together.
#[derive(Serialize, JsonSchema)]
struct SecurityEventJson {
    #[schemars(extend("format" = "uuid"))]
    id: String,
    /// The first of these events.
    at: Timestamp,
    /// The same as the label `class` of the metric `security_events`.
    class: String,
    /// The id of the account; `null` where none is known. A typed name that no account has is not kept.
    account: Option<UserId>,
    username: Option<String>,
    /// The client's network: a /24 of IPv4 or a /48 of IPv6.
    network: Option<String>,
    /// For example `password` or `bad_signature`.
    detail: Option<String>,
    #[schemars(range(min = 1))]
    count: i64,
}

impl SecurityEventJson {
    fn of(row: SecurityEventRow, names: &HashMap<UserId, String>) -> SecurityEventJson {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        SecurityEventJson {
            username: row.account.and_then(|id| names.get(&id).cloned()),
            id: row.id,
            at: row.at,
            class: row.class,
            account: row.account,
            network: some(row.network),
            detail: some(row.detail),
            count: row.events,
        }
    }
}

/// One page of events, newest first.
pub async fn list(
    (State(shop), _): StaffCall<ViewSecurity>,
    Query(query): Query<SecurityQuery>,
) -> Result<Response, Problem> {
    let filter = query.filter(&shop.store).await?.map_err(Problem::invalid)?;
    let (page, names) = security_page(&shop.store, &filter, &query.before).await?;
    let events = page.items.into_iter().map(|row| SecurityEventJson::of(row, &names)).collect();
    Ok((Cache::Private, Json(SecurityEventsPage { events, next: page.next })).into_response())
}

web::operations! { "administrators"
    /// Security events, newest first, for owners
    ///
    /// Each entry stands for the events of one minute that are alike. Entries are kept for 90 days.
    GET "/api/admin/security-events" listSecurityEvents = list;
        200 SecurityEventsPage;
}
