//! The audit: checks the shop's invariants against database, Redis and RabbitMQ, one line each. It changes nothing, and
//! reads large tables in steps.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use boxed::boxed;
use futures::StreamExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::reconcile::{self, HoldMismatches};
use crate::stock_sync::StockSync;
use base::clock::Clock;
use base::private_files;
use domain::wire::wire_enum;
use domain::{Bucket, Sale};
use engine::packets::sync::PacketSync;
use engine::pipeline::rabbit::Monitor;
use engine::stock::load::BucketShare;
use store::{Allotment, Recent, Snapshot, Store};

/// Orders in flight look like violations, so the checks are repeated; what fails every time is a violation.
const MAX_ATTEMPTS: u32 = 12;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How many parts are read at the same time. More would slow down the database for shoppers.
const CONCURRENCY: usize = 2;

/// The result for one invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditCheck {
    pub promise: &'static str,
    /// What contradicts the invariant; empty if it holds.
    pub violations: Vec<String>,
    /// What an audit of the recent past has read for it. `None`: everything.
    #[serde(skip)]
    pub covers: Option<&'static str>,
}

pub struct Audit {
    pub store: Store,
    pub stock_sync: Option<Arc<StockSync>>,
    /// `None` if the database keeps the shares of packets.
    pub packet_sync: Option<Arc<PacketSync>>,
    pub monitor: Option<Arc<Monitor>>,
    pub clock: Clock,
    /// What is read of large tables. `None`: all.
    pub recent: Option<Arc<Recent>>,
    /// Rows of the database that were read so far.
    pub rows_read: Arc<AtomicU64>,
}

wire_enum! {
    /// The parts of the audit. Each reads its own snapshot of the database, or the other services, so parts can be checked
    /// one by one.
    enum Part {
        Orders = "orders",
        RepeatedOrders = "repeated_orders",
        Charges = "charges",
        WalletPayments = "wallet_payments",
        Ledger = "ledger",
        Books = "books",
        Deposits = "deposits",
        StrandedMoney = "stranded_money",
        Packets = "packets",
        Turns = "turns",
        Draws = "draws",
        Eligibility = "eligibility",
        Releases = "releases",
        Waitlists = "waitlists",
        HeldOrders = "reviews",
        Returns = "returns",
        Holds = "holds",
        PacketShares = "packet_shares",
        WaitingRoom = "queue",
    }
}

impl Part {
    /// What an audit of the recent past reads. `None`: everything.
    fn covers(self) -> Option<&'static str> {
        match self {
            Part::Orders => {
                Some("orders of sales that changed; of the other sales only that sold units equal the totals")
            }
            Part::RepeatedOrders | Part::Turns | Part::Draws | Part::Eligibility | Part::Waitlists => {
                Some("sales that changed")
            }
            Part::Charges => Some("orders and payments that changed"),
            Part::WalletPayments => Some("payments that changed; not whether each transfer has a payment"),
            Part::Ledger => {
                Some("transfers since then and the accounts they moved; not the balances of provider and shop")
            }
            Part::Books => Some("days and payments since then"),
            Part::Deposits
            | Part::StrandedMoney
            | Part::Packets
            | Part::Releases
            | Part::HeldOrders
            | Part::Returns
            | Part::Holds
            | Part::PacketShares
            | Part::WaitingRoom => None,
        }
    }
}

fn holds(checks: &[AuditCheck]) -> bool {
    checks.iter().all(|check| check.violations.is_empty())
}

#[boxed]
impl Audit {
    /// Limits the audit to what changed since then, as far as a part can be limited; `None` if that is longer ago than
    /// changes are stored.
    pub async fn since(mut self, since: Timestamp) -> anyhow::Result<Option<Audit>> {
        let Some(recent) = self.store.audit().recent(since).await? else { return Ok(None) };
        self.recent = Some(Arc::new(recent));
        Ok(Some(self))
    }

