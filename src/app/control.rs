//! The jobs of data control.

use std::sync::Arc;
use std::time::Duration;

use crate::app::Services;
use control::draws::Draws;
use control::schedule::{Deposits, Schedule};
use control::waiting_rooms::{Turns, WaitingRoomSteps};
use control::waitlists::Waitlists;
use control::{Control, Job, schedule};
use domain::{Sale, SaleMode, SaleState};
use engine::packets::give::PacketSettler;
use orders::expiry::Expiry;
use orders::parcels::deliver_overdue;

/// How often schedules are read. An opening within the interval is waited for, so it is met to the millisecond.
const SCHEDULE_INTERVAL: Duration = Duration::from_millis(500);
/// A shop rests until this long before its next opening.
const WAKE_BEFORE: Duration = Duration::from_secs(60);
const STOCK_SYNC_INTERVAL: Duration = Duration::from_millis(200);
/// How soon a bucket that has sold its lot gets another one.
const ALLOT_INTERVAL: Duration = Duration::from_millis(100);
/// For what somebody waits for: orders and their money, turns, draws, units that came back, packets, messages and events.
const SOON: Duration = Duration::from_millis(500);
/// How soon a start, or the end of the time to pay, that has come near is noticed. Each step writes a row.
const NOTICES_INTERVAL: Duration = Duration::from_secs(10);
/// How soon the deposits of a sale that is over go back.
const DEPOSITS_INTERVAL: Duration = Duration::from_secs(1);
/// For parcels whose days are over, digests of retired sales, and rows that nothing needs any more.
const UNHURRIED: Duration = Duration::from_secs(60);
/// How soon a day that is over is summed up.
const BOOKS_INTERVAL: Duration = Duration::from_secs(3600);
/// How soon a day that staff ask for is settled.
const SETTLEMENT_INTERVAL: Duration = Duration::from_secs(10);
/// How often the depth of RabbitMQ's queues is measured.
const DEPTHS_INTERVAL: Duration = Duration::from_secs(1);
const RECONCILE_INTERVAL: Duration = Duration::from_secs(5);
/// A multiple of a comparison's duration: a long one must leave Redis and the database to shoppers for most of the time.
const RECONCILE_PAUSE_FACTOR: u32 = 5;

/// A job whose step is a method of a handle.
macro_rules! job {
    ($name:literal, $interval:expr, $part:expr, $step:ident) => {
        Job::new($name, $interval, $part, |part| async move { part.$step().await })
    };
}

impl Services {
    pub fn control(&self) -> Control {
        let mut jobs = self.sale_jobs();
        jobs.extend(self.order_jobs());
        jobs.extend(self.upkeep_jobs());
        let mut jobs: Vec<Job> = jobs.into_iter().map(|job| job.resting_while(self.rests())).collect();
        let packets = Arc::new(self.packet_settler());
        // Each step looks at packets that are over and at a sample of the others.
        jobs.push(job!("red packets", SOON, packets, step));
        Control { store: self.store.clone(), jobs, member: self.member.clone() }
    }

    pub fn expiry(&self) -> Expiry {
        Expiry::new(self.store.clone(), self.stock.clone(), self.metrics.clone())
    }

    pub fn packet_settler(&self) -> PacketSettler {
        let (packet_sync, metrics) = (self.packet_sync.clone(), self.metrics.clone());
        PacketSettler { store: self.store.clone(), packet_sync, metrics }
    }

    /// What happens to sales: their times, their stock, and those who wait for it.
    fn sale_jobs(&self) -> Vec<Job> {
        let (store, stock, metrics) = (&self.store, &self.stock, &self.metrics);
        let schedule = Arc::new(Schedule::new(store.clone(), stock.clone()));
        let rooms = Arc::new(WaitingRoomSteps::new(store.clone(), self.gathering.clone(), metrics.clone()));
        let turns = Arc::new(Turns::new(store.clone(), stock.clone()));
        let draws = Arc::new(Draws::new(store.clone(), metrics.clone()));
        let waitlists = Arc::new(Waitlists::new(store.clone(), stock.clone(), metrics.clone()));
        let mut jobs = vec![
            Job::new("schedule", SCHEDULE_INTERVAL, schedule, |schedule| async move {
                schedule.step(SCHEDULE_INTERVAL).await
            }),
            job!("waiting rooms", SOON, rooms, step).only_if(self.has_active(|sale| sale.mode.is_waiting_room())),
            job!("turns", SOON, turns, step).only_if(self.has_active(|sale| sale.mode.is_waiting_room())),
            job!("draws", SOON, draws, step).only_if(self.has_draws()),
            job!("waitlists", SOON, waitlists, step)
                .only_if(self.has_active(|sale| matches!(sale.mode, SaleMode::Rush))),
        ];
        match self.stock_sync.clone() {
            Some(sync) => {
                let reconcile = job!("reconciliation", RECONCILE_INTERVAL, sync.clone(), reconcile);
                jobs.push(job!("stock sync", STOCK_SYNC_INTERVAL, sync, step));
                // A comparison may take long, and an interrupted one leaves nothing half done.
                jobs.push(reconcile.interruptible().with_pause(RECONCILE_PAUSE_FACTOR));
            }
            None => jobs.push(Job::new("stock sync", STOCK_SYNC_INTERVAL, store.clone(), schedule::retire_sales)),
        }
        jobs.extend(self.allotter().map(|allotter| job!("allotment", ALLOT_INTERVAL, allotter, step)));
        jobs
    }

