//! Security events: traces of attacks, for the metrics, the log and the shop's owners.
//!
//! Code that meets such an event calls [`SecurityEvents::record`], which adds to counts in memory and never waits. A
//! task writes the counts to the database every few seconds ([`SecurityEvents::follow`]).
//!
//! **A flood** costs little time and space: events of one minute with the same class, account, network and detail are
//! one row with a count. The number of rows of a class is limited; further events of the class go to a row without
//! account and network. The log has a few lines per class and minute, and then one line with the number of
//! the other events.
//!
//! **Without the database** counts wait in memory up to a limit. Events beyond it are missing from the list and counted
//! by `security_events_dropped`; the metric `security_events` and the totals per hour include them.
//!
//! **Stored** of an event are its class, the account's id, the network of the client, and a detail that is a constant
//! of the program: never a typed name, which may be a password, never an address, a password, a code or a token.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

use base::clock::Clock;
use base::locked;
use base::metrics::Metrics;
use base::periodic::run_every;
use base::rate_limit::CellRate;
use domain::{Network, SecurityClass, UserId};
use store::{SecurityEventRow, SecurityTotal, Store, StoreResult, id_at};

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

#[boxed]
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
        let added = locked(&self.0.pending)
            .add(Subject { class, account, network: network.clone(), detail }, self.0.clock.now());
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
    pub async fn write(&self, store: &Store) -> StoreResult<()> {
        let _writing = self.0.writing.lock().await;
        let now = self.0.clock.now();
        let unlogged = locked(&self.0.pending).unlogged(now);
        for (class, events) in unlogged {
            info!(class = class.as_str(), events, "further security events, not logged one by one");
        }
        let (rows, totals) = locked(&self.0.pending).unwritten();
        if !totals.is_empty() {
            store.security_events().save_totals(&self.0.process, &totals).await?;
        }
        if !rows.is_empty() {
            store.security_events().save(&rows).await?;
        }
        locked(&self.0.pending).confirm(&rows, &totals, now);
        Ok(())
    }
}

/// Rows in memory: less than one megabyte.
const MAX_ROWS: usize = 4_096;
/// Rows of one class in the database: 300 at once, then one per ten seconds. A flood that lasts for all of the 90 days
/// that rows are kept leaves 780,000 per class and process.
const ROWS_PER_CLASS: CellRate = CellRate { interval: 10_000, burst: 300 };
/// Events of one class that are logged within a minute.
const LOGGED_PER_MINUTE: u32 = 10;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// What events of one minute have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subject {
    class: SecurityClass,
    account: Option<UserId>,
    /// The client's network; empty if it is unknown.
    network: String,
    detail: &'static str,
}

impl Subject {
    /// The row for events of a class that has used up its rows.
    fn folded(&self) -> Subject {
        Subject { account: None, network: String::new(), ..*self }
    }
}

/// Where an event was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Added {
    /// `false` if there was no room for it.
    is_kept: bool,
    is_logged: bool,
}

/// A count, and how much of it the database has.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    events: i64,
    written: i64,
}

#[derive(Debug)]
struct Row {
    id: Uuid,
    at: Timestamp,
    count: Count,
}

/// The limits of one class.
#[derive(Debug, Default, Clone, Copy)]
struct ClassState {
    /// When all rows of [`ROWS_PER_CLASS`] are available again, in Unix milliseconds.
    restored_at: u64,
    log_minute: i64,
    logged: u32,
    unlogged: u64,
    /// The minute of the first event that was not logged.
    unlogged_since: i64,
}

#[derive(Debug, Default)]
struct Pending {
    rows: HashMap<(i64, Subject), Row>,
    /// Keyed by the start of the hour, in Unix milliseconds.
    totals: HashMap<(i64, SecurityClass), Count>,
    classes: [ClassState; SecurityClass::ALL.len()],
}

impl Pending {
    fn add(&mut self, subject: Subject, now: Timestamp) -> Added {
        let ms = now.as_millisecond();
        let class = subject.class;
        self.totals.entry((ms - ms.rem_euclid(HOUR_MS), class)).or_default().events += 1;
        let state = &mut self.classes[class as usize];
        Added { is_logged: state.log(ms / MINUTE_MS), is_kept: self.count(subject, now) }
    }

    /// Adds the event to its row. `false` when there is no room for another row.
    fn count(&mut self, subject: Subject, now: Timestamp) -> bool {
        let minute = now.as_millisecond() / MINUTE_MS;
        let mut key = (minute, subject);
        if !self.rows.contains_key(&key) {
            let has_room = self.rows.len() < MAX_ROWS;
            if !has_room || !self.classes[key.1.class as usize].take_row(now) {
                key.1 = key.1.folded();
            }
            if !has_room && !self.rows.contains_key(&key) {
                return false;
            }
        }
        let row = self.rows.entry(key).or_insert_with(|| Row { id: id_at(now), at: now, count: Count::default() });
        row.count.events += 1;
        true
    }

