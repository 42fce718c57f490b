//! Settlement: the bill of a provider is read, compared with the books and written down, day by day. A difference is a case.
//!
//! **Days** are the provider's. The books learn of a movement after the provider, at times much later, so a line is looked
//! up in the books whenever it was, and a movement of the day is missed only if it is on no other day's bill either. Clocks
//! differ, so the books' day ends and begins [`CLOCK_TOLERANCE`] earlier: what falls between is the next day's. So data
//! control settles days in order, and waits [`GAP_DAYS`] for the previous one; by hand any day can be settled.
//!
//! A day may be settled any number of times, with the same outcome. If the bill cannot be read, everything stays as it was,
//! and data control tries again.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use boxed::boxed;
use futures::StreamExt;
use jiff::civil::Date;
use tracing::{info, warn};
use uuid::Uuid;

use super::provider::{Bill, BillPage, Billing, Provider};
use super::{PaymentError, Payments, answer, bounded};
use domain::CaseKind;
use domain::settlement::Comparison;
use store::{DaySettlement, StoreError, StoreResult};

/// How far the clocks of the provider and of the shop may differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(10 * 60);
/// Lines that are compared at a time.
const PAGE_SIZE: usize = 500;
/// More differences than this are none: the account is not the shop's, or its keys are new.
const MAX_DIFFERENCES: usize = 1_000;
/// How long the next lines of a bill may take. A bill may have any number of pages.
const PAGE_TIMEOUT: Duration = Duration::from_secs(120);
/// Days that are settled per step.
const MAX_DAYS: i64 = 10;
/// Days that are made up for when data control did not run.
const MAX_MISSED_DAYS: usize = 31;
/// How many days data control waits for the bill of the day before, which may never be there.
const GAP_DAYS: i32 = 3;

