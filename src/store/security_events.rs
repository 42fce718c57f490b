//! Security events, which the crate's module `security_events` collects: a row for the similar events of a minute, and
//! totals per hour and class.

use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{AFTER_ALL, SecurityEventStore, StoreResult, bound, conditions, for_rows, row};
use domain::ids::first_id_of;
use domain::{SecurityClass, UserId};

/// How long events are stored. It is long enough to investigate something that was noticed late.
const KEEP: Duration = Duration::from_secs(90 * 24 * 3600);

/// Similar events of one minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityEventRow {
    /// A UUID of version 7 from the time of the first event. Rows sort by it.
    pub id: String,
    /// A [`SecurityClass`], or a class of another version.
    pub class: String,
    pub account: Option<UserId>,
    /// A /24 of IPv4 or a /48 of IPv6; empty if it is not known.
    pub network: String,
    pub detail: String,
    /// The time of the first event.
    pub at: Timestamp,
    pub events: i64,
}

/// The number of events of one class in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityTotal {
    pub hour: Timestamp,
    pub class: String,
    pub events: i64,
}

/// A filter over the events. `None` and an empty text match all of them.
#[derive(Debug, Clone, Default)]
pub struct SecurityEventFilter {
    pub class: Option<SecurityClass>,
    pub account: Option<UserId>,
    pub network: String,
    pub from: Option<Timestamp>,
    /// Events at this time or later are left out.
    pub to: Option<Timestamp>,
}

#[boxed]
impl SecurityEventStore<'_> {
    /// Writes rows with their present counts. Writing a row again replaces its count, so that a write may run twice.
    pub async fn save(self, rows: &[SecurityEventRow]) -> StoreResult<()> {
        let sql = "INSERT INTO security_events (id, class, account, network, detail, at_ms, events) VALUES $rows
             ON CONFLICT (id) DO UPDATE SET events = excluded.events";
        self.write_all(for_rows(sql, rows, |row| {
            let SecurityEventRow { id, class, account, network, detail, at, events } = row;
            let account = account.map(|id| id.to_string()).unwrap_or_default();
            values![id, class, account, network, detail, at, *events]
        }))
        .await
    }

    /// Writes the present totals of one process.
    pub async fn save_totals(self, process: &str, totals: &[SecurityTotal]) -> StoreResult<()> {
        let sql = "INSERT INTO security_event_hours (hour_ms, class, process, events) VALUES $rows
             ON CONFLICT (hour_ms, class, process) DO UPDATE SET events = excluded.events";
        let row = |total: &SecurityTotal| values![total.hour, &total.class, process, total.events];
        self.write_all(for_rows(sql, totals, row)).await
    }

    /// Events that match, newest first, after the row `before` in this order.
    pub async fn list(
        self,
        filter: &SecurityEventFilter,
        before: Option<&str>,
        limit: i64,
    ) -> StoreResult<Vec<SecurityEventRow>> {
        let (conditions, values) = conditions(
            3,
            [
                ("class =", filter.class.map(|class| class.to_string()).unwrap_or_default()),
                ("account =", filter.account.map(|id| id.to_string()).unwrap_or_default()),
                ("network =", filter.network.clone()),
                ("id >=", filter.from.map(first_id_of).unwrap_or_default()),
                ("id <", filter.to.map(first_id_of).unwrap_or_default()),
            ],
        );
        let sql = format!(
            "SELECT id, class, account, network, detail, at_ms, events FROM security_events
             WHERE id < $1{conditions} ORDER BY id DESC LIMIT $2"
        );
        let query = query!(AssertSqlSafe(sql); before.unwrap_or(AFTER_ALL), limit);
        self.all(bound(query, values), |row| {
            read!(row => SecurityEventRow {
                id, class, account = row::text(row, "account")?.parse().ok(), network, detail, at: "at_ms", events,
            })
        })
        .await
    }

    /// The events of all processes by hour and class, of the hours that begin at `from` or later.
    pub async fn totals(self, from: Timestamp) -> StoreResult<Vec<SecurityTotal>> {
        let sql = "SELECT hour_ms, class, CAST(SUM(events) AS BIGINT) AS events FROM security_event_hours
             WHERE hour_ms >= $1 GROUP BY hour_ms, class";
        self.all(query!(sql; from), |row| read!(row => SecurityTotal { hour: "hour_ms", class, events })).await
    }

    /// Deletes a bounded number of events that are older than 90 days, and their totals. Returns whether there may be more.
    pub async fn purge(self) -> StoreResult<bool> {
        let before = self.now().await? - KEEP;
        self.run(query!("DELETE FROM security_event_hours WHERE hour_ms < $1"; before)).await?;
        self.purge_rows(["security_events", "id"], "id < $1 ORDER BY id", values![first_id_of(before)]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::new_store;
    use base::clock::Clock;

    #[tokio::test]
    async fn events_are_deleted_after_90_days() {
        let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
        let (_dir, store) = new_store(&clock).await;
        let days_ago = |days: u64| clock.now() - Duration::from_secs(days * 24 * 3600);
        let rows = [89, 91].map(|days| SecurityEventRow {
            id: first_id_of(days_ago(days)),
            class: "log_in_failed".to_owned(),
            account: None,
            network: String::new(),
            detail: format!("{days}"),
            at: days_ago(days),
            events: 1,
        });
        store.security_events().save(&rows).await.unwrap();
        let totals = [(89, 7), (91, 8)];
        let totals = totals.map(|(days, events)| {
            let class = "log_in".to_owned();
            SecurityTotal { hour: days_ago(days), class, events }
        });
        store.security_events().save_totals("a", &totals).await.unwrap();
        assert!(!store.security_events().purge().await.unwrap());
        let left = store.security_events().list(&SecurityEventFilter::default(), None, 10).await.unwrap();
        assert_eq!(left.iter().map(|row| row.detail.as_str()).collect::<Vec<_>>(), ["89"]);
        let left = store.security_events().totals(Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(left.iter().map(|total| total.events).collect::<Vec<_>>(), [7]);
    }
}