    /// Checks every part until its invariants hold, at most [`MAX_ATTEMPTS`] times. A part whose connection was lost is
    /// read again from the start. Parts that are done are not read again, including the parts that an earlier run has
    /// left in `file`. `report` is called with every final result of this run.
    ///
    /// # Errors
    /// A part could not be read in any attempt, or the first part failed in the first attempt: then a service is
    /// probably down.
    pub async fn run(
        &self,
        mut file: AuditFile,
        mut report: impl FnMut(&AuditCheck),
    ) -> anyhow::Result<Vec<AuditCheck>> {
        let resumed = |(number, part): &(usize, Part)| file.has(part.as_str()).then(|| (*number, Vec::new()));
        let mut done: BTreeMap<usize, Vec<AuditCheck>> =
            Part::ALL.into_iter().enumerate().filter_map(|part| resumed(&part)).collect();
        for attempt in 1..=MAX_ATTEMPTS {
            let is_last = attempt == MAX_ATTEMPTS;
            let left: Vec<_> =
                Part::ALL.into_iter().enumerate().filter(|(number, _)| !done.contains_key(number)).collect();
            let results = futures::stream::iter(left)
                .map(|(number, part)| async move { (number, part, self.clock.now(), self.check(part).await) })
                .buffered(CONCURRENCY);
            let mut results = pin!(results);
            while let Some((number, part, read_at, outcome)) = results.next().await {
                match outcome {
                    Ok(checks) if is_last || holds(&checks) => {
                        checks.iter().for_each(&mut report);
                        if holds(&checks) {
                            let promises = checks.iter().map(|check| check.promise.to_owned()).collect();
                            file.keep(part.as_str(), ReadPart { read_at, promises });
                        }
                        done.insert(number, checks);
                    }
                    Ok(_) => {}
                    Err(error) if is_last || (attempt, number) == (1, 0) => return Err(error),
                    Err(error) => {
                        warn!(part = part.as_str(), %error, "a part of the audit was interrupted; it is begun again")
                    }
                }
            }
            if done.len() == Part::ALL.len() {
                break;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        file.end();
        Ok(done.into_values().flatten().collect())
    }

    /// Checks every invariant once.
    pub async fn check_once(&self) -> anyhow::Result<Vec<AuditCheck>> {
        let mut checks = Vec::new();
        for part in Part::ALL {
            checks.append(&mut self.check(part).await?);
        }
        Ok(checks)
    }

    async fn check(&self, part: Part) -> anyhow::Result<Vec<AuditCheck>> {
        let covers = if self.recent.is_some() { part.covers() } else { None };
        let checks = self.checks_of(part).await?;
        Ok(checks.into_iter().map(|check| AuditCheck { covers, ..check }).collect())
    }

    async fn checks_of(&self, part: Part) -> anyhow::Result<Vec<AuditCheck>> {
        let checks = match part {
            Part::Orders => self.orders().await?,
            Part::RepeatedOrders => {
                let users = self.snapshot().await?.users_with_two_orders().await?;
                let numbers = self.snapshot().await?.numbers_not_taken().await?;
                vec![
                    check("a user has at most one live order per sale", users),
                    check("no order has a number that comes again", numbers),
                ]
            }
            Part::Charges => {
                let wrong = self.snapshot().await?.money_mismatches().await?;
                vec![check("every charge has an order and every paid order has a charge", wrong)]
            }
            Part::WalletPayments => {
                let wrong = self.snapshot().await?.wallet_payment_mismatches().await?;
                vec![check("every wallet payment has its ledger entries", wrong)]
            }
            Part::Ledger => {
                vec![check("the wallet ledger balances", self.snapshot().await?.wallet_mismatches().await?)]
            }
            Part::Books => {
                let mut snapshot = self.snapshot().await?;
                vec![
                    check("the sums of closed days equal what moved on them", snapshot.book_mismatches().await?),
                    check("every reported amount can have been paid", snapshot.impossible_reports().await?),
                ]
            }
            Part::Deposits => {
                let wrong = self.snapshot().await?.deposit_mismatches().await?;
                vec![check("what is set aside is the sum of the deposits of sales that are not over", wrong)]
            }
            Part::StrandedMoney => {
                vec![check("no deleted account has money", self.snapshot().await?.stranded_money().await?)]
            }
            Part::Packets => {
                let mut snapshot = self.snapshot().await?;
                vec![
                    check(
                        "the claimed, remaining and returned money of a red packet equals its funding",
                        snapshot.packet_mismatches().await?,
                    ),
                    check("no share of the shop's money went to who gave or approved it", snapshot.own_shares().await?),
                ]
            }
            Part::Turns => {
                let mut snapshot = self.snapshot().await?;
                vec![
                    check(
                        "units of a waiting room are sold to shoppers who were called",
                        snapshot.uncalled_buyers().await?,
                    ),
                    check("shoppers are called in the order that the seed gives", snapshot.wrong_places().await?),
                ]
            }
            Part::Draws => vec![check(
                "the ranks of a draw follow from its proof, and its units were offered in their order",
                self.snapshot().await?.draw_mismatches().await?,
            )],
            Part::Eligibility => {
                let now = self.store.now().await?;
                let wrong = self.snapshot().await?.ineligible_buyers(now).await?;
                vec![check("the buyers of a sale with rules about who may take part kept them", wrong)]
            }
            Part::Releases => {
                vec![check("the units of ended orders have been returned", self.held_units_of_ended_orders().await?)]
            }
            Part::Waitlists => {
                let passed_over = self.snapshot().await?.passed_over_waiters().await?;
                vec![check("units that come back go to those who wait, in their order", passed_over)]
            }
            Part::HeldOrders => {
                let unexplained = self.snapshot().await?.unexplained_held_orders().await?;
                vec![check("every held order has a reason and a person, and what ended a hold is logged", unexplained)]
            }
            Part::Returns => {
                let wrong = self.snapshot().await?.return_mismatches().await?;
                vec![check(
                    "goods that came back have their refund, and their units are on sale again at most once",
                    wrong,
                )]
            }
            Part::Holds => match &self.stock_sync {
                Some(stock_sync) => self.redis_matches_database(stock_sync).await?,
                None => vec![],
            },
            Part::PacketShares => match &self.packet_sync {
                Some(packet_sync) => vec![check(
                    "every share of an open red packet is either unclaimed in Redis or claimed in the database",
                    packet_sync.violations().await?,
                )],
                None => vec![],
            },
            Part::WaitingRoom => match &self.monitor {
                Some(monitor) => vec![queue_is_empty(monitor).await?],
                None => vec![],
            },
        };
        Ok(checks)
    }

    async fn snapshot(&self) -> anyhow::Result<Snapshot> {
        Ok(self.store.audit().snapshot(self.rows_read.clone()).await?.limited_to(self.recent.clone()))
    }

    async fn orders(&self) -> anyhow::Result<Vec<AuditCheck>> {
        let counted = self.snapshot().await?.count_orders().await?;
        Ok(vec![
            check("the sold units of a sale equal the units of its live orders", counted.miscounted_sales),
            check("the totals of a sale equal the number of its orders", counted.wrong_totals),
            check("no sale sells more than its total", self.oversold_sales().await?),
        ])
    }

    async fn oversold_sales(&self) -> anyhow::Result<Vec<String>> {
        let sales = self.store.sales().list().await?;
        let oversold = sales.iter().filter(|sale| sale.sold > sale.total);
        Ok(oversold.map(|sale| format!("sale {}: {} sold of {}", sale.id, sale.sold, sale.total)).collect())
    }

    async fn held_units_of_ended_orders(&self) -> anyhow::Result<Vec<String>> {
        let waiting = self.store.orders().pending_releases(1000).await?;
        Ok(waiting.iter().map(|held| format!("order {}: its units are still held", held.order_id)).collect())
    }

    /// No bucket has more than its allotment, and the allotments are at most the total.
    async fn shares_within_total(&self, sale: &Sale, stock_sync: &StockSync) -> anyhow::Result<Vec<String>> {
        let rows = self.store.sales().allotments(sale.id, sale.rush.buckets).await?;
        let allotted: i64 = rows.iter().map(|row| row.allotted).sum();
        let mut violations = Vec::new();
        if allotted > sale.total {
            violations.push(format!("sale {}: {allotted} allotted of {}", sale.id, sale.total));
        }
        for (row, share) in rows.iter().zip(stock_sync.shares(sale).await?) {
            let Allotment { part, allotted, .. } = row;
            // Held units count even beyond the allotment: they have been granted.
            if let Some(BucketShare { total, booked, .. }) = share
                && total > booked.max(*allotted)
            {
                let bucket = format!("sale {}.{part}", sale.id);
                violations.push(format!("{bucket}: share {total}, {allotted} allotted, {booked} booked"));
            }
        }
        Ok(violations)
    }

    async fn redis_matches_database(&self, stock_sync: &StockSync) -> anyhow::Result<Vec<AuditCheck>> {
        let (mut holds, mut counts, mut outboxes, mut shares) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for sale in self.store.sales().active().await? {
            let (mut held_units, mut in_flight) = (0, 0);
            let buckets: Vec<Bucket> = Bucket::of_sale(&sale).collect();
            for (bucket, snapshot) in stock_sync.snapshots(&sale, &buckets).await? {
                let Some(snapshot) = snapshot else {
                    counts.push(format!("sale {bucket}: not loaded"));
                    continue;
                };
                holds.extend(hold_violations(bucket, &reconcile::compare(&snapshot, self.clock.now())));
                holds.extend(snapshot.unreadable.iter().map(|hold| format!("sale {bucket}: not a hold: {hold}")));
                let held: i64 = snapshot.holds.values().map(|hold| i64::from(hold.quantity)).sum();
                if held != snapshot.booked {
                    counts.push(format!("sale {bucket}: {} booked, {held} held", snapshot.booked));
                }
                if !snapshot.in_flight.is_empty() {
                    outboxes.push(format!("sale {bucket}: {} orders in flight", snapshot.in_flight.len()));
                }
                held_units += held;
                in_flight += snapshot.in_flight.len();
            }
            if sale.rush.buckets > 1 {
                shares.extend(self.shares_within_total(&sale, stock_sync).await?);
            }
            if in_flight == 0 && held_units != sale.sold {
                counts.push(format!("sale {}: {held_units} held, {} sold", sale.id, sale.sold));
            }
        }
        Ok(vec![
            check("every hold has an order and every live order has a hold", holds),
            check("the allotments of a split sale stay within its total", shares),
            check("the units booked in Redis equal the units sold in the database", counts),
            check("no order waits in an outbox", outboxes),
        ])
    }
}

fn check(promise: &'static str, violations: Vec<String>) -> AuditCheck {
    AuditCheck { promise, violations, covers: None }
}

fn hold_violations(bucket: Bucket, found: &HoldMismatches) -> Vec<String> {
    let kinds = [
        (&found.ended_holds, "has ended but has a hold"),
        (&found.missing_holds, "is live but has no hold"),
        (&found.lost_orders, "has a hold but is neither in the database nor in the outbox"),
        (&found.other_units, "has a hold of another number of units"),
    ];
    let lines = kinds.into_iter().flat_map(|(holds, what)| {
        holds.iter().map(move |hold| format!("sale {bucket}: order {} {what}", hold.order_id))
    });
    lines.collect()
}

async fn queue_is_empty(monitor: &Monitor) -> anyhow::Result<AuditCheck> {
    let depths = monitor.depths().await?;
    let violations =
        if depths.ready > 0 { vec![format!("{} messages are ready in the queue", depths.ready)] } else { vec![] };
    Ok(check("no order waits in RabbitMQ", violations))
}

// A file in the data directory with what an audit has read so far, so that an interrupted audit can continue. A part
// is written once it was read to its end without a violation; the other parts are read again. The file is removed when
// the audit ends.

const NAME: &str = "audit.json";

/// A part that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// When reading began. The result says nothing about later changes.
    pub read_at: Timestamp,
    /// The invariants that held.
    pub promises: Vec<String>,
}

/// The parts of one audit by their names.
#[derive(Debug, Default)]
pub struct AuditFile {
    /// `None`: nothing is written.
    path: Option<PathBuf>,
    parts: BTreeMap<String, ReadPart>,
}

impl AuditFile {
    /// A new audit. The first part that is kept replaces the file of an earlier audit.
    pub fn begin(data_dir: &Path) -> AuditFile {
        AuditFile { path: Some(data_dir.join(NAME)), parts: BTreeMap::new() }
    }

