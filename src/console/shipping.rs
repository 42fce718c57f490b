//! The table of what shipping costs, for staff and for programs.

use crate::prelude::*;
use domain::address::COUNTRIES;
use domain::text::tidy;
use domain::{ShippingRate, ShippingTable};
use store::SavedShipping;
use words::country;

/// Blank rows at the end of the form.
const BLANK_ROWS: usize = 3;

pub async fn list((State(shop), _): StaffCall<ViewConsole>) -> Answer {
    Ok(answer(shop.store.shipping().get().await?))
}

/// Replaces the table. With `If-Match`, only if it has a version that it names.
pub async fn replace(
    (State(shop), staff): StaffCall<ManageSales>,
    headers: HeaderMap,
    Json(table): Json<ShippingTable>,
) -> Answer {
    let mistakes = table.mistakes();
    if !mistakes.is_empty() {
        let problem = |(index, field, code)| FieldProblem { field: format!("rates[{index}].{field}"), code };
        return Err(Problem::invalid(mistakes.into_iter().map(problem)));
    }
    let saved = save_table(&shop, table, expected_versions(&headers).as_deref(), staff.actor()).await?;
    Ok(answer(saved.ok_or(Code::StaleVersion)?))
}

async fn save_table(
    shop: &Shop,
    table: ShippingTable,
    versions: Option<&[i64]>,
    actor: &str,
) -> Result<Option<SavedShipping>, Problem> {
    let saved = shop.store.shipping().put(table, versions, actor, shop.clock.now()).await?;
    shop.catalogue.refresh().await?;
    Ok(saved)
}

fn answer(saved: SavedShipping) -> Response {
    versioned(saved.version(), saved.table)
}

/// A row of the form, as entered.
#[derive(Debug, Default, Clone)]
struct RateRow {
    country: String,
    regions: String,
    currency: String,
    cost: String,
    free_from: String,
    errors: Vec<FieldError>,
}

impl RateRow {
    fn of(rate: &ShippingRate) -> RateRow {
        RateRow {
            country: rate.country.clone(),
            regions: rate.regions.join(", "),
            currency: rate.cost.currency.as_str().to_owned(),
            cost: rate.cost.decimal(),
            free_from: rate.free_from.map(Money::decimal).unwrap_or_default(),
            errors: Vec::new(),
        }
    }

    fn blank() -> RateRow {
        RateRow { currency: Currency::CNY.as_str().to_owned(), ..RateRow::default() }
    }

    /// A row without an amount and regions is left out, so clearing it removes its rate.
    fn is_blank(&self) -> bool {
        [&self.regions, &self.cost, &self.free_from].iter().all(|text| text.trim().is_empty())
    }

    fn parse(&self) -> Result<ShippingRate, FieldError> {
        let wrong = FieldError::new;
        let currency = Currency::known(&self.currency.trim().to_uppercase());
        let currency = currency.ok_or(wrong("currency", "bad_currency"))?;
        let regions = self.regions.split([',', ';', '，', '；', '、', '\n']).map(tidy);
        Ok(ShippingRate {
            country: self.country.clone(),
            regions: regions.filter(|name| !name.is_empty()).collect(),
            cost: price(&self.cost, currency).ok_or(wrong("cost", "bad_price"))?,
            free_from: optional(&self.free_from, |text| price(text, currency))
                .ok_or(wrong("free_from", "bad_price"))?,
        })
    }
}

/// The rows of a form: each begins with its country.
fn rows_of(fields: Vec<(String, String)>) -> (i64, Vec<RateRow>) {
    let (mut version, mut rows) = (0, Vec::<RateRow>::new());
    for (name, value) in fields {
        if name == "country" {
            rows.push(RateRow::default());
        }
        match (name.as_str(), rows.last_mut()) {
            ("version", _) => version = value.parse().unwrap_or_default(),
            ("country", Some(row)) => row.country = value,
            ("regions", Some(row)) => row.regions = value,
            ("currency", Some(row)) => row.currency = value,
            ("cost", Some(row)) => row.cost = value,
            ("free_from", Some(row)) => row.free_from = value,
            _ => {}
        }
    }
    rows.retain(|row| !row.is_blank());
    (version, rows)
}

