//! The events of one process that are on their way to the database, within bounds.

use std::collections::HashMap;

use jiff::Timestamp;
use uuid::{NoContext, Uuid};

use base::rate_limit::CellRate;
use domain::{SecurityClass, UserId};
use store::{SecurityEventRow, SecurityTotal};

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
pub(super) struct Subject {
    pub(super) class: SecurityClass,
    pub(super) account: Option<UserId>,
    /// The client's network; empty if it is unknown.
    pub(super) network: String,
    pub(super) detail: &'static str,
}

impl Subject {
    /// The row for events of a class that has used up its rows.
    fn folded(&self) -> Subject {
        Subject { account: None, network: String::new(), ..*self }
    }
}

/// Where an event was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Added {
    /// `false` if there was no room for it.
    pub(super) is_kept: bool,
    pub(super) is_logged: bool,
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
pub(super) struct Pending {
    rows: HashMap<(i64, Subject), Row>,
    /// Keyed by the start of the hour, in Unix milliseconds.
    totals: HashMap<(i64, SecurityClass), Count>,
    classes: [ClassState; SecurityClass::ALL.len()],
}

impl Pending {
    pub(super) fn add(&mut self, subject: Subject, now: Timestamp) -> Added {
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
    pub(super) fn unlogged(&mut self, now: Timestamp) -> Vec<(SecurityClass, u64)> {
        let minute = now.as_millisecond() / MINUTE_MS;
        let over = SecurityClass::ALL.into_iter().filter_map(|class| {
            let state = &mut self.classes[class as usize];
            (state.unlogged > 0 && state.unlogged_since < minute).then(|| (class, std::mem::take(&mut state.unlogged)))
        });
        over.collect()
    }

    /// The rows and totals whose counts the database does not have.
    pub(super) fn unwritten(&self) -> (Vec<SecurityEventRow>, Vec<SecurityTotal>) {
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
    pub(super) fn confirm(&mut self, rows: &[SecurityEventRow], totals: &[SecurityTotal], now: Timestamp) {
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

/// A UUID of version 7 of this time.
fn id_at(now: Timestamp) -> Uuid {
    let (seconds, nanos) = (now.as_second(), now.subsec_nanosecond());
    Uuid::new_v7(uuid::Timestamp::from_unix(
        NoContext,
        u64::try_from(seconds).unwrap_or_default(),
        u32::try_from(nanos).unwrap_or_default(),
    ))
}
