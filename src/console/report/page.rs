//! The report of a sale, beside an earlier one, as a page and as a CSV file.

use crate::lists::csv;
use crate::prelude::*;
use crate::report::computing::{ComputingPage, PAGE_PATIENCE, computing, reloading};
use control::cockpit::report::{FigureName, FigureValue, SaleOutcome, SaleReport};
use domain::Refusal;
use domain::sale_digest::{Evenness, EvennessVerdict, Group};
use pages::plot::{Column, LinePlot, Scale, Series, columns};
use words::{ReportText, refusal_reasons};

type Record = [String; 6];

static COLUMNS: &[csv::Column<Record>] = &[
    ("section", |record| record[0].clone()),
    ("name", |record| record[1].clone()),
    ("from_ms", |record| record[2].clone()),
    ("value", |record| record[3].clone()),
    ("earlier", |record| record[4].clone()),
    ("difference", |record| record[5].clone()),
];

/// A sale and the one before it.
async fn sales(shop: &Shop, id: SaleId) -> Result<(Sale, Option<Sale>), Problem> {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NoSuchSale)?;
    let earlier = shop.store.sales().sale_before(&sale).await?;
    Ok((sale, earlier))
}

pub async fn show((State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>) -> Answer {
    let (sale, earlier) = sales(&shop, id).await?;
    let entry = shop.catalogue.entry(id).await?;
    let goods_name = goods_name_and_cover(entry.as_deref(), visitor.locale).0;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}/report?lang={}", visitor.locale));
    let digest = async |sale: &Sale| shop.digests.within(PAGE_PATIENCE, sale).await;
    let digests = match &earlier {
        Some(earlier) => {
            let (now, then) = tokio::try_join!(digest(&sale), digest(earlier))?;
            now.zip(then).map(|(now, then)| (now, Some(then)))
        }
        None => digest(&sale).await?.map(|now| (now, None)),
    };
    let Some((now, then)) = digests else {
        let t = words::text(visitor.locale);
        let back = (format!("/admin/sales/{id}"), t.report.back.to_owned());
        return computing(ComputingPage { chrome, sale: id, goods_name, title: t.report.title, back });
    };
    let earlier = match earlier.zip(then) {
        Some((earlier, digest)) => Some(shop.cockpit.report(earlier, digest).await?),
        None => None,
    };
    let report = shop.cockpit.report(sale, now).await?;
    let path = report.is_renewing.then(|| chrome.path.clone());
    let page = personal(StatusCode::OK, &ReportPage { chrome, goods_name, report, earlier })?;
    Ok(match path {
        Some(path) => reloading(page, &path),
        None => page,
    })
}

/// Figures and the numbers behind the plots. They name no account.
pub async fn export(State(shop): State<Arc<Shop>>, _: Staff<ViewConsole>, PathIds(id): PathIds<SaleId>) -> Answer {
    let (sale, earlier) = sales(&shop, id).await?;
    let earlier = match earlier {
        Some(earlier) => {
            let digest = shop.digests.wait(&earlier).await?;
            Some(shop.cockpit.report(earlier, digest).await?)
        }
        None => None,
    };
    let digest = shop.digests.wait(&sale).await?;
    let report = shop.cockpit.report(sale, digest).await?;
    let records = records(&report, earlier.as_ref());
    Ok(csv::download(&format!("sale-{id}.csv"), COLUMNS, stream::iter([Ok::<_, StoreError>(records)])))
}

