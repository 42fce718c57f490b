//! Stores the counters of one process in the database once a second, so that any process can add up all of them. A
//! failure costs freshness, never a sale.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::time::{Instant, timeout};
use tracing::info;
use uuid::Uuid;

use base::clock::Clock;
use base::counters::{CounterRegistry, CounterSnapshot};
use domain::SaleId;
use store::{Store, StoreError};

/// A row that was not written for this long belongs to a process that has ended. Its counters are merged.
const STALE_ROW_AGE: Duration = Duration::from_secs(60 * 60);
/// After this long without a write another process may have merged this process's rows. It continues under a new name.
const MAX_WRITE_GAP: Duration = Duration::from_secs(20 * 60);
/// How often unchanged rows are written again, so that they do not become stale.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Writes and reads stored counters.
pub(super) struct CounterStore {
    store: Store,
    registry: Arc<CounterRegistry>,
    clock: Clock,
    state: tokio::sync::Mutex<WriteState>,
    /// The name under which this process writes, and what it wrote under earlier names.
    name: std::sync::Mutex<(String, HashMap<SaleId, CounterSnapshot>)>,
}

#[derive(Default)]
struct WriteState {
    /// What this process has written, under any of its names.
    written: HashMap<SaleId, CounterSnapshot>,
    written_at: Option<Instant>,
    refreshed_at: Option<Instant>,
}

fn new_name() -> String {
    Uuid::now_v7().simple().to_string()
}

impl CounterStore {
    pub(super) fn new(store: Store, registry: Arc<CounterRegistry>, clock: Clock) -> CounterStore {
        let name = std::sync::Mutex::new((new_name(), HashMap::new()));
        CounterStore { store, registry, clock, state: Default::default(), name }
    }

    pub(super) fn registry(&self) -> &CounterRegistry {
        &self.registry
    }

    /// The current name of this process, and what it wrote about a sale under earlier names.
    fn named(&self, sale: SaleId) -> (String, CounterSnapshot) {
        let name = self.name.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (name.0.clone(), name.1.get(&sale).cloned().unwrap_or_default())
    }

    /// What this process has counted for a sale under its current name.
    pub(super) fn mine(&self, sale: SaleId) -> CounterSnapshot {
        self.registry.read(sale).since(&self.named(sale).1)
    }

    /// What all other processes have counted, and this process under earlier names.
    pub(super) async fn others(&self, sale: SaleId) -> Result<CounterSnapshot, StoreError> {
        self.store.sales().counters_of_others(sale, &self.named(sale).0).await
    }

    /// Drops the counters of sales that no longer exist.
    pub(super) fn retain(&self, exists: impl Fn(SaleId) -> bool) {
        self.registry.retain(exists);
    }

    /// Writes the counters that have changed.
    pub(super) async fn write(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock().await;
        if state.written_at.is_some_and(|at| at.elapsed() >= MAX_WRITE_GAP) {
            self.rename(&mut state);
        }
        let refresh = state.refreshed_at.is_none_or(|at| at.elapsed() >= REFRESH_INTERVAL);
        let mut all = self.registry.read_all();
        all.retain(|(sale, numbers)| {
            let known = state.written.get(sale);
            numbers.asked > 0 && (refresh || known != Some(numbers))
        });
        if all.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = all.iter().map(|(sale, n)| (*sale, n.since(&self.named(*sale).1).trimmed())).collect();
        let name = self.named(rows[0].0).0;
        let saved = timeout(WRITE_TIMEOUT, self.store.sales().save_counters(&name, &rows, self.clock.now())).await;
        saved.context("the database does not answer in time")??;
        state.written.extend(all);
        state.written_at = Some(Instant::now());
        if refresh {
            state.refreshed_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Continues under a new name: the old rows may have been merged, so only later counts belong to this process.
    fn rename(&self, state: &mut WriteState) {
        let mut name = self.name.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *name = (new_name(), state.written.clone());
        state.written_at = None;
    }

    /// Merges the counters of ended processes.
    pub(super) async fn fold(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let rows = self.store.sales().fold_counters(now - STALE_ROW_AGE, now).await?;
        if rows > 0 {
            info!(rows, "merged the counters of ended processes");
        }
        Ok(())
    }
}
