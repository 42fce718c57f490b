//! The first thing that the console shows, above the list of sales.

use askama::Template;

use crate::Chrome;
use crate::sales::form::CheckList;
use control::checklist::CheckState;
use control::today::Today;
use domain::{Locale, Money, SaleId};
use pages::filters::{self, grouped};
use store::MAX_COUNTED_PENDING;
use web::shared::paths::console_link;
use words::{OverviewText, fill};

#[derive(Debug, Template)]
#[template(path = "sales/console_overview.html")]
pub struct OverviewPart<'a> {
    pub chrome: &'a Chrome,
    pub today: &'a Today,
    pub password_is_enough: bool,
}

/// A figure that links to what it counts.
struct OverviewTile {
    path: &'static str,
    label: String,
    value: String,
    needs_a_hand: bool,
}

/// The next sale, with the result of its checklist.
struct NextSale {
    id: SaleId,
    goods_name: String,
    opens_at: jiff::Timestamp,
    worst: CheckState,
    summary: String,
    findings: Vec<String>,
}

impl OverviewPart<'_> {
    fn text(&self) -> &'static OverviewText {
        &self.chrome.text().overview
    }

    fn tiles(&self) -> Vec<OverviewTile> {
        let t = self.text();
        let pending = &self.today.pending;
        let counted = |count: i64| match count >= MAX_COUNTED_PENDING {
            true => fill(t.more, grouped(count)),
            false => grouped(count),
        };
        let tile = |path, label: &str, count: i64, needs_a_hand: bool| OverviewTile {
            path,
            label: label.to_owned(),
            value: counted(count),
            needs_a_hand: needs_a_hand && count > 0,
        };
        let mut tiles = Vec::new();
        if self.chrome.owns() {
            let value = match self.today.revenue.as_deref() {
                None => self.chrome.text().computing.title.to_owned(),
                Some(none) if none.is_empty() => t.nothing_earned.to_owned(),
                Some(amounts) => amounts.iter().map(Money::to_string).collect::<Vec<_>>().join(" · "),
            };
            tiles.push(OverviewTile {
                path: "/admin/orders/books",
                label: fill(t.revenue, &self.today.zone),
                value,
                needs_a_hand: false,
            });
        }
        tiles.push(tile("/admin/orders?status=unpaid", t.unpaid, pending.unpaid_orders, false));
        tiles.push(tile("/admin/orders?status=refund_pending", t.refunds, pending.refunds, false));
        tiles.push(tile("/admin/orders/approvals", t.approvals, pending.approvals, true));
        tiles.push(tile("/admin/orders/payments", t.cases, pending.cases, true));
        tiles.push(tile("/admin/orders?return=asked", t.returns, pending.returns, true));
        tiles.push(tile("/admin/questions", t.questions, pending.questions, true));
        if let Some(dead) = self.today.dead_letters {
            tiles.push(tile("/admin/dead-letters", t.dead, dead, true));
        }
        tiles
    }

    fn needs_a_hand(&self) -> bool {
        self.tiles().iter().any(|tile| tile.needs_a_hand)
    }

    /// What needs attention, in a sentence.
    fn summary(&self) -> String {
        let t = self.text();
        let (separator, [before, after]) = match self.chrome.locale {
            Locale::Zh => ("、", ["（", "）"]),
            Locale::En => (", ", [" (", ")"]),
        };
        let waiting = self.tiles().into_iter().filter(|tile| tile.needs_a_hand);
        let waiting: Vec<String> = waiting.map(|tile| format!("{}{before}{}{after}", tile.label, tile.value)).collect();
        if waiting.is_empty() { t.all_well.to_owned() } else { fill(t.needs, waiting.join(separator)) }
    }

    fn next(&self) -> Option<NextSale> {
        let (row, checks) = self.today.next.as_ref()?;
        let list = CheckList { locale: self.chrome.locale, checks };
        let findings = checks.iter().filter(|check| check.state != CheckState::Ok).map(|check| list.sentence(check));
        Some(NextSale {
            id: row.sale.id,
            goods_name: row.goods.name.get(self.chrome.locale).to_owned(),
            opens_at: row.sale.window.opens_at?,
            worst: list.worst_state(),
            summary: list.summary(),
            findings: findings.collect(),
        })
    }

    /// Whether the reader could require a second factor of all staff, and does not.
    fn advises_second_factor(&self) -> bool {
        self.password_is_enough && self.chrome.owns()
    }

    fn link(&self, path: &str) -> String {
        console_link(path, self.chrome.locale)
    }
}