fn records(report: &SaleReport, earlier: Option<&SaleReport>) -> Vec<Record> {
    let cell = |value: Option<FigureValue>| match value {
        None => String::new(),
        Some(FigureValue::Count(count)) => count.to_string(),
        Some(FigureValue::Amount(amount)) => amount.decimal(),
        Some(FigureValue::Percent(percent)) => format!("{percent:.1}"),
        Some(FigureValue::Milliseconds(ms)) => format!("{ms:.0}"),
    };
    let plain = |section: &str, name: &str, from: Option<i64>, value: String| {
        [section.to_owned(), name.to_owned(), csv::cell(from), value, String::new(), String::new()]
    };
    let mut records: Vec<Record> = Vec::new();
    for (name, now, then) in report.beside(earlier) {
        let difference = now.zip(then).and_then(|(now, then)| now.minus(then));
        let mut record = plain("figures", name.as_str(), None, cell(now));
        record[4..].clone_from_slice(&[cell(then), cell(difference)]);
        records.push(record);
    }
    for (reason, count) in &report.requests.refused {
        records.push(plain("refusals", reason, None, count.to_string()));
    }
    let digest = &report.digest;
    for (name, slots) in [("reserved_units", &digest.reserved), ("paid_units", &digest.paid)] {
        let of_slots = slots.iter().zip(0..).filter(|(units, _)| **units > 0);
        records
            .extend(of_slots.map(|(units, slot)| plain("slots", name, Some(slot * digest.slot_ms), units.to_string())));
    }
    if let Some(opening) = &report.opening {
        for (name, slots) in [("attempts", &opening.asked), ("successes", &opening.accepted)] {
            let of_slots = slots.iter().zip(0..).filter(|(count, _)| **count > 0);
            records.extend(
                of_slots.map(|(count, slot)| plain("opening", name, Some(slot * opening.slot_ms), count.to_string())),
            );
        }
    }
    records
}

/// The most points in the plot of units. A long sale has more slots, so that a point stands for several.
const MAX_POINTS: usize = 240;
/// The most points in the plot of an opening. If there are more slots, neighbours are added up.
const MAX_OPENING_POINTS: usize = 50;

#[derive(Debug, Template)]
#[template(path = "report/report.html")]
struct ReportPage {
    chrome: Chrome,
    goods_name: String,
    report: SaleReport,
    /// The report of the sale before; a sale of the same goods, if there was one.
    earlier: Option<SaleReport>,
}

/// A row of the table of figures.
struct FigureRow {
    name: FigureName,
    label: &'static str,
    now: String,
    then: String,
    difference: String,
}

/// Numbers over time, as a plot and as rows of a table.
struct TimePlot {
    svg: String,
    /// Rows of time and both values.
    rows: Vec<(String, i64, i64)>,
}

/// Groups with their names, and the result of the test that compares them.
struct GroupTable {
    rows: Vec<(String, Group)>,
    /// The chance of every group if the groups did not differ.
    mean: f64,
    svg: String,
    verdict: String,
}