    /// For each class, how many events were not logged, once the minute of the first of them is over.
    fn unlogged(&mut self, now: Timestamp) -> Vec<(SecurityClass, u64)> {
        let minute = now.as_millisecond() / MINUTE_MS;
        let over = SecurityClass::ALL.into_iter().filter_map(|class| {
            let state = &mut self.classes[class as usize];
            (state.unlogged > 0 && state.unlogged_since < minute).then(|| (class, std::mem::take(&mut state.unlogged)))
        });
        over.collect()
    }

    /// The rows and totals whose counts the database does not have.
    fn unwritten(&self) -> (Vec<SecurityEventRow>, Vec<SecurityTotal>) {
        let rows = self.rows.iter().filter(|(_, row)| row.count.is_unwritten()).map(|((_, subject), row)| {
            let Subject { class, account, ref network, detail } = *subject;
            SecurityEventRow {
                id: row.id.to_string(),
                class: class.to_string(),
                account,
                network: network.clone(),
                detail: detail.to_owned(),
                at: row.at,
                events: row.count.events,
            }
        });
        let totals = self.totals.iter().filter(|(_, count)| count.is_unwritten()).map(|((hour, class), count)| {
            let hour = Timestamp::from_millisecond(*hour).unwrap_or(Timestamp::MIN);
            SecurityTotal { hour, class: class.to_string(), events: count.events }
        });
        (rows.collect(), totals.collect())
    }

    /// Records that these counts were written, and drops rows and totals that will not grow any more.
    fn confirm(&mut self, rows: &[SecurityEventRow], totals: &[SecurityTotal], now: Timestamp) {
        let ms = now.as_millisecond();
        let written: HashMap<&str, i64> = rows.iter().map(|row| (row.id.as_str(), row.events)).collect();
        self.rows.retain(|(minute, _), row| {
            if let Some(events) = written.get(row.id.to_string().as_str()) {
                row.count.written = *events;
            }
            row.count.is_unwritten() || *minute >= ms / MINUTE_MS
        });
        let written: HashMap<(i64, &str), i64> =
            totals.iter().map(|total| ((total.hour.as_millisecond(), total.class.as_str()), total.events)).collect();
        self.totals.retain(|(hour, class), count| {
            if let Some(events) = written.get(&(*hour, class.as_str())) {
                count.written = *events;
            }
            count.is_unwritten() || hour + HOUR_MS > ms
        });
    }
}

impl Count {
    fn is_unwritten(self) -> bool {
        self.events > self.written
    }
}

impl ClassState {
    /// Whether the event is logged.
    fn log(&mut self, minute: i64) -> bool {
        if self.log_minute != minute {
            self.log_minute = minute;
            self.logged = 0;
        }
        let is_logged = self.logged < LOGGED_PER_MINUTE;
        if is_logged {
            self.logged += 1;
        } else {
            self.unlogged_since = if self.unlogged == 0 { minute } else { self.unlogged_since };
            self.unlogged += 1;
        }
        is_logged
    }