/// Why no day is settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error("{0:?} is no provider of this shop that has bills")]
    NoProvider(String),
    #[error("the day {0} is not over at the provider")]
    NotOver(Date),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl Payments {
    /// The names of the providers that have bills.
    pub fn billed(&self) -> Vec<&'static str> {
        self.with_bills().map(|(provider, _)| provider.name()).collect()
    }

    fn with_bills(&self) -> impl Iterator<Item = (&dyn Provider, Billing)> {
        let all = self.providers.offered.iter().chain(&self.providers.retired);
        all.filter_map(|provider| Some((&**provider, provider.facts().billing?)))
    }

    /// The provider of this name, if the day is over there.
    async fn billing(&self, name: &str, day: Date) -> Result<(&dyn Provider, Billing), SettleError> {
        let found = self.with_bills().find(|(provider, _)| provider.name() == name);
        let (provider, billing) = found.ok_or_else(|| SettleError::NoProvider(name.to_owned()))?;
        let now = self.store.now().await?;
        match billing.bounds(day) {
            Some((_, end)) if end <= now => Ok((provider, billing)),
            _ => Err(SettleError::NotOver(day)),
        }
    }

    /// The last day of a provider whose bill should be there.
    pub async fn last_billed_day(&self, name: &str) -> StoreResult<Option<Date>> {
        let now = self.store.now().await?;
        let billing = self.with_bills().find(|(provider, _)| provider.name() == name);
        Ok(billing.and_then(|(_, billing)| billing.last_day(now)))
    }

    /// Lets data control settle a day soon, again if it was settled before.
    pub async fn ask_for_settlement(&self, provider: &str, day: Date) -> Result<(), SettleError> {
        self.billing(provider, day).await?;
        Ok(self.store.payments().ask_for_settlement(provider, day).await?)
    }

    /// Settles a day at somebody's request, also if the day before is not settled. If its bill cannot be read or compared,
    /// the settlement says why.
    pub async fn settle(&self, name: &str, day: Date) -> Result<DaySettlement, SettleError> {
        self.settle_after(self.follows_unsettled(name, day).await?, name, day).await
    }

    async fn settle_after(&self, after_gap: bool, name: &str, day: Date) -> Result<DaySettlement, SettleError> {
        let (provider, billing) = self.billing(name, day).await?;
        // Its time is known from it, for the deletion of old lines.
        let run = Uuid::now_v7().to_string();
        match self.compare((provider, billing), (day, after_gap), &run).await {
            Ok(outcome) => {
                let new = self.store.payments().settle_day((name, day, &run), &outcome).await?;
                (0..new).for_each(|_| self.metrics.payment_case(CaseKind::BillDiffers));
                let differences = outcome.differences.len();
                info!(provider = name, %day, differences, new, "bill and books compared");
            }
            Err(error) => {
                let problem = bounded(&format!("{error:#}"));
                warn!(provider = name, %day, problem, "the day is not settled; it will be tried again");
                self.store.payments().settlement_failed(name, day, &problem).await?;
                self.store.payments().delete_bill_lines(&run).await?;
            }
        }
        let settled = self.store.payments().settlement(name, day).await?;
        settled.ok_or_else(|| SettleError::NoProvider(name.to_owned()))
    }

    /// Whether the day before shall be settled, but never was. Nothing tells then which of the movements about midnight its
    /// bill has.
    pub async fn follows_unsettled(&self, name: &str, day: Date) -> StoreResult<bool> {
        match day.yesterday() {
            Ok(before) => self.store.payments().is_unsettled(name, before).await,
            Err(_) => Ok(false),
        }
    }

    /// Whether the bill of the day before may still come.
    async fn is_recent(&self, name: &str, day: Date) -> StoreResult<bool> {
        Ok(self.last_billed_day(name).await?.is_some_and(|last| (last - day).get_days() < GAP_DAYS))
    }

    /// `after_gap`: the day before is not settled, so what the books have until [`CLOCK_TOLERANCE`] after midnight is missed
    /// on neither bill.
    async fn compare(
        &self,
        (provider, billing): (&dyn Provider, Billing),
        (day, after_gap): (Date, bool),
        run: &str,
    ) -> anyhow::Result<Comparison> {
        let (name, payments) = (provider.name(), self.store.payments());
        let bill = provider.bill(day).await?;
        let has_bill = bill.is_some();
        if let Some(bill) = bill {
            self.read(bill, provider, run).await?;
        }
        self.follow_disputes(provider).await?;
        let (mut outcome, mut after) = (Comparison::default(), String::new());
        loop {
            let lines = payments.bill_lines(run, &after, PAGE_SIZE).await?;
            let Some(last) = lines.last() else { break };
            // The lines of one payment are compared together, so they have to fit.
            ensure!(lines.len() < PAGE_SIZE, "the bill has {PAGE_SIZE} lines about {}", last.of.payment);
            after.clone_from(&last.of.payment);
            outcome.add(Comparison::of(&payments.booked(name, &lines).await?, &lines));
            ensure_few(&outcome)?;
        }
        let (begin, end) = billing.bounds(day).context("a day that does not exist")?;
        let begin = if after_gap { begin + CLOCK_TOLERANCE } else { begin - CLOCK_TOLERANCE };
        let bounds = (begin, end - CLOCK_TOLERANCE);
        let missed = payments.unbilled((name, day, run), bounds, MAX_DIFFERENCES + 1).await?;
        // Without a bill nothing tells whether money is missing or the bill is late.
        ensure!(
            has_bill || missed.is_empty(),
            "the provider has no bill of this day yet, but the books have money of it"
        );
        outcome.add(Comparison::of(&missed, &[]));
        ensure_few(&outcome)?;
        Ok(outcome)
    }

    async fn read(&self, mut bill: Bill<'_>, provider: &dyn Provider, run: &str) -> anyhow::Result<()> {
        while let Some(BillPage { lines, disputes }) = next_page(&mut bill).await? {
            self.store.payments().add_bill_lines(run, provider.name(), &lines).await?;
            for dispute in disputes {
                self.apply(provider, dispute).await?;
            }
        }
        Ok(())
    }

    /// Asks what became of the disputes whose end is not known. One that is lost moves no money at its end, so it is on no
    /// bill.
    async fn follow_disputes(&self, provider: &dyn Provider) -> anyhow::Result<()> {
        let mut after = String::new();
        loop {
            let open = self.store.payments().open_disputes(provider.name(), &after, PAGE_SIZE as i64).await?;
            let Some(last) = open.last() else { return Ok(()) };
            after.clone_from(&last.id);
            for dispute in open.iter().filter_map(|case| case.dispute.as_ref()) {
                match answer(provider.dispute(&dispute.id)).await {
                    Ok(Some(report)) => self.apply(provider, report).await?,
                    Ok(None) => {}
                    // The day is compared all the same.
                    Err(error) => {
                        let error = format!("{error:#}");
                        warn!(
                            dispute = dispute.id,
                            error, "a dispute was not asked about; it will be with the next day"
                        );
                    }
                }
            }
        }
    }

    /// Settles the days that are due: each day once its bill should be there, and days that could not be settled. Returns
    /// their number.
    pub async fn settle_due(&self) -> Result<usize, PaymentError> {
        if self.with_bills().next().is_none() {
            return Ok(0);
        }
        let now = self.store.now().await?;
        for (provider, billing) in self.with_bills() {
            let Some(last) = billing.last_day(now) else { continue };
            let known = self.store.payments().last_settlement(provider.name()).await?;
            let missed = last.series(jiff::Span::new().days(-1)).take(MAX_MISSED_DAYS);
            // A shop's first settlement is yesterday's.
            let missed = missed.enumerate().take_while(|(ago, day)| known.map_or(*ago == 0, |known| *day > known));
            for (_, day) in missed {
                self.store.payments().ask_for_settlement(provider.name(), day).await?;
            }
        }
        let due = self.store.payments().settlements_due(MAX_DAYS).await?;
        for (provider, day) in &due {
            let after_gap = self.follows_unsettled(provider, *day).await?;
            if after_gap && self.is_recent(provider, *day).await? {
                self.store.payments().settlement_failed(provider, *day, "the day before is not settled").await?;
                continue;
            }
            match self.settle_after(after_gap, provider, *day).await {
                Ok(_) => {}
                // Its keys were taken away.
                Err(error @ (SettleError::NoProvider(_) | SettleError::NotOver(_))) => {
                    self.store.payments().settlement_failed(provider, *day, &error.to_string()).await?;
                }
                Err(SettleError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(due.len())
    }
}

async fn next_page(bill: &mut Bill<'_>) -> anyhow::Result<Option<BillPage>> {
    tokio::time::timeout(PAGE_TIMEOUT, bill.next()).await.context("the bill stopped")?.transpose()
}

fn ensure_few(outcome: &Comparison) -> anyhow::Result<()> {
    if outcome.differences.len() > MAX_DIFFERENCES {
        bail!("bill and books differ in more than {MAX_DIFFERENCES} lines; is it the account of this shop?");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    /// Each page comes after a minute, and the last one never.
    #[tokio::test(start_paused = true)]
    async fn bill_of_any_size_is_read_as_long_as_it_goes_on() {
        let pages = stream::iter(0..=1_000).then(|page| async move {
            let wait = if page < 1_000 { Duration::from_secs(60) } else { Duration::MAX };
            tokio::time::sleep(wait).await;
            Ok(BillPage::default())
        });
        let mut bill: Bill<'_> = Box::pin(pages);
        for _ in 0..1_000 {
            assert!(next_page(&mut bill).await.unwrap().is_some());
        }
        assert!(next_page(&mut bill).await.is_err());
    }
}
