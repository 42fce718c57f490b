//! The books of one process: what it counted goes to the database once a second, so that any process can add all up. A
//! failure costs freshness, never a sale.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::{info, warn};
use uuid::Uuid;

use crate::clock::Clock;
use crate::counters::{CounterRegistry, CounterSnapshot};
use crate::domain::SaleId;
use crate::store::{Store, StoreError};

/// Rows that nobody has written for so long belong to processes that are gone.
const GONE_AFTER: Duration = Duration::from_secs(60 * 60);
/// A process that could not write for so long does not trust its rows to be there any more.
const BEGIN_ANEW_AFTER: Duration = Duration::from_secs(20 * 60);
/// Unchanged rows are written again so that nobody takes this process for gone.
const REMIND_EVERY: Duration = Duration::from_secs(60);
const WRITE_WITHIN: Duration = Duration::from_secs(2);

/// What one process writes.
pub(super) struct CounterStore {
    store: Store,
    registry: Arc<CounterRegistry>,
    clock: Clock,
    state: tokio::sync::Mutex<State>,
    /// Under which name this process writes at present.
    name: std::sync::Mutex<(String, HashMap<SaleId, CounterSnapshot>)>,
}

#[derive(Default)]
struct State {
    /// What the database has surely got, whatever the name was.
    written: HashMap<SaleId, CounterSnapshot>,
    written_at: Option<Instant>,
    reminded_at: Option<Instant>,
    failing: bool,
}

fn new_name() -> String {
    Uuid::now_v7().simple().to_string()
}

impl CounterStore {
    pub(super) fn new(store: Store, registry: Arc<CounterRegistry>, clock: Clock) -> CounterStore {
        let name = std::sync::Mutex::new((new_name(), HashMap::new()));
        CounterStore { store, registry, clock, state: Default::default(), name }
    }

    /// The name of this process in the table, and what stands there about a sale under its earlier names.
    fn named(&self, sale: SaleId) -> (String, CounterSnapshot) {
        let name = self.name.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (name.0.clone(), name.1.get(&sale).cloned().unwrap_or_default())
    }

    /// What this process has counted about a sale under its present name.
    pub(super) fn mine(&self, sale: SaleId) -> CounterSnapshot {
        self.registry.read(sale).since(&self.named(sale).1)
    }

    /// What everybody else has counted, and this process under earlier names.
    pub(super) async fn others(&self, sale: SaleId) -> Result<CounterSnapshot, StoreError> {
        self.store.tallies_of_others(sale, &self.named(sale).0).await
    }

    /// Forgets sales that are no more.
    pub(super) fn retain(&self, exists: impl Fn(SaleId) -> bool) {
        self.registry.retain(exists);
    }

    /// Writes what has changed.
    pub(super) async fn write(&self) {
        let mut state = self.state.lock().await;
        if state.written_at.is_some_and(|at| at.elapsed() >= BEGIN_ANEW_AFTER) {
            self.begin_anew(&mut state);
        }
        let remind = state.reminded_at.is_none_or(|at| at.elapsed() >= REMIND_EVERY);
        let mut all = self.registry.read_all();
        all.retain(|(sale, numbers)| {
            let known = state.written.get(sale);
            numbers.asked > 0 && (remind || known != Some(numbers))
        });
        if all.is_empty() {
            return;
        }
        let rows: Vec<_> = all.iter().map(|(sale, n)| (*sale, n.since(&self.named(*sale).1).trimmed())).collect();
        let name = self.named(rows[0].0).0;
        match timeout(WRITE_WITHIN, self.store.put_tallies(&name, &rows, self.clock.now())).await {
            Ok(Ok(())) => {
                if std::mem::take(&mut state.failing) {
                    info!("what was counted about sales is written again");
                }
                state.written.extend(all);
                state.written_at = Some(Instant::now());
                if remind {
                    state.reminded_at = Some(Instant::now());
                }
            }
            result if !std::mem::replace(&mut state.failing, true) => {
                let error = result.map_or_else(|_| "no answer in time".to_owned(), |r| format!("{:?}", r.err()));
                warn!(error, "what was counted about sales cannot be written; selling goes on");
            }
            _ => {}
        }
    }

    /// Somebody may have folded our rows: from now on only what comes after them is ours.
    fn begin_anew(&self, state: &mut State) {
        let mut name = self.name.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *name = (new_name(), state.written.clone());
        state.written_at = None;
    }

    /// Adds up what gone processes have left.
    pub(super) async fn fold(&self) {
        let now = self.clock.now();
        match self.store.fold_tallies(now - GONE_AFTER, now).await {
            Ok(0) => {}
            Ok(rows) => info!(rows, "added up what processes have counted that are gone"),
            Err(error) => warn!(%error, "the counts of gone processes could not be added up"),
        }
    }
}