    /// Takes one of the rows that the class may have.
    fn take_row(&mut self, now: Timestamp) -> bool {
        let now = u64::try_from(now.as_millisecond()).unwrap_or_default();
        match ROWS_PER_CLASS.charge(self.restored_at.saturating_sub(now)) {
            Ok(ahead) => {
                self.restored_at = now + ahead;
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::SecurityEventFilter;

    struct Fixture {
        events: SecurityEvents,
        metrics: Arc<Metrics>,
        store: Store,
        clock: Clock,
        _dir: tempfile::TempDir,
    }

    impl Fixture {
        async fn new() -> Fixture {
            let dir = tempfile::tempdir().unwrap();
            let clock = Clock::manual("2026-11-21T12:00:30Z".parse().unwrap());
            let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap().with_clock(&clock);
            store.migrate().await.unwrap();
            let metrics = Arc::new(Metrics::default());
            Fixture { events: SecurityEvents::new(clock.clone(), metrics.clone()), metrics, store, clock, _dir: dir }
        }

        /// Account, network and count of each row, after a write; the newest first.
        async fn rows(&self) -> Vec<(Option<UserId>, String, i64)> {
            self.events.write(&self.store).await.unwrap();
            let rows = self.store.security_events().list(&SecurityEventFilter::default(), None, 10_000).await.unwrap();
            rows.into_iter().map(|row| (row.account, row.network, row.events)).collect()
        }

        fn fail(&self, address: &str) {
            self.events.record(SecurityClass::LogInFailed, None, Some(address.parse().unwrap()), "password");
        }
    }

    #[tokio::test]
    async fn events_of_a_minute_that_are_alike_are_one_row_with_a_count() {
        let shop = Fixture::new().await;
        for host in 0..100 {
            shop.fail(&format!("192.0.2.{host}"));
        }
        let mei = UserId(Uuid::now_v7());
        shop.events.record(SecurityClass::PasswordChanged, Some(mei), Some("2001:db8:1:2::3".parse().unwrap()), "");
        let mut rows = shop.rows().await;
        rows.sort_by_key(|row| row.2);
        assert_eq!(rows, [(Some(mei), "2001:db8:1::/48".to_owned(), 1), (None, "192.0.2.0/24".to_owned(), 100)]);
        shop.clock.advance(Duration::from_secs(60));
        shop.fail("192.0.2.1");
        assert_eq!(shop.rows().await[0], (None, "192.0.2.0/24".to_owned(), 1), "the next minute has a row of its own");
        let text = shop.metrics.encode();
        assert!(text.contains("seckill_security_events_total{class=\"log_in_failed\"} 101"), "{text}");
        assert!(text.contains("seckill_security_events_total{class=\"webhook_refused\"} 0"), "{text}");
    }

    #[tokio::test]
    async fn a_write_that_runs_twice_counts_once_and_a_row_grows_with_its_minute() {
        let shop = Fixture::new().await;
        shop.fail("192.0.2.1");
        assert_eq!(shop.rows().await[0].2, 1);
        assert_eq!(shop.rows().await[0].2, 1);
        shop.fail("192.0.2.1");
        shop.events.write(&shop.store).await.unwrap();
        assert_eq!(shop.rows().await, [(None, "192.0.2.0/24".to_owned(), 2)]);
        let totals = shop.store.security_events().totals("2026-11-21T12:00:00Z".parse().unwrap()).await.unwrap();
        assert_eq!(totals.len(), 1);
        assert_eq!((totals[0].class.as_str(), totals[0].events), ("log_in_failed", 2));
        assert_eq!(totals[0].hour.to_string(), "2026-11-21T12:00:00Z");
    }

    #[tokio::test]
    async fn a_flood_from_everywhere_fills_few_rows_and_hides_no_other_class() {
        let shop = Fixture::new().await;
        for n in 0..60_000_u32 {
            shop.fail(&format!("10.{}.{}.1", n / 250, n % 250));
        }
        shop.events.record(SecurityClass::RoleChanged, None, None, "admin");
        let rows = shop.rows().await;
        assert_eq!(rows.len(), 302, "300 networks, the rest without one, and the other class");
        assert_eq!(rows.iter().map(|row| row.2).sum::<i64>(), 60_001, "every event is counted");
        assert!(rows.contains(&(None, String::new(), 59_700)));
        assert_eq!(shop.metrics.security_events_dropped.get(), 0);
        shop.clock.advance(Duration::from_secs(60));
        for n in 0..1_000 {
            shop.fail(&format!("11.0.{}.1", n % 250));
        }
        assert_eq!(shop.rows().await.len(), 302 + 7, "one row per ten seconds, and one for the rest");
    }

    #[tokio::test]
    async fn without_the_database_events_wait_within_a_bound_and_then_are_counted_as_dropped() {
        let shop = Fixture::new().await;
        let away = Store::open("sqlite:///nonexistent/folder/shop.sqlite").unwrap();
        for minute in 0..2_000 {
            for class in [SecurityClass::LogInFailed, SecurityClass::LogIn, SecurityClass::CrossSiteRefused] {
                shop.events.record(class, None, None, "");
            }
            if minute % 1_000 == 0 {
                assert!(shop.events.write(&away).await.is_err());
            }
            shop.clock.advance(Duration::from_secs(60));
        }
        assert_eq!(shop.metrics.security_events_dropped.get(), 6_000 - 4_096);
        let rows = shop.rows().await;
        assert_eq!(rows.iter().map(|row| row.2).sum::<i64>(), 4_096, "what waited is written when it is back");
        let totals = shop.store.security_events().totals(jiff::Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(totals.iter().map(|total| total.events).sum::<i64>(), 6_000, "the totals have all of them");
        shop.fail("192.0.2.1");
        assert_eq!(shop.rows().await.len(), 4_097, "there is room again");
    }

    #[test]
    fn the_log_names_a_few_events_of_a_minute_and_counts_the_others() {
        let mut pending = Pending::default();
        let mut now: jiff::Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let subject = Subject { class: SecurityClass::LogIn, account: None, network: String::new(), detail: "" };
        let add = |pending: &mut Pending, now, times: u64| -> usize {
            (0..times).filter(|_| pending.add(subject.clone(), now).is_logged).count()
        };
        assert_eq!(add(&mut pending, now, 1_214), 10);
        assert_eq!(pending.unlogged(now), [], "the minute is not over");
        now += Duration::from_secs(60);
        assert_eq!(add(&mut pending, now, 12), 10, "a flood that goes on is named again");
        assert_eq!(pending.unlogged(now), [(SecurityClass::LogIn, 1_206)]);
        assert_eq!(pending.unlogged(now + Duration::from_secs(60)), []);
    }
}
