//! Security events, for owners.

use std::collections::HashMap;
use std::net::IpAddr;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::StaffCall;
use domain::{Network, Page, UserId};
use store::{SecurityEventFilter, SecurityEventRow, Store, StoreError};
use web::cache_policy::Cache;
use web::extract::Query;
use web::extract::session::ViewSecurity;
use web::problem::Problem;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::{FieldError, time_zone};

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

// The query of security events, as their page and the API read it.

/// The filter as typed, and the cursor of the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SecurityQuery {
    /// A class, for example `log_in_failed`.
    pub class: String,
    /// A user name or the id of an account.
    pub account: String,
    /// A network, or an address in it.
    pub network: String,
    /// A date or time, UTC.
    pub from: String,
    /// The end of the period, exclusive.
    pub to: String,
    /// The time zone of `from` and `to` when they are days; UTC when it is empty.
    pub zone: String,
    /// The id of the last row on the page before.
    pub before: Cursor,
}

impl SecurityQuery {
    pub fn is_blank(&self) -> bool {
        [&self.class, &self.account, &self.network, &self.from, &self.to].into_iter().all(|text| text.trim().is_empty())
    }

    /// The filter, or an error for each field that cannot be read.
    pub async fn filter(&self, store: &Store) -> Result<Result<SecurityEventFilter, Vec<FieldError>>, StoreError> {
        let mut errors = Vec::new();
        let mut filter = SecurityEventFilter::default();
        match self.class.trim() {
            "" => {}
            class => match class.parse() {
                Ok(class) => filter.class = Some(class),
                Err(()) => errors.push(FieldError::new("class", "bad_class")),
            },
        }
        match self.account.trim() {
            "" => {}
            account => match account_of(store, account).await? {
                Some(id) => filter.account = Some(id),
                None => errors.push(FieldError::new("account", "no_such_user")),
            },
        }
        match self.network.trim() {
            "" => {}
            network => match network_of(network) {
                Some(network) => filter.network = network,
                None => errors.push(FieldError::new("network", "bad_network")),
            },
        }
        [filter.from, filter.to] = time_zone::period(&self.from, &self.to, &self.zone, &mut errors);
        Ok(if errors.is_empty() { Ok(filter) } else { Err(errors) })
    }
}

/// The id of the account with this name, or the typed id itself. Events outlive accounts, so the id need not exist.
async fn account_of(store: &Store, typed: &str) -> Result<Option<UserId>, StoreError> {
    match typed.parse() {
        Ok(id) => Ok(Some(id)),
        Err(_) => Ok(store.accounts().user_named(typed).await?.map(|user| user.id)),
    }
}

/// The recorded form of a network, or of the network of an address.
fn network_of(typed: &str) -> Option<String> {
    let address: IpAddr = typed.split('/').next()?.trim().parse().ok()?;
    let network = Network::of(address).site_text();
    // A mask is accepted only if it is the recorded one.
    typed.split_once('/').is_none_or(|(_, bits)| network.ends_with(&format!("/{bits}"))).then_some(network)
}

/// One page of events, newest first, and the names of their accounts.
pub async fn security_page(
    store: &Store,
    filter: &SecurityEventFilter,
    before: &Cursor,
) -> Result<(Page<SecurityEventRow, String>, HashMap<UserId, String>), Problem> {
    let before = before.read::<Uuid>("before")?.map(|id| id.to_string());
    let rows = store.security_events().list(filter, before.as_deref(), LARGE_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(rows, LARGE_PAGE_SIZE, |row| row.id.clone());
    let mut accounts: Vec<UserId> = page.items.iter().filter_map(|row| row.account).collect();
    accounts.sort_unstable();
    accounts.dedup();
    Ok((page, store.accounts().usernames(&accounts).await?))
}

web::operations! { "administrators"
    /// Security events, newest first, for owners
    ///
    /// Each entry stands for the events of one minute that are alike. Entries are kept for 90 days.
    GET "/api/admin/security-events" listSecurityEvents = list;
        200 SecurityEventsPage;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_from_addresses_and_in_their_recorded_form() {
        for (typed, network) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("2001:db8:1:2::3", "2001:db8:1::/48"),
            ("2001:db8:1::/48", "2001:db8:1::/48"),
        ] {
            assert_eq!(network_of(typed).as_deref(), Some(network));
        }
        for wrong in ["192.0.2.0/16", "192.0.2", "x", "/24", "192.0.2.0/"] {
            assert_eq!(network_of(wrong), None, "{wrong}");
        }
    }
}