    /// Continues an interrupted audit. Begins a new one if there is no readable file.
    pub fn resume(data_dir: &Path) -> AuditFile {
        let mut file = AuditFile::begin(data_dir);
        let text = file.path.as_ref().and_then(|path| std::fs::read(path).ok());
        file.parts = text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        file
    }

    /// An audit that writes no file.
    pub fn none() -> AuditFile {
        AuditFile::default()
    }

    /// The parts that were read, in the order in which they were read.
    pub fn parts(&self) -> Vec<&ReadPart> {
        let mut parts: Vec<&ReadPart> = self.parts.values().collect();
        parts.sort_by_key(|part| part.read_at);
        parts
    }

    pub fn has(&self, part: &str) -> bool {
        self.parts.contains_key(part)
    }

    /// Adds a part to the file. If the file cannot be written, that is logged and the audit goes on.
    pub fn keep(&mut self, part: &str, read: ReadPart) {
        let Some(path) = &self.path else { return };
        self.parts.insert(part.to_owned(), read);
        if let Err(error) = write(path, &self.parts) {
            warn!(path = %path.display(), %error, "what the audit has read cannot be kept; it goes on");
        }
    }

    /// Removes the file: the audit has ended.
    pub fn end(self) {
        if let Some(path) = self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Replaces the whole file at once. If the process dies here, the previous file stays.
fn write(path: &Path, parts: &BTreeMap<String, ReadPart>) -> std::io::Result<()> {
    let draft = path.with_extension("draft");
    private_files::create(&draft)?.write_all(&serde_json::to_vec(parts)?)?;
    std::fs::rename(draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_audit_keeps_its_parts_and_a_new_one_begins_without() {
        let dir = tempfile::tempdir().unwrap();
        let part = |second| ReadPart {
            read_at: Timestamp::from_second(second).unwrap(),
            promises: vec!["money balances".to_owned()],
        };
        let mut file = AuditFile::resume(dir.path());
        assert!(file.parts().is_empty());
        file.keep("Orders", part(2));
        file.keep("Books", part(1));
        drop(file);
        let file = AuditFile::resume(dir.path());
        assert!(file.has("Orders") && !file.has("Ledger"));
        assert_eq!(file.parts(), [&part(1), &part(2)]);
        let mut anew = AuditFile::begin(dir.path());
        assert!(!anew.has("Orders"));
        anew.keep("Ledger", part(3));
        assert_eq!(AuditFile::resume(dir.path()).parts(), [&part(3)]);
        anew.end();
        assert!(AuditFile::resume(dir.path()).parts().is_empty());
        std::fs::write(dir.path().join(NAME), "{").unwrap();
        assert!(AuditFile::resume(dir.path()).parts().is_empty(), "of another version, or damaged");
        let mut none = AuditFile::none();
        none.keep("Orders", part(1));
        assert!(none.parts().is_empty());
    }
}
