//! The audit: checks the shop's promises against database, Redis and RabbitMQ, one line each. It changes nothing.

use std::sync::Arc;
use std::time::Duration;

use super::reconcile::{self, Differences};
use crate::clock::Clock;
use crate::control::stock_sync::StockSync;
use crate::domain::Bucket;
use crate::domain::Sale;
use crate::packets::sync::PacketSync;
use crate::pipeline::rabbit::Monitor;
use crate::stock::load::Shared;
use crate::store::{HeldUnits, Store};

/// What differs while orders are under way is looked at again; only what stays is a violation.
const LOOKS: u32 = 12;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// One checked promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub promise: &'static str,
    /// What was found against it; empty when it is kept.
    pub violations: Vec<String>,
}

pub struct Audit {
    pub store: Store,
    pub stock_sync: Option<Arc<StockSync>>,
    /// Where Redis keeps the shares of packets.
    pub packet_sync: Option<Arc<PacketSync>>,
    pub monitor: Option<Arc<Monitor>>,
    pub clock: Clock,
}

impl Audit {
    /// Looks until everything agrees, or long enough to be sure that it does not.
    pub async fn run(&self) -> anyhow::Result<Vec<Check>> {
        for _ in 1..LOOKS {
            let checks = self.look().await?;
            if checks.iter().all(|check| check.violations.is_empty()) {
                return Ok(checks);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        self.look().await
    }

    /// One look at everything.
    pub async fn look(&self) -> anyhow::Result<Vec<Check>> {
        let mut checks = vec![self.sold_is_counted().await?, self.never_beyond_total().await?];
        checks.push(Check {
            promise: "a user has at most one live order per sale",
            violations: self.store.users_with_two_orders().await?,
        });
        checks.push(Check {
            promise: "every charge has its order and every paid order its charge",
            violations: self.store.money_mismatches().await?,
        });
        checks.push(Check {
            promise: "every payment to or from a wallet stands in its books",
            violations: self.store.wallet_payment_mismatches().await?,
        });
        checks.push(Check {
            promise: "the books of the wallets make no money and lose none",
            violations: self.store.wallet_mismatches().await?,
        });
        checks.push(Check {
            promise: "what a red packet was funded with is claimed, left, or returned",
            violations: self.store.packet_mismatches().await?,
        });
        checks.push(self.units_are_given_back().await?);
        if let Some(stock_sync) = &self.stock_sync {
            checks.append(&mut self.redis_agrees(stock_sync).await?);
        }
        if let Some(packet_sync) = &self.packet_sync {
            checks.push(Check {
                promise: "every share of an open red packet is unclaimed in Redis or in the books",
                violations: packet_sync.unfinished().await?,
            });
        }
        if let Some(monitor) = &self.monitor {
            checks.push(queue_is_drained(monitor).await?);
        }
        Ok(checks)
    }

    async fn sold_is_counted(&self) -> anyhow::Result<Check> {
        let wrong = self.store.miscounted_sales().await?;
        let line = |(sale, sold, counted)| format!("sale {sale} says {sold} sold, its live orders say {counted}");
        Ok(Check {
            promise: "a sale's sold units are those of its live orders",
            violations: wrong.into_iter().map(line).collect(),
        })
    }

    async fn never_beyond_total(&self) -> anyhow::Result<Check> {
        let sales = self.store.all_sales().await?;
        let beyond = sales.iter().filter(|sale| sale.sold > sale.total);
        let line = |sale: &crate::domain::Sale| format!("sale {} sold {} of {}", sale.id, sale.sold, sale.total);
        Ok(Check { promise: "no sale sells more than its total", violations: beyond.map(line).collect() })
    }

    async fn units_are_given_back(&self) -> anyhow::Result<Check> {
        let waiting = self.store.releases(1000).await?;
        let line = |release: &crate::store::HeldUnits| format!("order {} still holds its units", release.order_id);
        Ok(Check { promise: "units of ended orders are given back", violations: waiting.iter().map(line).collect() })
    }

    /// No bucket has more than it was given, and all of them no more than there is.
    async fn shares_add_up(&self, sale: &Sale, stock_sync: &StockSync) -> anyhow::Result<Vec<String>> {
        let rows = self.store.allotments(sale.id, sale.rush.buckets).await?;
        let given: i64 = rows.iter().map(|row| row.allotted).sum();
        let mut violations = Vec::new();
        if given > sale.total {
            violations.push(format!("sale {}: {given} handed out of {}", sale.id, sale.total));
        }
        for (row, share) in rows.iter().zip(stock_sync.shares(sale).await?) {
            // What is held was promised, whatever the share.
            if let Some(share) = share.filter(|share| share.total > row.allotted.max(share.booked)) {
                let Shared { total, booked, .. } = share;
                let allotted = row.allotted;
                violations
                    .push(format!("sale {}.{}: has {total}, was given {allotted}, {booked} booked", sale.id, row.part));
            }
        }
        Ok(violations)
    }

    async fn redis_agrees(&self, stock_sync: &StockSync) -> anyhow::Result<Vec<Check>> {
        let (mut holds, mut books, mut outboxes, mut shares) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for sale in self.store.active_sales().await? {
            let (mut of_sale, mut under_way) = (0, 0);
            for (bucket, picture) in stock_sync.pictures(&sale).await? {
                let Some(picture) = picture else {
                    books.push(format!("sale {bucket} is not loaded"));
                    continue;
                };
                holds.extend(wrong_holds(bucket, &reconcile::compare(&picture, self.clock.now())));
                let held: i64 = picture.holds.values().map(|hold| i64::from(hold.quantity)).sum();
                if held != picture.booked {
                    books.push(format!("sale {bucket}: {} booked, {held} held", picture.booked));
                }
                if !picture.on_their_way.is_empty() {
                    outboxes.push(format!("sale {bucket}: {} orders on their way", picture.on_their_way.len()));
                }
                of_sale += held;
                under_way += picture.on_their_way.len();
            }
            if sale.rush.buckets > 1 {
                shares.extend(self.shares_add_up(&sale, stock_sync).await?);
            }
            if under_way == 0 && of_sale != sale.sold {
                books.push(format!("sale {}: {of_sale} held, {} sold", sale.id, sale.sold));
            }
        }
        Ok(vec![
            Check { promise: "every hold has its order and every live order its hold", violations: holds },
            Check { promise: "the pool and the buckets of a split sale are its total", violations: shares },
            Check { promise: "Redis books what the database sold", violations: books },
            Check { promise: "the outboxes are empty once things are quiet", violations: outboxes },
        ])
    }
}

fn wrong_holds(bucket: Bucket, found: &Differences) -> Vec<String> {
    let kinds = [
        (&found.dead_holds, "has ended but is held"),
        (&found.missing_holds, "lives but is not held"),
        (&found.lost_orders, "is held but on its way nowhere"),
    ];
    let lines = |(holds, what): (&Vec<HeldUnits>, &str)| {
        holds.iter().map(|hold| format!("sale {bucket}: order {} {what}", hold.order_id)).collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(lines).collect()
}

async fn queue_is_drained(monitor: &Monitor) -> anyhow::Result<Check> {
    let depths = monitor.depths().await?;
    let violations = if depths.ready > 0 { vec![format!("{} orders wait in RabbitMQ", depths.ready)] } else { vec![] };
    Ok(Check { promise: "the queue is empty once things are quiet", violations })
}
