//! Settlements: which days' bills were compared with the books, and what differs.

use jiff::civil::Date;

use crate::prelude::*;
use domain::settlement::{BillSums, Difference, MovementKind};
use payments::settlement::SettleError;
use store::DaySettlement;
use web::extract::ViewBooks;

const PATH: &str = "/admin/orders/books?show=settlements";

wire_enum! {
    enum SettlementStatus {
        Agreed = "agreed",
        Differs = "differs",
        /// It waits for its bill, or the last attempt failed.
        NotSettled = "not_settled",
    }
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettlementsQuery {
    /// The name of a provider; all without it.
    provider: String,
    /// A day of the provider's, such as 2026-11-28; all without it.
    day: String,
    before: Cursor,
    /// Whether the page says that a day will be compared again.
    #[schemars(skip)]
    done: String,
    /// The language of the page.
    #[schemars(skip)]
    lang: String,
    /// The tab of the page.
    #[schemars(skip)]
    show: String,
}

/// The last day of a page and its provider, as a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettlementCursor(Date, String);

impl FromStr for SettlementCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (day, provider) = text.split_once('~').ok_or(())?;
        Ok(SettlementCursor(day.parse().map_err(drop)?, provider.to_owned()))
    }
}

impl SettlementsQuery {
    /// The day as a date. An empty one is none.
    fn day(&self) -> Result<Option<Date>, Problem> {
        let given = Some(self.day.as_str()).filter(|day| !day.is_empty());
        given.map(str::parse).transpose().map_err(|_| Problem::invalid_field("day", "bad_time"))
    }

    async fn page(&self, shop: &Shop) -> Result<Page<DaySettlement, String>, Problem> {
        let before = self.before.read::<SettlementCursor>("before")?;
        let before = before.as_ref().map(|SettlementCursor(day, provider)| (*day, provider.as_str()));
        let payments = shop.store.payments();
        let found = payments.settlements(&self.provider, self.day()?, before, DEFAULT_PAGE_SIZE + 1).await?;
        Ok(Page::cut(found, DEFAULT_PAGE_SIZE, |last| format!("{}~{}", last.day, last.provider)))
    }
}

