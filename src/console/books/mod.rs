//! The books of a period: the trial balance, for programs and as a page, and the journal as a CSV file of any size. The
//! body of the file is a stream that holds one batch of each source at a time.

pub mod settlements;

use std::collections::VecDeque;

use jiff::SignedDuration;
use jiff::civil::Date;

use crate::lists::csv::{Column, cell, download};
use crate::prelude::*;
use domain::ledger::{AccountKind, TrialBalanceLine};
use store::{JournalCursor, JournalLine, JournalSource, Period};
use web::extract::ViewBooks;

/// The period as entered: times, or days of the shop. Without `from` it begins with the month, without `to` it ends now.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BooksQuery {
    /// A time, or a day in the shop's time zone. Without it the period begins with the month.
    pub from: String,
    /// The end of the period, exclusive.
    pub to: String,
}

impl BooksQuery {
    /// The period, or an error for each field that cannot be read.
    pub fn period(&self, now: Timestamp, zone: &TimeZone) -> Result<Period, Vec<FieldError>> {
        let day_or_time = |text: &str| match text.contains(':') {
            true => time(text),
            false => Some(text.parse::<Date>().ok()?.to_zoned(zone.clone()).ok()?.timestamp()),
        };
        let (from, to) = (optional(&self.from, day_or_time), optional(&self.to, day_or_time));
        let wrong = [("from", from.is_none()), ("to", to.is_none())].into_iter().filter(|(_, is_wrong)| *is_wrong);
        let errors: Vec<_> = wrong.map(|(field, _)| FieldError::new(field, "bad_time")).collect();
        let (Some(from), Some(to)) = (from, to) else { return Err(errors) };
        let to = to.unwrap_or(now);
        let period = Period { from: from.unwrap_or_else(|| month_of(to, zone)), to };
        if period.from >= period.to {
            return Err(vec![FieldError::new("to", "time_order")]);
        }
        Ok(period)
    }
}

/// The beginning of the month that contains the moment before this time.
fn month_of(at: Timestamp, zone: &TimeZone) -> Timestamp {
    let last = at.saturating_sub(SignedDuration::from_millis(1)).unwrap_or(at);
    let first = last.to_zoned(zone.clone()).date().first_of_month().to_zoned(zone.clone());
    first.map_or(Timestamp::UNIX_EPOCH, |first| first.timestamp())
}

answers! {
    BooksJson { from: Timestamp, to: Timestamp, lines: Vec<LineJson> }
    BooksAnswer { books: BooksJson }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BooksLine")]
struct LineJson {
    account: AccountKind,
    opening: Money,
    debits: Money,
    credits: Money,
    closing: Money,
}

impl From<TrialBalanceLine> for LineJson {
    fn from(line: TrialBalanceLine) -> Self {
        let TrialBalanceLine { account, opening, debits, credits, closing } = line;
        LineJson { account, opening, debits, credits, closing }
    }
}

/// The trial balance of a period.
pub async fn show((State(shop), _): StaffCall<ViewBooks>, Query(query): Query<BooksQuery>) -> Answer {
    let period = query.period(shop.clock.now(), &shop.catalogue.settings().zone()).map_err(Problem::invalid)?;
    let lines = shop.store.books().trial_balance(period).await?.into_iter().map(LineJson::from).collect();
    let books = BooksJson { from: period.from, to: period.to, lines };
    Ok(private(BooksAnswer { books }))
}

pub async fn page((State(shop), _, visitor): StaffVisit<ViewBooks>, Query(query): Query<BooksQuery>) -> Answer {
    let (status, period, lines, errors) = match query.period(shop.clock.now(), &shop.catalogue.settings().zone()) {
        Ok(period) => (StatusCode::OK, Some(period), shop.store.books().trial_balance(period).await?, Vec::new()),
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, None, Vec::new(), errors),
    };
    let chrome = visitor.chrome_at(format!("/admin/orders/books?lang={}", visitor.locale));
    personal(status, &BooksPage { chrome, query, period, lines, errors })
}

/// The trial balance of a period.
#[derive(Debug, Template)]
#[template(path = "books/books.html")]
struct BooksPage {
    chrome: Chrome,
    query: BooksQuery,
    /// `None` if it could not be read.
    period: Option<Period>,
    lines: Vec<TrialBalanceLine>,
    errors: Vec<FieldError>,
}

impl BooksPage {
    /// A field's value: as entered, or the day of the period.
    fn value(&self, field: &str) -> String {
        let entered = if field == "from" { &self.query.from } else { &self.query.to };
        match self.period {
            Some(period) if entered.is_empty() && field == "from" => {
                period.from.to_zoned(self.chrome.shop.zone()).strftime("%Y-%m-%d").to_string()
            }
            _ => entered.clone(),
        }
    }

