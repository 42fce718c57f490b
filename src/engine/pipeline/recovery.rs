//! Recovery of keys that a Redis master lost or whose last writes it may have lost: one state machine for sales and
//! packets.
//!
//! A grant that was answered must stay valid, so lost keys return in four steps:
//!
//! 1. Wait until orders in flight have reached the database: RabbitMQ has been empty for [`DRAINED_FOR`].
//! 2. Load the keys from the database and the outbox, closed: they grant nothing.
//! 3. Wait until each process has replayed its grants ([`crate::redis::replay`]), for a bounded time.
//! 4. Open the keys.
//!
//! Keys that survived on a server with another replication history may lack the last writes. They are closed and enter
//! at step 3. Steps follow from surveys of the master, so if another process takes over data control, only the current
//! wait starts again.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use super::rabbit::Monitor;

/// Keys whose server may have lost grants are opened after this time even if a living process has not replayed its
/// grants. If a process is frozen or cut off for longer, the database has the final say about its grants.
const MAX_REPLAY_WAIT: Duration = Duration::from_secs(10);
/// A process of the role `serve` that has not reported for this long counts as dead. It reports every second.
pub const SERVE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long RabbitMQ must stay empty before a load. Consumers persist the messages that they took within milliseconds.
const DRAINED_FOR: Duration = Duration::from_millis(1_500);
/// The state in which a survey found the keys of one item, which is a bucket of a sale or a whole packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState<G> {
    /// Never loaded, so nothing was ever granted.
    New,
    /// Loaded before, but gone now.
    Lost,
    /// Loaded, and closed until grants have been replayed to this generation.
    Closed(G),
    /// Closed, but every living process has replayed its grants.
    Replayed(G),
    Open,
}

impl<G> fmt::Display for KeyState<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyState::New => "new",
            KeyState::Lost => "lost",
            KeyState::Closed(_) => "closed",
            KeyState::Replayed(_) => "replayed",
            KeyState::Open => "open",
        })
    }
}

/// What the owner of the keys does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    LoadOpen,
    /// Load the keys, then call [`Recovery::loaded`].
    LoadClosed,
    Open,
    Wait,
    /// The keys are in use and need no recovery.
    Maintain,
}

/// The present state of keys, when it began, and since when RabbitMQ has been empty in this state.
struct Observed<G> {
    state: KeyState<G>,
    since: Instant,
    drained_since: Option<Instant>,
}

/// The state machines of all items of one kind.
pub struct Recovery<I, G> {
    /// What has the keys, for the log: `sale` or `packet`.
    owner: &'static str,
    monitor: Option<Arc<Monitor>>,
    max_drain_wait: Option<Duration>,
    observed: HashMap<I, Observed<G>>,
}

impl<I: Copy + fmt::Display + Eq + Hash, G: PartialEq> Recovery<I, G> {
    /// After `max_drain_wait` keys are loaded even if RabbitMQ was never empty. Without RabbitMQ `monitor` is `None`,
    /// and there is nothing to drain.
    pub fn new(owner: &'static str, monitor: Option<Arc<Monitor>>, max_drain_wait: Option<Duration>) -> Recovery<I, G> {
        Recovery { owner, monitor, max_drain_wait, observed: HashMap::new() }
    }

    /// Decides what to do with each item. `survey` must contain all items.
    pub async fn step(&mut self, survey: Vec<(I, KeyState<G>)>) -> Vec<Action> {
        let is_lost = survey.iter().any(|(_, state)| *state == KeyState::Lost);
        let drained = match &self.monitor {
            Some(monitor) => is_lost && monitor.depths().await.is_ok_and(|depths| depths.ready == 0),
            None => true,
        };
        self.decide(survey, drained, Instant::now())
    }

    /// Forgets how long an item was lost. If it is lost again, its wait starts again.
    pub fn loaded(&mut self, item: I) {
        self.observed.remove(&item);
    }

    fn decide(&mut self, survey: Vec<(I, KeyState<G>)>, drained: bool, now: Instant) -> Vec<Action> {
        let mut before = std::mem::take(&mut self.observed);
        let actions = survey.into_iter().map(|(item, state)| {
            let mut observed = before.remove(&item).filter(|before| before.state == state).unwrap_or_else(|| {
                if state != KeyState::Open {
                    info!(owner = self.owner, %item, %state, "keys grant nothing until they are loaded or opened");
                }
                Observed { state, since: now, drained_since: None }
            });
            observed.drained_since = drained.then(|| observed.drained_since.unwrap_or(now));
            let action = observed.action(self.max_drain_wait, now);
            if matches!(action, Action::LoadClosed | Action::Open) {
                let step = if action == Action::Open { "open" } else { "load" };
                warn!(owner = self.owner, %item, step, "recovering keys after a loss on the Redis master");
            }
            self.observed.insert(item, observed);
            action
        });
        actions.collect()
    }
}