fn status(of: &DaySettlement) -> SettlementStatus {
    match of.is_settled() {
        true if of.agrees() => SettlementStatus::Agreed,
        true => SettlementStatus::Differs,
        false => SettlementStatus::NotSettled,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Settlement")]
struct SettlementJson {
    provider: String,
    day: Date,
    status: SettlementStatus,
    /// When bill and books were last compared.
    settled_at: Option<Timestamp>,
    /// Why the last attempt failed.
    problem: Option<String>,
    #[serde(flatten)]
    totals: BillSums,
    /// How many lines differ.
    different: i64,
}

impl From<DaySettlement> for SettlementJson {
    fn from(of: DaySettlement) -> SettlementJson {
        let status = status(&of);
        let DaySettlement { provider, day, settled_at, totals, problem, differences, .. } = of;
        SettlementJson { provider, day, status, settled_at, problem, totals, different: differences }
    }
}

answers! {
    SettlementList { settlements: Vec<SettlementJson>; next: String }
    OneSettlement { settlement: SettlementJson, differences: Vec<Difference> }
}

pub async fn list((State(shop), _): StaffCall<ViewBooks>, Query(query): Query<SettlementsQuery>) -> Answer {
    let Page { items, next } = query.page(&shop).await?;
    let settlements = items.into_iter().map(SettlementJson::from).collect();
    Ok(private(SettlementList { settlements, next }))
}

pub async fn show((State(shop), _, PathIds((provider, day))): StaffCallTo<ViewBooks, (String, Date)>) -> Answer {
    one(&shop, &provider, day).await
}

async fn one(shop: &Shop, provider: &str, day: Date) -> Answer {
    let settlement = shop.store.payments().settlement(provider, day).await?.ok_or(Code::NotFound)?.into();
    let differences = shop.store.payments().bill_differences(provider, day).await?;
    Ok(private(OneSettlement { settlement, differences }))
}

/// Lets data control compare a day again.
pub async fn again((State(shop), _, PathIds((provider, day))): StaffCallTo<ViewBooks, (String, Date)>) -> Answer {
    ask(&shop, &provider, day).await?;
    one(&shop, &provider, day).await
}

async fn ask(shop: &Shop, provider: &str, day: Date) -> Result<(), Problem> {
    match shop.payments.ask_for_settlement(provider, day).await {
        Ok(()) => Ok(()),
        Err(SettleError::NoProvider(_)) => Err(Code::NotFound.into()),
        Err(SettleError::NotOver(_)) => Err(Problem::invalid_field("day", "bad_time")),
        Err(SettleError::Store(error)) => Err(error.into()),
    }
}

#[derive(Debug, Template)]
#[template(path = "books/settlements.html")]
struct SettlementsPage {
    chrome: Chrome,
    query: SettlementsQuery,
    providers: Vec<&'static str>,
    rows: Vec<SettlementRow>,
    older: Option<String>,
    is_asked: bool,
}

#[derive(Debug)]
struct SettlementRow {
    of: DaySettlement,
    /// Those of a day that was asked for.
    differences: Option<Vec<Difference>>,
}

impl SettlementRow {
    /// The sums of the bill of one kind, and its lines.
    fn sums(&self, kind: &str) -> Vec<(String, i64)> {
        let kind: Option<MovementKind> = kind.parse().ok();
        let of_kind = self.of.totals.sums.iter().filter(|sum| Some(sum.kind) == kind);
        of_kind.map(|sum| (sum.there.to_string(), sum.lines)).collect()
    }
}

impl SettlementsPage {
    fn state(&self, of: &DaySettlement) -> String {
        let t = &self.chrome.text().settlements;
        match status(of) {
            SettlementStatus::Agreed => t.agreed.to_owned(),
            SettlementStatus::Differs => fill(t.differs, of.differences),
            SettlementStatus::NotSettled if of.problem.is_some() => t.failed.to_owned(),
            SettlementStatus::NotSettled => t.open.to_owned(),
        }
    }

    /// Providers that were asked for a day that was never compared.
    fn missing(&self) -> Vec<&'static str> {
        let asked = |provider: &&&str| self.query.provider.is_empty() || self.query.provider == ***provider;
        let is_new = |provider: &&&str| self.rows.iter().all(|row| row.of.provider != ***provider);
        match self.query.day.is_empty() {
            true => Vec::new(),
            false => self.providers.iter().filter(asked).filter(is_new).copied().collect(),
        }
    }

    fn older_path(&self, before: &str) -> String {
        let query = link_query([("provider", &self.query.provider), ("day", &self.query.day)]);
        format!("{PATH}&{query}&lang={}&before={before}", self.chrome.locale)
    }
}

pub async fn page((State(shop), _, visitor): StaffVisit<ViewBooks>, Query(query): Query<SettlementsQuery>) -> Answer {
    let Page { items, next } = query.page(&shop).await?;
    let mut rows = Vec::with_capacity(items.len());
    for of in items {
        let differences = match query.day.is_empty() {
            true => None,
            false => Some(shop.store.payments().bill_differences(&of.provider, of.day).await?),
        };
        rows.push(SettlementRow { of, differences });
    }
    let page = SettlementsPage {
        chrome: visitor.chrome_at(console_link(PATH, visitor.locale)),
        is_asked: !query.done.is_empty(),
        query,
        providers: shop.payments.billed(),
        rows,
        older: next,
    };
    personal(StatusCode::OK, &page)
}

pub async fn again_by_form(
    (State(shop), _, visitor, PathIds((provider, day))): StaffVisitTo<ViewBooks, (String, Date)>,
) -> Answer {
    ask(&shop, &provider, day).await?;
    Ok(see_other(&format!("{PATH}&lang={}&provider={provider}&day={day}&done=yes", visitor.locale)))
}

web::operations! { "administrators"
    /// Days whose bills are compared with the books, for owners, newest first
    GET "/api/admin/settlements" listSettlements = list;
        200 SettlementList;
    /// A day of a provider, and what differs
    GET "/api/admin/settlements/{provider}/{day}" showSettlement = show;
        200 OneSettlement;
    /// Compare a day again, within seconds
    ///
    /// Safe to repeat. The answer has the outcome of the last comparison.
    POST "/api/admin/settlements/{provider}/{day}/again" settleAgain = again;
        200 OneSettlement;
}