    /// Whether every sale is retired, a draft, or opens in more than a minute: then nobody waits for a step of control in a
    /// hurry. A change of the catalogue ends the rest.
    fn rests(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (catalogue, clock) = (self.catalogue.clone(), self.clock.clone());
        move || {
            let soon = clock.now() + WAKE_BEFORE;
            let active = catalogue.active();
            active.into_iter().filter_map(|id| catalogue.known(id)).all(|entry| match entry.sale.state {
                SaleState::Draft => true,
                SaleState::Scheduled => entry.sale.starts_at().is_none_or(|at| at > soon),
                SaleState::Live | SaleState::Paused | SaleState::Ended => false,
            })
        }
    }

    /// Whether the catalogue has such a sale that is not retired, so that a shop between two sales costs little.
    fn has_active(&self, is_such: fn(&Sale) -> bool) -> impl Fn() -> bool + Send + Sync + 'static {
        let catalogue = self.catalogue.clone();
        move || {
            let active = catalogue.active();
            active.into_iter().filter_map(|id| catalogue.known(id)).any(|entry| is_such(&entry.sale))
        }
    }

    /// Whether the catalogue has a draw, also one that is over: its entrants may still be told something.
    fn has_draws(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let catalogue = self.catalogue.clone();
        move || catalogue.entries().iter().any(|entry| entry.sale.mode.is_draw())
    }

    /// What happens to orders and their money.
    fn order_jobs(&self) -> Vec<Job> {
        let store = &self.store;
        let (expiry, payments) = (Arc::new(self.expiry()), &self.payments);
        let (deposits, parcels) = (Arc::new(Deposits::new(store.clone())), (store.clone(), self.config.delivered_days));
        let mut jobs =
            vec![
                job!("overdue orders", SOON, expiry.clone(), cancel_overdue),
                job!("releases", SOON, expiry, release),
                job!("refunds", SOON, payments.clone(), refund_due),
                Job::new("closing of payments", SOON, payments.clone(), |payments| async move {
                    payments.close_due().await?;
                    payments.ask_due().await
                }),
                Job::new(
                    "order numbers",
                    SOON,
                    store.clone(),
                    |store| async move { store.orders().number_missing().await },
                ),
                Job::new("deliveries", UNHURRIED, parcels, |(store, days)| async move {
                    deliver_overdue(&store, days).await
                }),
                job!("deposits", DEPOSITS_INTERVAL, deposits, step),
            ];
        jobs.extend(self.sandbox.clone().map(|sandbox| job!("webhooks", SOON, sandbox, deliver_due)));
        jobs
    }

    /// Messages, sums, and rows that nothing needs any more. A step may take long and is interrupted by a stop.
    fn upkeep_jobs(&self) -> Vec<Job> {
        let (store, digests) = (&self.store, self.digests.clone());
        let mut jobs = vec![
            job!("mail", SOON, self.mailer.clone(), step),
            job!("push", SOON, self.pusher.clone(), step),
            job!("events", SOON, self.webhooks.clone(), step),
            Job::new("notices", NOTICES_INTERVAL, store.clone(), schedule::write_notices),
            Job::new("purge", UNHURRIED, store.clone(), schedule::purge),
            Job::new("books", BOOKS_INTERVAL, store.clone(), schedule::close_books),
            job!("settlement", SETTLEMENT_INTERVAL, self.payments.clone(), settle_due),
            job!("digests of sales", UNHURRIED, digests, keep),
        ];
        if let Some(monitor) = self.monitor.clone() {
            let part = (monitor, self.metrics.clone());
            jobs.push(Job::new("queue depths", DEPTHS_INTERVAL, part, |(monitor, metrics)| async move {
                let depths = monitor.depths().await?;
                metrics.queue_ready.set(depths.ready.into());
                metrics.dead_letters.set(depths.dead.into());
                anyhow::Ok(())
            }));
        }
        jobs.into_iter().map(Job::interruptible).collect()
    }
}
