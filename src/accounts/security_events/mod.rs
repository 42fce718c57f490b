//! Security events: traces of attacks, for the metrics, the log and the shop's owners.
//!
//! Code that meets such an event calls [`SecurityEvents::record`], which adds to counts in memory and never waits. A
//! task writes the counts to the database every few seconds ([`SecurityEvents::follow`]).
//!
//! **A flood** costs little time and space: events of one minute with the same class, account, network and detail are
//! one row with a count. The number of rows of a class is limited; further events of the class go to a row without
//! account and network (`pending`). The log has a few lines per class and minute, and then one line with the number of
//! the other events.
//!
//! **Without the database** counts wait in memory up to a limit. Events beyond it are missing from the list and counted
//! by `security_events_dropped`; the metric `security_events` and the totals per hour include them.
//!
//! **Stored** of an event are its class, the account's id, the network of the client, and a detail that is a constant
//! of the program: never a typed name, which may be a password, never an address, a password, a code or a token.

mod pending;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

use base::clock::Clock;
use base::metrics::Metrics;
use base::periodic::run_every;
use domain::{Network, SecurityClass, UserId};
use pending::{Added, Pending, Subject};
use store::{Store, StoreError};

/// How often counts are written, which is how late the console shows an event.
const WRITE_INTERVAL: Duration = Duration::from_secs(5);

/// The collector of one process. Clones share it.
#[derive(Clone)]
pub struct SecurityEvents(Arc<Collector>);

struct Collector {
    clock: Clock,
    metrics: Arc<Metrics>,
    /// The name under which the totals of this process are stored.
    process: String,
    pending: Mutex<Pending>,
    /// Locked during a write, so that an older count never replaces a newer one.
    writing: tokio::sync::Mutex<()>,
}

impl SecurityEvents {
    pub fn new(clock: Clock, metrics: Arc<Metrics>) -> SecurityEvents {
        SecurityEvents(Arc::new(Collector {
            clock,
            metrics,
            process: Uuid::now_v7().simple().to_string(),
            pending: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }))
    }

    /// Records an event. `client` is shortened to its network at once. Never waits for the database.
    pub fn record(&self, class: SecurityClass, account: Option<UserId>, client: Option<IpAddr>, detail: &'static str) {
        let network = client.map(|client| Network::of(client).site_text()).unwrap_or_default();
        self.0.metrics.security_event(class);
        let added =
            self.pending().add(Subject { class, account, network: network.clone(), detail }, self.0.clock.now());
        let Added { is_kept, is_logged } = added;
        if !is_kept {
            self.0.metrics.security_events_dropped.inc();
        }
        if is_logged {
            let account = account.map(tracing::field::display);
            info!(class = class.as_str(), account, network, detail, "security event");
        }
    }

    /// Writes until stopped, and logs how many events were left out of the log.
    pub async fn follow(&self, store: Store, stop: CancellationToken) {
        run_every(WRITE_INTERVAL, &stop, "security events", || self.write(&store)).await;
    }

    /// Writes the counts that the database does not have. May run twice.
    ///
    /// # Errors
    /// The database is not available. The counts stay.
    pub async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let _writing = self.0.writing.lock().await;
        let now = self.0.clock.now();
        let unlogged = self.pending().unlogged(now);
        for (class, events) in unlogged {
            info!(class = class.as_str(), events, "further security events, not logged one by one");
        }
        let (rows, totals) = self.pending().unwritten();
        if !totals.is_empty() {
            store.security_events().save_totals(&self.0.process, &totals).await?;
        }
        if !rows.is_empty() {
            store.security_events().save(&rows).await?;
        }
        self.pending().confirm(&rows, &totals, now);
        Ok(())
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
