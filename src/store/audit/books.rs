//! Books: the sums of closed days.

use jiff::Timestamp;

use super::Snapshot;
use crate::books::{CLOSED, DAY_MS, first_movement, merged, movements, sums_of_days};
use crate::{StoreError, row};
use domain::ledger::AccountSum;

/// A day is added up in this many steps.
const STEPS_OF_A_DAY: i64 = 4;

impl Snapshot {
    /// Describes closed days whose sums are not the sums of their movements. Empty if a balance from the sums equals a
    /// balance from all movements.
    pub async fn book_mismatches(&mut self) -> Result<Vec<String>, StoreError> {
        let closed = self.all(sqlx::query(CLOSED), |row| row::int(row, "closed_before_ms")).await?;
        let closed = closed.first().copied().unwrap_or_default();
        let days = "SELECT DISTINCT day_ms FROM book_days WHERE day_ms < $1 ORDER BY day_ms";
        let mut days = self.all(sqlx::query(days).bind(closed), |row| row::int(row, "day_ms")).await?;
        let (mut problems, mut end) = (Vec::new(), 0);
        // Movements after the last day with sums would be missed otherwise.
        days.push(closed);
        for day in days {
            if let Some(at) = first_movement(&mut self.connection, end, day).await? {
                problems.push(format!("money moved on {}, which has no sums", date(at)));
            }
            if day < closed {
                let kept = sums_of_days(&mut self.connection, day, day + DAY_MS).await?;
                problems.extend(differences(day, &kept, &self.movements_of_day(day).await?));
            }
            end = day + DAY_MS;
        }
        Ok(problems)
    }

    async fn movements_of_day(&mut self, day: i64) -> Result<Vec<AccountSum>, StoreError> {
        let (mut sums, length) = (Vec::new(), DAY_MS / STEPS_OF_A_DAY);
        for from in (day..day + DAY_MS).step_by(length as usize) {
            sums.extend(movements(&mut self.connection, from, from + length).await?);
        }
        Ok(merged(sums))
    }
}

fn differences(day: i64, kept: &[AccountSum], moved: &[AccountSum]) -> Vec<String> {
    let of = |sums: &[AccountSum], like: &AccountSum| {
        let same = sums.iter().find(|sum| (sum.account, sum.currency) == (like.account, like.currency));
        same.map_or((0, 0), |sum| (sum.debits, sum.credits))
    };
    let only_kept = kept.iter().filter(|sum| of(moved, sum) == (0, 0));
    let lines = moved.iter().chain(only_kept).filter(|sum| of(kept, sum) != of(moved, sum));
    lines
        .map(|sum| {
            let ((kept_debits, kept_credits), (debits, credits)) = (of(kept, sum), of(moved, sum));
            let (account, currency) = (sum.account, sum.currency.as_str());
            format!(
                "{} of {account} in {currency}: {kept_debits} debits and {kept_credits} credits are kept, {debits} and \
                 {credits} moved",
                date(day)
            )
        })
        .collect()
}

/// The date of an instant in milliseconds, in UTC.
fn date(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.to_string().chars().take(10).collect()
}