    fn name(&self, line: &TrialBalanceLine) -> &'static str {
        let t = &self.chrome.text().books;
        match line.account {
            AccountKind::User => t.account_user,
            AccountKind::Deposit => t.account_deposit,
            AccountKind::Packet => t.account_packet,
            AccountKind::Shop => t.account_shop,
            AccountKind::Held => t.account_held,
            AccountKind::Provider => t.account_provider,
        }
    }

    /// The path of the journal of the same period.
    fn export_path(&self) -> String {
        let query = link_query([("from", &self.query.from), ("to", &self.query.to)]);
        format!("/api/admin/books/journal.csv?{query}")
    }
}

/// Rows of each source in memory at once.
const BATCH_SIZE: i64 = 1000;

static COLUMNS: &[Column<JournalLine>] = &[
    ("at", |line| line.at.to_string()),
    ("transfer", |line| line.transfer.clone()),
    ("kind", |line| line.kind.clone()),
    ("reference", |line| line.reference.clone()),
    ("account", |line| line.account.clone()),
    ("debit", |line| side(line, line.amount.amount < 0)),
    ("credit", |line| side(line, line.amount.amount > 0)),
    ("currency", |line| line.amount.currency.as_str().to_owned()),
];

/// The amount of a line that stands on this side.
fn side(line: &JournalLine, stands: bool) -> String {
    cell(stands.then(|| Money::new(line.amount.amount.abs(), line.amount.currency).decimal()))
}

/// Every movement of a period. The download leaves a line in the audit log.
pub async fn export(
    State(shop): State<std::sync::Arc<web::Shop>>,
    staff: Staff<ViewBooks>,
    ClientAddress(client): ClientAddress,
    Query(query): Query<BooksQuery>,
) -> Answer {
    let now = shop.clock.now();
    let zone = shop.catalogue.settings().zone();
    let period = query.period(now, &zone).map_err(Problem::invalid)?;
    let details = json!({"from": period.from, "to": period.to});
    shop.store.audit_log().log_event(staff.actor(), AuditAction::ExportBooks, "books", &details, now).await?;
    shop.security.record(SecurityClass::Exported, Some(staff.session.user_id), Some(client), "books");
    let day = |at: jiff::Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string();
    let name = format!("journal-{}-{}.csv", day(period.from), day(period.to));
    Ok(download(&name, COLUMNS, stream::try_unfold(Export::new(shop.store.clone(), period), Export::next_batch)))
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

    /// The next lines; `None` after the last.
    async fn next_batch(mut self) -> StoreResult<Option<(Vec<JournalLine>, Export)>> {
        let mut lines = Vec::new();
        while (lines.len() as i64) < BATCH_SIZE
            && let Some(line) = self.next_line().await?
        {
            lines.push(line);
        }
        Ok(if lines.is_empty() { None } else { Some((lines, self)) })
    }

    /// The earliest line that is left.
    async fn next_line(&mut self) -> StoreResult<Option<JournalLine>> {
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

web::operations! { "administrators"
    /// The trial balance of a period, for owners
    GET "/api/admin/books" showBooks = show;
        200 BooksAnswer, "Per kind of accounts and currency. The opening balances of a currency sum to zero, and so \
            do the closing ones.";
    /// Every movement of a period as CSV, for owners; noted in the audit log
    GET "/api/admin/books/journal.csv" exportJournal = export, csv;
        200 String;
        refuses StepUpNeeded;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: &str, to: &str) -> Result<String, Vec<FieldError>> {
        let query = BooksQuery { from: from.to_owned(), to: to.to_owned() };
        let period = query.period("2026-11-24T01:00:00Z".parse().unwrap(), &TimeZone::UTC)?;
        Ok(format!("{} {}", period.from, period.to))
    }

    #[test]
    fn period_is_the_month_unless_told_otherwise() {
        assert_eq!(read("", "").unwrap(), "2026-11-01T00:00:00Z 2026-11-24T01:00:00Z");
        assert_eq!(read("", "2026-10-01").unwrap(), "2026-09-01T00:00:00Z 2026-10-01T00:00:00Z");
        let query = BooksQuery { from: "2026-11-02".to_owned(), to: String::new() };
        let period = query.period(Timestamp::MAX, &TimeZone::get("Asia/Shanghai").unwrap()).unwrap();
        assert_eq!(period.from.to_string(), "2026-11-01T16:00:00Z", "a day of the shop");
        assert_eq!(read("2026-01-01", "2026-01-02T12:00").unwrap(), "2026-01-01T00:00:00Z 2026-01-02T12:00:00Z");
    }

    #[test]
    fn wrong_times_are_named() {
        assert_eq!(read("x", "y").unwrap_err().len(), 2);
        assert_eq!(read("2026-01-02", "2026-01-02").unwrap_err(), [FieldError::new("to", "time_order")]);
    }
}
