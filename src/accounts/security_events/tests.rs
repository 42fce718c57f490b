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
