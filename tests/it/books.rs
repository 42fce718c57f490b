//! Closed days of the books: summed up in parts, and closed as a whole or not at all.

use std::pin::pin;
use std::task::Poll;

use domain::ledger::AccountKind;
use futures::future::poll_fn;
use jiff::Timestamp;
use sqlx::Row;
use store::{Period, Store};

use crate::wallet::WalletStore;

/// 2026-01-10, a day that is over on every clock.
const DAY: i64 = 1_768_003_200_000;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// A day is summed up by half hours.
const PART_MS: i64 = DAY_MS / 48;

/// Stops the work after this many wakes, like a process that dies there. `None` if it did not finish.
async fn interrupted<T>(work: impl Future<Output = T>, wakes: usize) -> Option<T> {
    let (mut work, mut left) = (pin!(work), wakes);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

impl WalletStore {
    /// Writes a top-up with this time.
    async fn top_up(&self, id: &str, at_ms: i64, amount: i64) {
        let statements = [
            format!("INSERT INTO wallet_transfers (id, kind, reference, at_ms) VALUES ('{id}', 'topup', 'x', {at_ms})"),
            format!(
                "INSERT INTO wallet_entries (transfer_id, account, amount, at_ms)
                 VALUES ('{id}', 'provider', -{amount}, {at_ms}), ('{id}', 'user:x', {amount}, {at_ms})"
            ),
        ];
        self.execute(&statements).await;
    }

    /// Writes a top-up at the first and the last millisecond of each half hour of the day. Returns their sum.
    async fn top_up_in_every_part(&self) -> i64 {
        let mut sum = 0;
        for part in 0..48 {
            for (n, at) in [(0, DAY + part * PART_MS), (1, DAY + (part + 1) * PART_MS - 1)] {
                let amount = 1 + 1_000 * part + n;
                self.top_up(&format!("{part}-{n}"), at, amount).await;
                sum += amount;
            }
        }
        sum
    }

    /// The number of rows of closed days, and the time before which days are closed.
    async fn closed(&self) -> (i64, i64) {
        let sql = "SELECT (SELECT COUNT(*) FROM book_days) AS days, closed_before_ms FROM books";
        let row = sqlx::query(sql).fetch_one(self.pool()).await.unwrap();
        (row.get("days"), row.get("closed_before_ms"))
    }

    /// The same, once no interrupted work locks the books. Interrupted work is rolled back, unless its commit was on
    /// its way.
    async fn closed_after_interruption(&self) -> (i64, i64) {
        self.execute(&["UPDATE books SET closed_before_ms = closed_before_ms".to_owned()]).await;
        self.closed().await
    }

    /// The money that the users got on the day, according to the trial balance.
    async fn credited(&self) -> i64 {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let lines = self.store.books().trial_balance(Period { from: at(DAY), to: at(DAY + DAY_MS) }).await.unwrap();
        lines.iter().filter(|line| line.account == AccountKind::User).map(|line| line.credits.amount).sum()
    }

    async fn book_mismatches(&self) -> Vec<String> {
        self.store.audit().snapshot(Default::default()).await.unwrap().book_mismatches().await.unwrap()
    }
}

async fn close_all(store: &Store) {
    while store.books().close().await.unwrap() {}
}

async fn interrupted_day_is_closed_as_a_whole_later(url: &str) {
    let books = WalletStore::open(url).await;
    let sum = books.top_up_in_every_part().await;
    // One top-up on the day before, and one on the day after.
    books.top_up("before", DAY - 1, 7).await;
    books.top_up("after", DAY + DAY_MS, 9).await;
    assert!(books.store.books().close().await.unwrap(), "the day before");
    let before = books.closed().await;
    assert_eq!(before, (2, DAY));
    let (mut wakes, mut interruptions) = (1, 0);
    loop {
        if let Some(closed) = interrupted(books.store.books().close(), wakes).await {
            closed.unwrap();
            break;
        }
        // The commit was on its way, and the day is closed as a whole: see below.
        if books.closed_after_interruption().await != before {
            break;
        }
        assert_eq!(books.credited().await, sum + interruptions, "nothing is counted twice");
        // This top-up belongs to a part that was summed up already.
        books.top_up(&format!("late {wakes}"), DAY + 5, 1).await;
        interruptions += 1;
        wakes += wakes / 4 + 1;
    }
    assert!(interruptions > 5, "{interruptions} interruptions: the parts are read by statements of their own");
    assert_eq!(books.closed().await, (4, DAY + DAY_MS));
    close_all(&books.store).await;
    assert_eq!(books.credited().await, sum + interruptions);
    assert_eq!(books.book_mismatches().await, Vec::<String>::new());
}

async fn entry_of_a_closed_day_is_named_by_the_audit(url: &str) {
    let books = WalletStore::open(url).await;
    let sum = books.top_up_in_every_part().await;
    close_all(&books.store).await;
    assert_eq!((books.credited().await, books.book_mismatches().await), (sum, Vec::new()));
    for (id, at) in [("first", DAY), ("last", DAY + DAY_MS - 1)] {
        books.top_up(id, at, 5).await;
    }
    assert_eq!(books.credited().await, sum, "a closed day is read from its sums");
    let wrong = books.book_mismatches().await;
    let moved = sum + 10;
    let user = format!("2026-01-10 of user in CNY: 0 debits and {sum} credits are kept, 0 and {moved} moved");
    assert!(wrong.len() == 2 && wrong.contains(&user), "{wrong:?}");
    books.top_up("another day", DAY + 3 * DAY_MS, 5).await;
    let wrong = books.book_mismatches().await;
    assert!(wrong.contains(&"money moved on 2026-01-13, which has no sums".to_owned()), "{wrong:?}");
}

mod sqlite {
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::sqlite_in;

    use super::*;

    database_tests! {
        sqlite, books:
        interrupted_day_is_closed_as_a_whole_later,
        entry_of_a_closed_day_is_named_by_the_audit,
    }

    #[tokio::test]
    async fn day_is_closed_an_hour_after_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut books = WalletStore::open(&sqlite_in(dir.path())).await;
        let clock = Clock::manual(Timestamp::from_millisecond(DAY + DAY_MS + 3_599_999).unwrap());
        books.store = books.store.with_clock(&clock);
        books.top_up("late in the day", DAY + DAY_MS - 1, 5).await;
        close_all(&books.store).await;
        assert_eq!(books.closed().await, (0, DAY));
        clock.advance(Duration::from_millis(1));
        close_all(&books.store).await;
        assert_eq!(books.closed().await, (2, DAY + DAY_MS));
    }
}

