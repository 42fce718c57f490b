//! The query of security events, as their page and the API read it.

use std::collections::HashMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use domain::{Network, Page, UserId};
use store::{SecurityEventFilter, SecurityEventRow, Store, StoreError};
use web::problem::Problem;
use web::shared::FieldError;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::time_zone;

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