/// The table of the rows. Rows with a mistake get their errors instead.
fn table_of(rows: &mut [RateRow]) -> Option<ShippingTable> {
    let parsed: Vec<_> = rows.iter().map(RateRow::parse).collect();
    for (row, rate) in rows.iter_mut().zip(&parsed) {
        row.errors.extend(rate.as_ref().err());
    }
    let table = ShippingTable { rates: parsed.into_iter().collect::<Result<_, _>>().ok()? };
    for (index, field, code) in table.mistakes() {
        rows[index].errors.push(FieldError::new(field, code));
    }
    rows.iter().all(|row| row.errors.is_empty()).then_some(table)
}

pub async fn show((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<SavedQuery>) -> Answer {
    let saved = shop.store.shipping().get().await?;
    let rows = saved.table.rates.iter().map(RateRow::of).collect();
    let notice = (!query.saved.is_empty()).then_some(SaveNotice::Saved);
    page(&visitor, saved.version(), rows, notice)
}

pub async fn save(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let (version, mut rows) = rows_of(fields);
    let Some(table) = table_of(&mut rows) else { return page(&visitor, version, rows, Some(SaveNotice::Wrong)) };
    match save_table(&shop, table, Some(&[version]), staff.actor()).await? {
        Some(_) => Ok(see_other(&format!("/admin/orders/shipping?lang={}&saved=yes", visitor.locale))),
        None => {
            let current = shop.store.shipping().get().await?.version();
            page(&visitor, current, rows, Some(SaveNotice::ChangedMeanwhile))
        }
    }
}

#[derive(Debug, Template)]
#[template(path = "orders/console_shipping.html")]
struct ShippingPage {
    chrome: Chrome,
    version: i64,
    rows: Vec<RateRow>,
    notice: Option<SaveNotice>,
}

fn page(visitor: &Visitor, version: i64, rows: Vec<RateRow>, notice: Option<SaveNotice>) -> Answer {
    let chrome = visitor.chrome_at(format!("/admin/orders/shipping?lang={}", visitor.locale));
    let blank = if chrome.runs_sales() { BLANK_ROWS } else { 0 };
    let rows = rows.into_iter().chain(std::iter::repeat_n(RateRow::blank(), blank)).collect();
    personal(SaveNotice::status(notice), &ShippingPage { chrome, version, rows, notice })
}

impl ShippingPage {
    fn notice(&self) -> Option<(&'static str, bool)> {
        let t = &self.chrome.text().shipping;
        self.notice.map(|notice| notice.words([t.saved, t.wrong, t.changed]))
    }

    fn countries(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let (locale, elsewhere) = (self.chrome.locale, self.chrome.text().shipping.elsewhere);
        std::iter::once(("", elsewhere)).chain(COUNTRIES.iter().map(move |code| (*code, country(locale, code))))
    }

    /// The texts of a row: name, label, value, and what is wrong.
    fn inputs<'a>(&self, row: &'a RateRow) -> [(&'static str, &'static str, &'a str, Option<&'static str>); 4] {
        let t = &self.chrome.text().shipping;
        [
            ("regions", t.regions, &row.regions),
            ("cost", t.price, &row.cost),
            ("free_from", t.free_above, &row.free_from),
            ("currency", t.currency, &row.currency),
        ]
        .map(|(name, label, value)| (name, label, value.as_str(), error_text(&self.chrome, &row.errors, name)))
    }
}

web::operations! { "administrators"
    /// What shipping costs
    GET "/api/admin/shipping" showShippingTable = list, versioned;
        200 ShippingTable;
    /// Replace the table of what shipping costs
    ///
    /// Of the rates in an order's currency the closest one counts. Without any, shipping is free of charge; otherwise one
    /// has to be for everywhere else. Orders with an address keep what they cost.
    PUT "/api/admin/shipping" replaceShippingTable = replace, if_match, versioned;
        200 ShippingTable;
}
