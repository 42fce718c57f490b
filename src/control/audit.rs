//! The audit: checks the shop's invariants against database, Redis and RabbitMQ, one line each. It changes nothing.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::reconcile::{self, HoldMismatches};
use crate::clock::Clock;
use crate::control::stock_sync::StockSync;
use crate::domain::{Bucket, Sale};
use crate::packets::sync::PacketSync;
use crate::pipeline::rabbit::Monitor;
use crate::stock::load::BucketShare;
use crate::store::{Allotment, Store};

/// Orders in flight look like violations, so the checks are repeated; what fails every time is a violation.
const MAX_ATTEMPTS: u32 = 12;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The result for one invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditCheck {
    pub promise: &'static str,
    /// What contradicts it; empty when it holds.
    pub violations: Vec<String>,
}

pub struct Audit {
    pub store: Store,
    pub stock_sync: Option<Arc<StockSync>>,
    /// `None` where the database keeps the shares of packets.
    pub packet_sync: Option<Arc<PacketSync>>,
    pub monitor: Option<Arc<Monitor>>,
    pub clock: Clock,
}

impl Audit {
    /// Checks until every invariant holds, at most [`MAX_ATTEMPTS`] times.
    pub async fn run(&self) -> anyhow::Result<Vec<AuditCheck>> {
        for _ in 1..MAX_ATTEMPTS {
            let checks = self.check_once().await?;
            if checks.iter().all(|check| check.violations.is_empty()) {
                return Ok(checks);
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        self.check_once().await
    }

    /// Checks every invariant once.
    pub async fn check_once(&self) -> anyhow::Result<Vec<AuditCheck>> {
        let mut checks = vec![
            check("the sold units of a sale equal the units of its live orders", self.miscounted_sales().await?),
            check("no sale sells more than its total", self.oversold_sales().await?),
            check("a user has at most one live order per sale", self.store.users_with_two_orders().await?),
            check("every charge has an order and every paid order has a charge", self.store.money_mismatches().await?),
            check("every wallet payment has its ledger entries", self.store.wallet_payment_mismatches().await?),
            check("the wallet ledger balances", self.store.wallet_mismatches().await?),
            check(
                "the claimed, remaining and returned money of a red packet equals its funding",
                self.store.packet_mismatches().await?,
            ),
            check("the units of ended orders have been returned", self.held_units_of_ended_orders().await?),
        ];
        if let Some(stock_sync) = &self.stock_sync {
            checks.append(&mut self.redis_matches_database(stock_sync).await?);
        }
        if let Some(packet_sync) = &self.packet_sync {
            checks.push(check(
                "every share of an open red packet is either unclaimed in Redis or claimed in the database",
                packet_sync.violations().await?,
            ));
        }
        if let Some(monitor) = &self.monitor {
            checks.push(queue_is_empty(monitor).await?);
        }
        Ok(checks)
    }

    async fn miscounted_sales(&self) -> anyhow::Result<Vec<String>> {
        let wrong = self.store.miscounted_sales().await?.into_iter();
        Ok(wrong.map(|(sale, sold, counted)| format!("sale {sale}: {sold} sold, {counted} in live orders")).collect())
    }

    async fn oversold_sales(&self) -> anyhow::Result<Vec<String>> {
        let sales = self.store.all_sales().await?;
        let oversold = sales.iter().filter(|sale| sale.sold > sale.total);
        Ok(oversold.map(|sale| format!("sale {}: {} sold of {}", sale.id, sale.sold, sale.total)).collect())
    }

    async fn held_units_of_ended_orders(&self) -> anyhow::Result<Vec<String>> {
        let waiting = self.store.pending_releases(1000).await?;
        Ok(waiting.iter().map(|held| format!("order {}: its units are still held", held.order_id)).collect())
    }

    /// No bucket has more than its allotment, and the allotments are at most the total.
    async fn shares_within_total(&self, sale: &Sale, stock_sync: &StockSync) -> anyhow::Result<Vec<String>> {
        let rows = self.store.allotments(sale.id, sale.rush.buckets).await?;
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
        for sale in self.store.active_sales().await? {
            let (mut held_units, mut in_flight) = (0, 0);
            for (bucket, snapshot) in stock_sync.snapshots(&sale).await? {
                let Some(snapshot) = snapshot else {
                    counts.push(format!("sale {bucket}: not loaded"));
                    continue;
                };
                holds.extend(hold_violations(bucket, &reconcile::compare(&snapshot, self.clock.now())));
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
    AuditCheck { promise, violations }
}

fn hold_violations(bucket: Bucket, found: &HoldMismatches) -> Vec<String> {
    let kinds = [
        (&found.ended_holds, "has ended but has a hold"),
        (&found.missing_holds, "is live but has no hold"),
        (&found.lost_orders, "has a hold but is neither in the database nor in the outbox"),
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