impl<G> Observed<G> {
    fn action(&self, max_drain_wait: Option<Duration>, now: Instant) -> Action {
        let drained = self.drained_since.is_some_and(|at| now - at >= DRAINED_FOR);
        let overdue = max_drain_wait.is_some_and(|max| now - self.since >= max);
        match self.state {
            KeyState::New => Action::LoadOpen,
            KeyState::Lost if drained || overdue => Action::LoadClosed,
            KeyState::Replayed(_) => Action::Open,
            KeyState::Closed(_) if now - self.since >= MAX_REPLAY_WAIT => Action::Open,
            KeyState::Lost | KeyState::Closed(_) => Action::Wait,
            KeyState::Open => Action::Maintain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyState::{Closed, Lost, New, Open, Replayed};
    use super::*;

    const ITEM: u8 = 7;

    /// One survey: its time in milliseconds, what it found, whether RabbitMQ was empty, and the expected action.
    type Row = (u64, KeyState<u8>, bool, Action);

    fn check(max_drain_wait: Option<u64>, rows: &[Row]) {
        let (mut recovery, start) =
            (Recovery::new("sale", None, max_drain_wait.map(Duration::from_millis)), Instant::now());
        for (at, state, drained, expected) in rows {
            let survey = vec![(ITEM, state.clone())];
            let actions = recovery.decide(survey, *drained, start + Duration::from_millis(*at));
            assert_eq!(actions, [*expected], "{state:?} after {at} ms");
        }
    }

    #[test]
    fn new_keys_are_loaded_open_at_once() {
        check(None, &[(0, New, false, Action::LoadOpen), (1, Open, false, Action::Maintain)]);
    }

    #[test]
    fn lost_keys_are_loaded_closed_after_the_drain_and_opened_after_the_replay() {
        check(
            None,
            &[
                (0, Open, true, Action::Maintain),
                (1_000, Lost, false, Action::Wait),
                (2_000, Lost, true, Action::Wait),
                (3_499, Lost, true, Action::Wait),
                (3_500, Lost, true, Action::LoadClosed),
                (3_600, Closed(1), true, Action::Wait),
                (13_599, Closed(1), true, Action::Wait),
                (13_600, Closed(1), true, Action::Open),
                (13_700, Open, true, Action::Maintain),
            ],
        );
    }

    #[test]
    fn a_message_in_the_queue_restarts_the_drain() {
        let rows = [
            (0, Lost, true, Action::Wait),
            (1_000, Lost, false, Action::Wait),
            (1_500, Lost, true, Action::Wait),
            (2_999, Lost, true, Action::Wait),
            (3_000, Lost, true, Action::LoadClosed),
        ];
        check(None, &rows);
    }

    #[test]
    fn a_queue_that_never_drains_delays_the_load_up_to_the_maximum() {
        check(None, &[(0, Lost, false, Action::Wait), (3_600_000, Lost, false, Action::Wait)]);
        let rows = [
            (0, Lost, false, Action::Wait),
            (39_999, Lost, false, Action::Wait),
            (40_000, Lost, false, Action::LoadClosed),
        ];
        check(Some(40_000), &rows);
    }

    #[test]
    fn a_failed_action_is_repeated() {
        let rows = [
            (0, Lost, true, Action::Wait),
            (1_500, Lost, true, Action::LoadClosed),
            (1_600, Lost, true, Action::LoadClosed),
            (1_700, Closed(1), true, Action::Wait),
            (11_700, Closed(1), true, Action::Open),
            (11_800, Closed(1), true, Action::Open),
        ];
        check(None, &rows);
    }

    #[test]
    fn keys_are_opened_as_soon_as_each_process_has_replayed() {
        let rows = [
            (0, Closed(1), true, Action::Wait),
            (100, Closed(1), true, Action::Wait),
            (200, Replayed(1), true, Action::Open),
            (300, Open, true, Action::Maintain),
        ];
        check(None, &rows);
    }

    #[test]
    fn another_generation_restarts_the_replay() {
        let rows = [
            (0, Closed(1), true, Action::Wait),
            (9_900, Closed(2), true, Action::Wait),
            (19_899, Closed(2), true, Action::Wait),
            (19_900, Closed(2), true, Action::Open),
        ];
        check(None, &rows);
    }

    #[test]
    fn keys_that_are_lost_while_closed_drain_and_replay_again() {
        let rows = [
            (0, Closed(1), true, Action::Wait),
            (1_000, Lost, true, Action::Wait),
            (2_500, Lost, true, Action::LoadClosed),
            (2_600, Closed(1), true, Action::Wait),
            (12_600, Closed(1), true, Action::Open),
        ];
        check(None, &rows);
    }

    #[test]
    fn keys_that_are_lost_again_after_a_load_wait_anew() {
        let (mut recovery, start) = (Recovery::<u8, u8>::new("sale", None, None), Instant::now());
        assert_eq!(recovery.decide(vec![(ITEM, Lost)], true, start), [Action::Wait]);
        assert_eq!(recovery.decide(vec![(ITEM, Lost)], true, start + DRAINED_FOR), [Action::LoadClosed]);
        recovery.loaded(ITEM);
        assert_eq!(recovery.decide(vec![(ITEM, Lost)], true, start + DRAINED_FOR), [Action::Wait]);
    }

    #[test]
    fn items_that_are_not_surveyed_any_more_are_forgotten() {
        let (mut recovery, start) = (Recovery::<u8, u8>::new("sale", None, None), Instant::now());
        assert_eq!(recovery.decide(vec![(ITEM, Lost)], true, start), [Action::Wait]);
        assert_eq!(recovery.decide(vec![(9, New)], true, start), [Action::LoadOpen]);
        assert_eq!(recovery.decide(vec![(ITEM, Lost)], true, start + DRAINED_FOR), [Action::Wait]);
    }
}