impl ReportPage {
    fn text(&self) -> &'static ReportText {
        &self.chrome.text().report
    }

    fn mode(&self) -> ModeName {
        self.report.sale.mode.name()
    }

    fn is_same_goods(&self) -> bool {
        self.earlier.as_ref().is_some_and(|earlier| earlier.sale.goods_id == self.report.sale.goods_id)
    }

    fn show(&self, value: FigureValue) -> String {
        match value {
            FigureValue::Count(count) => grouped(count),
            FigureValue::Amount(amount) => amount.to_string(),
            FigureValue::Percent(percent) => format!("{percent:.1}%"),
            FigureValue::Milliseconds(ms) => self.duration(ms),
        }
    }

    /// A length of time with a fitting unit.
    fn duration(&self, ms: f64) -> String {
        let t = self.text();
        let (number, unit) = match ms.abs() {
            size if size < 1_000.0 => (format!("{ms:.0}"), t.units_ms),
            size if size < 60_000.0 => (format!("{:.1}", ms / 1_000.0), t.units_second),
            size if size < 3_600_000.0 => (format!("{:.1}", ms / 60_000.0), t.units_minute),
            size if size < 86_400_000.0 => (format!("{:.1}", ms / 3_600_000.0), t.units_hour),
            _ => (format!("{:.1}", ms / 86_400_000.0), t.units_day),
        };
        format!("{} {unit}", number.strip_suffix(".0").unwrap_or(&number))
    }

    fn figure(&self, name: FigureName) -> String {
        self.report.figure(name).map_or_else(|| "–".to_owned(), |value| self.show(value))
    }

    /// The most important figures.
    fn tiles(&self) -> Vec<(&'static str, String)> {
        let names = match self.mode() {
            ModeName::Draw => [FigureName::Sold, FigureName::Revenue, FigureName::PaidShare, FigureName::Entries],
            _ => [FigureName::Sold, FigureName::Revenue, FigureName::PaidShare, FigureName::SoldOut],
        };
        let rest = match self.mode() {
            ModeName::Rush => [FigureName::SoldAgain, FigureName::Asked],
            ModeName::WaitingRoom => [FigureName::Joined, FigureName::MissedTurn],
            ModeName::Draw => [FigureName::Offered, FigureName::ReturnedUnits],
        };
        names.into_iter().chain(rest).map(|name| (self.label(name), self.figure(name))).collect()
    }

    fn label(&self, name: FigureName) -> &'static str {
        let key = format!("f_{name}");
        self.text().entries().find(|(known, _)| *known == key).map_or(name.as_str(), |(_, words)| words)
    }

    /// How the sale went, in sentences.
    fn verdict(&self) -> String {
        let (t, report) = (self.text(), &self.report);
        match report.outcome() {
            SaleOutcome::NotBegun => t.outcome_not_begun.to_owned(),
            SaleOutcome::SoldOut(_) if self.mode() == ModeName::Draw => {
                fill(t.outcome_drawn, grouped(report.sale.total))
            }
            SaleOutcome::SoldOut(ms) => {
                fill(&fill(t.outcome_sold_out, grouped(report.sale.total)), self.duration(ms as f64))
            }
            SaleOutcome::Partly(percent) => fill(&fill(t.outcome_partly, grouped(report.sale.sold)), percent),
            SaleOutcome::Nothing => t.outcome_nothing.to_owned(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let (t, report) = (self.text(), &self.report);
        let paid = report.paid_share().map(|share| fill(t.verdict_paid, format!("{share:.1}%")));
        let unpaid = (report.orders.unpaid > 0).then(|| fill(t.verdict_unpaid, grouped(report.orders.unpaid)));
        let returned = (report.orders.returned_units > 0)
            .then(|| fill(&fill(t.verdict_returned, grouped(report.orders.returned_units)), report.sold_again()));
        let errors = report.requests.refused.get(Refusal::Overloaded.as_str()).copied().unwrap_or_default();
        let errors = (errors > 0).then(|| fill(t.verdict_errors, grouped(errors)));
        paid.into_iter().chain(unpaid).chain(returned).chain(errors).collect()
    }

    fn rows(&self) -> Vec<FigureRow> {
        let show = |value: Option<FigureValue>| value.map_or_else(|| "–".to_owned(), |value| self.show(value));
        let rows = self.report.beside(self.earlier.as_ref()).into_iter().map(|(name, now, then)| {
            let difference = now.zip(then).and_then(|(now, then)| now.minus(then));
            FigureRow {
                name,
                label: self.label(name),
                now: show(now),
                then: show(then),
                difference: difference.map(|difference| self.signed(difference)).unwrap_or_default(),
            }
        });
        rows.collect()
    }

    fn signed(&self, difference: FigureValue) -> String {
        let (is_zero, is_less) = match difference {
            FigureValue::Count(count) => (count == 0, count < 0),
            FigureValue::Amount(Money { amount, .. }) => (amount == 0, amount < 0),
            FigureValue::Percent(number) | FigureValue::Milliseconds(number) => (number.abs() < 0.05, number < 0.0),
        };
        if is_zero {
            return "=".to_owned();
        }
        let size = match difference {
            FigureValue::Count(count) => FigureValue::Count(count.abs()),
            FigureValue::Amount(amount) => FigureValue::Amount(Money { amount: amount.amount.abs(), ..amount }),
            FigureValue::Percent(number) => FigureValue::Percent(number.abs()),
            FigureValue::Milliseconds(number) => FigureValue::Milliseconds(number.abs()),
        };
        format!("{}{}", if is_less { "−" } else { "+" }, self.show(size))
    }

    /// Reason, number, and share in percent.
    fn refusals(&self) -> Vec<(&'static str, u64, f64)> {
        let requests = &self.report.requests;
        let all = requests.refused_in_all().max(1) as f64;
        let label = |code: &'static str| {
            refusal_reasons(self.chrome.locale).find(|(known, _)| *known == code).map_or(code, |(_, reason)| reason)
        };
        let mut rows: Vec<_> =
            requests.refused.iter().map(|(reason, n)| (label(reason), *n, *n as f64 * 100.0 / all)).collect();
        rows.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        rows
    }

    /// Units reserved and paid so far, from the opening on.
    fn units_plot(&self) -> Option<TimePlot> {
        let (t, digest) = (self.text(), &self.report.digest);
        let slots = digest.reserved.len().max(digest.paid.len());
        if slots == 0 {
            return None;
        }
        // In a long sale, one point of the plot stands for several slots and is at their end.
        let every = slots.div_ceil(MAX_POINTS);
        let (slots, width) = (slots.next_multiple_of(every), digest.slot_ms * every as i64);
        let (unit_ms, unit) = match width {
            ..60_000 => (1_000, t.units_second),
            60_000..3_600_000 => (60_000, t.units_minute),
            3_600_000..86_400_000 => (3_600_000, t.units_hour),
            _ => (86_400_000, t.units_day),
        };
        let step = width as f64 / unit_ms as f64;
        let points = |units: &[i64]| -> Vec<i64> { sums(units, slots).into_iter().step_by(every).collect() };
        let (reserved, paid) = (points(&digest.reserved), points(&digest.paid));
        let series = [("plot-1", t.reserved, &reserved, true), ("plot-3", t.paid, &paid, false)];
        let plot = LinePlot {
            title: t.plot_units,
            step,
            unit,
            scale: Scale::Linear,
            series: series.map(|(class, name, values, filled)| line(class, name, values, filled)).into(),
            marks: Vec::new(),
            limit: None,
        };
        let times = (0..).map(|point| format!("{} {unit}", trimmed(point as f64 * step)));
        let rows = times.zip(reserved.iter().zip(&paid)).map(|(time, (one, other))| (time, *one, *other)).collect();
        Some(TimePlot { svg: plot.draw(), rows })
    }

    /// Requests and successes of the first seconds.
    fn opening_plot(&self) -> Option<(String, TimePlot)> {
        let (t, opening) = (self.text(), self.report.opening.as_ref()?);
        let per_point = opening.asked.len().max(opening.accepted.len()).div_ceil(MAX_OPENING_POINTS).max(1);
        let merged = |slots: &[u64]| -> Vec<i64> {
            slots.chunks(per_point).map(|part| part.iter().sum::<u64>() as i64).collect()
        };
        let (asked, accepted) = (merged(&opening.asked), merged(&opening.accepted));
        let points = asked.len().max(accepted.len());
        let width = per_point as i64 * opening.slot_ms;
        let padded = |mut values: Vec<i64>| {
            values.resize(points + 1, 0);
            values
        };
        let (asked, accepted) = (padded(asked), padded(accepted));
        let title = fill(t.plot_opening, width);
        let plot = LinePlot {
            title: &title,
            step: width as f64,
            unit: t.units_ms,
            scale: Scale::Linear,
            series: vec![line("plot-1", t.asked, &asked, true), line("plot-2", t.accepted, &accepted, false)],
            marks: Vec::new(),
            limit: None,
        };
        let times = (0..).map(|point| format!("{} {}", point * width, t.units_ms));
        let rows = times.zip(asked.iter().zip(&accepted)).map(|(time, (one, other))| (time, *one, *other));
        let rows = rows.filter(|(_, asked, accepted)| asked + accepted > 0).collect();
        let svg = plot.draw();
        Some((title, TimePlot { svg, rows }))
    }

    /// Three sentences: whether all had the same chance, what scripts got as far as it shows, and how long people waited.
    fn fairness(&self) -> [String; 3] {
        [self.equal_chance(), self.scripts(), self.waits()]
    }

    fn equal_chance(&self) -> String {
        let t = self.text();
        match (self.arrivals().and_then(|rows| evenness(&rows)).map(Evenness::verdict), self.first_share()) {
            (Some(EvennessVerdict::Even), _) => t.chance_even.to_owned(),
            (Some(EvennessVerdict::Doubtful), _) => t.chance_doubtful.to_owned(),
            (Some(EvennessVerdict::Uneven), Some(first)) => fill(t.chance_first, first),
            (Some(EvennessVerdict::Uneven), None) => t.chance_uneven.to_owned(),
            (None, _) => t.chance_unknown.to_owned(),
        }
    }

    /// The shop does not know which account is a script. New accounts and frequent requests are what shows of them.
    fn scripts(&self) -> String {
        let t = self.text();
        let young: f64 = self.ages().iter().take(2).map(|(_, _, share, _)| share).sum();
        let young = format!("{young:.0}%");
        match self.mode() {
            ModeName::Draw => fill(t.scripts_young, young),
            _ => fill(&fill(t.scripts_limited, young), grouped(self.rate_limited())),
        }
    }

    fn waits(&self) -> String {
        let (t, report) = (self.text(), &self.report);
        let all = |words: &str, figures: &[String]| figures.iter().fold(words.to_owned(), |text, one| fill(&text, one));
        if let Some(room) = &report.waiting_room {
            let people = [grouped(room.joined), grouped(room.called)];
            return match report.digest.sold_out_ms {
                Some(ms) => fill(&all(t.waits_room_sold, &people), self.duration(ms as f64)),
                None => all(t.waits_room, &people),
            };
        }
        match (report.draw, report.median_ms.zip(report.p99_ms)) {
            (Some(draw), _) => all(t.waits_draw, &[grouped(draw.entries), grouped(draw.offered)]),
            (None, Some((median, p99))) => all(t.waits_rush, &[self.duration(median), self.duration(p99)]),
            (None, None) => t.waits_unknown.to_owned(),
        }
    }

    /// Wins by the order of arrival; `None` if nothing is known about it.
    fn arrivals(&self) -> Option<Vec<(String, Group)>> {
        let t = self.text();
        let rows: Vec<(String, Group)> = match self.mode() {
            ModeName::Rush => {
                let slot_ms = self.report.opening.as_ref()?.slot_ms;
                let until = |slot: usize| self.duration(slot as f64 * slot_ms as f64);
                self.report.arrivals().into_iter().map(|part| (until(part.until), part.group)).collect()
            }
            _ => (1..).zip(&self.report.digest.tenths).map(|(n, group)| (fill(t.tenth, n), *group)).collect(),
        };
        (!rows.is_empty()).then_some(rows)
    }

    fn arrival(&self) -> Option<GroupTable> {
        let (t, rows) = (self.text(), self.arrivals()?);
        let (all, won) = rows.iter().fold((0, 0), |(all, won), (_, group)| (all + group.all, won + group.won));
        let mean = Group { all, won }.chance() * 100.0;
        let bars: Vec<Column> = rows
            .iter()
            .map(|(name, group)| {
                let value = group.chance() * 100.0;
                Column { name, value, label: format!("{}%", trimmed(value)) }
            })
            .collect();
        let average = fill(t.average, format!("{}%", trimmed(mean)));
        let svg = columns(t.arrival, &bars, Some((mean, &average)));
        let test = evenness(&rows);
        let words = match test.map(Evenness::verdict) {
            Some(EvennessVerdict::Even) => t.test_even,
            Some(EvennessVerdict::Doubtful) => t.test_doubtful,
            Some(EvennessVerdict::Uneven) => t.test_uneven,
            None => t.test_none,
        };
        let verdict = test.map_or_else(
            || words.to_owned(),
            |test| {
                let p = if test.p < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", test.p) };
                fill(&fill(&fill(words, format!("{:.1}", test.chi2)), test.degrees), p)
            },
        );
        Some(GroupTable { rows, mean, svg, verdict })
    }

    /// How much the first requests got: the share of requests and of successes of the first group.
    fn first_share(&self) -> Option<String> {
        let groups = self.report.arrivals();
        let first = groups.first().filter(|_| self.mode() == ModeName::Rush && groups.len() > 1)?.group;
        let (all, won) = groups.iter().fold((0, 0), |(all, won), part| (all + part.group.all, won + part.group.won));
        let percent = |part: i64, of: i64| format!("{:.0}%", part as f64 * 100.0 / of.max(1) as f64);
        Some(fill(&fill(self.text().first_share, percent(first.all, all)), percent(first.won, won)))
    }

    /// Name, group, the group's share of all winners, and its share in the earlier sale.
    fn ages(&self) -> Vec<(&'static str, Group, f64, Option<f64>)> {
        let t = self.text();
        let names = [t.age_hour, t.age_day, t.age_week, t.age_month, t.age_older];
        let shares = |report: &SaleReport| {
            let won: i64 = report.digest.ages.iter().map(|group| group.won).sum();
            let share = move |group: &Group| (won > 0).then(|| group.won as f64 * 100.0 / won as f64);
            report.digest.ages.iter().map(share).collect::<Vec<_>>()
        };
        let (now, then) = (shares(&self.report), self.earlier.as_ref().map(shares).unwrap_or_default());
        let groups = self.report.digest.ages.iter().zip(names).enumerate();
        let rows =
            groups.map(|(n, (group, name))| (name, *group, now[n].unwrap_or_default(), then.get(n).copied().flatten()));
        rows.collect()
    }

    fn rate_limited(&self) -> u64 {
        self.report.requests.refused.get(Refusal::RateLimited.as_str()).copied().unwrap_or_default()
    }

    fn many_requests(&self) -> String {
        let requests = &self.report.requests;
        let counts = [requests.asked, requests.repeated, self.rate_limited()];
        counts.into_iter().fold(self.text().many_text.to_owned(), |text, count| fill(&text, grouped(count)))
    }

    fn arrival_text(&self) -> &'static str {
        let t = self.text();
        match self.mode() {
            ModeName::Rush => t.arrival_rush,
            ModeName::WaitingRoom => t.arrival_waiting_room,
            ModeName::Draw => t.arrival_draw,
        }
    }

    fn percent(&self, value: &f64) -> String {
        format!("{value:.1}%")
    }

    /// How many wins a group would have with the mean chance.
    fn expected(&self, group: &Group, mean: &f64) -> String {
        trimmed(group.all as f64 * mean / 100.0)
    }
}

fn evenness(rows: &[(String, Group)]) -> Option<Evenness> {
    Evenness::of(&rows.iter().map(|(_, group)| *group).collect::<Vec<_>>())
}

fn line<'a>(class: &'static str, name: &'a str, values: &[i64], filled: bool) -> Series<'a> {
    Series { class, name, values: values.iter().map(|value| Some(*value as f64)).collect(), filled }
}

/// Running sums that begin with zero.
fn sums(values: &[i64], length: usize) -> Vec<i64> {
    let mut sum = 0;
    let later = (0..length).map(|n| {
        sum += values.get(n).copied().unwrap_or_default();
        sum
    });
    std::iter::once(0).chain(later).collect()
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
