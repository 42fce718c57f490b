//! The journal of the books as a CSV file of any size. The body is a stream that holds one batch of each source at a
//! time.

use std::collections::VecDeque;

use axum::extract::State;
use axum::response::Response;
use futures::stream;
use serde_json::json;

use crate::books::query::BooksQuery;
use crate::lists::csv::{Record, download};
use domain::{AuditAction, Money, SecurityClass};
use store::{JournalCursor, JournalLine, JournalSource, Period, Store, StoreError};
use web::extract::Query;
use web::extract::client::ClientAddress;
use web::extract::session::{Staff, ViewBooks};
use web::problem::Problem;

/// Rows of each source in memory at once.
const BATCH_SIZE: i64 = 1000;

const HEADER: [&str; 8] = ["at", "transfer", "kind", "reference", "account", "debit", "credit", "currency"];

/// Every movement of a period. The download leaves a line in the audit log.
pub async fn export(
    State(shop): State<std::sync::Arc<web::Shop>>,
    staff: Staff<ViewBooks>,
    ClientAddress(client): ClientAddress,
    Query(query): Query<BooksQuery>,
) -> Result<Response, Problem> {
    let now = shop.clock.now();
    let zone = shop.catalogue.settings().zone();
    let period = query.period(now, &zone).map_err(Problem::invalid)?;
    let details = json!({"from": period.from, "to": period.to});
    shop.store.audit_log().log_event(staff.actor(), AuditAction::ExportBooks, "books", &details, now).await?;
    shop.security.record(SecurityClass::Exported, Some(staff.session.user_id), Some(client), "books");
    let day = |at: jiff::Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string();
    let name = format!("journal-{}-{}.csv", day(period.from), day(period.to));
    Ok(download(&name, &HEADER, stream::try_unfold(Export::new(shop.store.clone(), period), Export::next_batch)))
}

/// The lines of one source that were read but not written yet.
struct Part {
    source: JournalSource,
    lines: VecDeque<JournalLine>,
    /// `None` after the last batch.
    next: Option<JournalCursor>,
}

struct Export {
    store: Store,
    period: Period,
    parts: Vec<Part>,
}

impl Export {
    fn new(store: Store, period: Period) -> Export {
        let part = |source| Part { source, lines: VecDeque::new(), next: Some(JournalCursor::before(period)) };
        Export { store, period, parts: JournalSource::ALL.map(part).into() }
    }

    /// The next records; `None` after the last.
    async fn next_batch(mut self) -> Result<Option<(Vec<Record>, Export)>, StoreError> {
        let mut records = Vec::new();
        while (records.len() as i64) < BATCH_SIZE
            && let Some(line) = self.next_line().await?
        {
            records.push(cells(line));
        }
        Ok(if records.is_empty() { None } else { Some((records, self)) })
    }

    /// The earliest line that is left.
    async fn next_line(&mut self) -> Result<Option<JournalLine>, StoreError> {
        for part in &mut self.parts {
            while let (true, Some(cursor)) = (part.lines.is_empty(), &part.next) {
                let (lines, next) = self.store.books().journal(part.source, cursor, self.period.to, BATCH_SIZE).await?;
                (part.lines, part.next) = (lines.into(), next);
            }
        }
        let waiting = self.parts.iter_mut().filter(|part| !part.lines.is_empty());
        let earliest = waiting.min_by_key(|part| part.lines.front().map(|line| line.at));
        Ok(earliest.and_then(|part| part.lines.pop_front()))
    }
}

fn cells(line: JournalLine) -> Record {
    let side = |is_side: bool| match is_side {
        true => Money::new(line.amount.amount.abs(), line.amount.currency).decimal(),
        false => String::new(),
    };
    let (debit, credit) = (side(line.amount.amount < 0), side(line.amount.amount > 0));
    let currency = line.amount.currency.as_str().to_owned();
    vec![line.at.to_string(), line.transfer, line.kind, line.reference, line.account, debit, credit, currency]
}

web::operations! { "administrators"
    /// Every movement of a period as CSV, for owners; noted in the audit log
    GET "/api/admin/books/journal.csv" exportJournal = export, csv;
        200 String;
        refuses StepUpNeeded;
}