mod stack {
    mod postgres {
        use std::time::Duration;

        use sqlx::Connection;
        use sqlx::postgres::PgConnection;

        use super::super::*;
        use crate::support::{Fixture, Rung, WAITS_FOR_A_LOCK, sessions, until};

        database_tests! {
            postgres, books:
            interrupted_day_is_closed_as_a_whole_later,
            entry_of_a_closed_day_is_named_by_the_audit,
        }

        /// Transactions of a day end within an hour after the day. If one does not, it must not be lost silently.
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn entry_that_comes_between_two_parts_is_named_by_the_audit() {
            let fixture = Fixture::new(Rung::Postgres).await;
            let url = &fixture.settings["SECKILL_DATABASE_URL"];
            let books = WalletStore::open(url).await;
            let sum = books.top_up_in_every_part().await;
            let mut watch = PgConnection::connect(url).await.unwrap();
            let mut lock = PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql("BEGIN; LOCK TABLE partial_refunds IN ACCESS EXCLUSIVE MODE")
                .execute(&mut lock)
                .await
                .unwrap();
            let closing = tokio::spawn({
                let store = books.store.clone();
                async move { close_all(&store).await }
            });
            let waiting = async || sessions(&mut watch, WAITS_FOR_A_LOCK).await;
            until("the books wait for the lock", Duration::from_secs(30), waiting, |sessions| *sessions == 1).await;
            books.top_up("between", DAY, 5).await;
            sqlx::raw_sql("COMMIT").execute(&mut lock).await.unwrap();
            closing.await.unwrap();
            let (kept, wrong) = (books.credited().await, books.book_mismatches().await);
            assert!(
                kept == sum + 5 && wrong.is_empty() || kept == sum && wrong.len() == 2,
                "{kept} of {sum}: {wrong:?}"
            );
        }
    }
}
