//! Goods and drafts of sales from a file of another shop: CSV with a header, or JSON lines, with the same names. Programs
//! send the file; on the page staff paste or upload it, see a report by line, and import.

use axum::body::Body;
use csv::{ReaderBuilder, Trim};

use crate::lists::csv::{parts, text_of_file};
use crate::prelude::*;
use domain::{Rush, Window};
use store::{GoodsDraft, ImportRefusal, SaleDraft};
use web::extract::{body, from_json};
use web::shared::validation::{check_description, check_name, check_sale, check_window};

/// The largest file, in bytes, and its lines. All of them are one transaction, which holds the catalogue's lock.
const MAX_BYTES: usize = 1024 * 1024;
pub(crate) const MAX_LINES: usize = 500;

/// The names of the cells. A line without a price is goods without a sale.
const NAMES: [&str; 12] = [
    "name_zh",
    "name_en",
    "description_zh",
    "description_en",
    "category_id",
    "price",
    "list_price",
    "currency",
    "total",
    "per_user_limit",
    "opens_at",
    "closes_at",
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoodsFile {
    format: FileFormat,
    pub(crate) text: String,
    /// Says what would be done, and does nothing.
    #[serde(default)]
    dry_run: bool,
}

impl GoodsFile {
    /// A file as staff give it, without saying in which format it is.
    pub(crate) fn of(text: String, dry_run: bool) -> GoodsFile {
        let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
        GoodsFile { format: if is_json { FileFormat::JsonLines } else { FileFormat::Csv }, text, dry_run }
    }
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum FileFormat {
    /// With a header of names.
    Csv,
    /// One object per line.
    JsonLines,
}

#[derive(Serialize, JsonSchema)]
struct ImportAnswer {
    /// Whether all lines were carried out. Otherwise none was.
    done: bool,
    lines: usize,
    made: Vec<MadeLine>,
    refused: Vec<RefusedLine>,
}

#[derive(Serialize, JsonSchema)]
struct MadeLine {
    goods_id: GoodsId,
    /// A draft; `null` for a line without a price.
    sale_id: Option<SaleId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RefusedImportLine")]
struct RefusedLine {
    /// Counted from 1.
    line: u64,
    field: String,
    code: &'static str,
    message: &'static str,
}

type Cells = BTreeMap<String, String>;
pub(crate) type Wrong = Vec<(String, &'static str)>;
/// The number of a line, and its cells or what is wrong with it.
type Line = (u64, Result<Cells, Wrong>);

/// What a file would do or has done, line by line.
#[derive(Debug, Default)]
pub(crate) struct ImportReport {
    pub(crate) lines: Vec<ImportLine>,
    made: Vec<(GoodsId, Option<SaleId>)>,
    /// Whether all lines were carried out. Otherwise none was.
    pub(crate) is_done: bool,
}

#[derive(Debug)]
pub(crate) struct ImportLine {
    pub(crate) number: u64,
    /// The name of the goods in the visitor's language.
    pub(crate) name: String,
    pub(crate) has_sale: bool,
    /// The wrong cells, each with a code.
    pub(crate) wrong: Wrong,
}

impl ImportReport {
    pub(crate) fn refused(&self) -> usize {
        self.lines.iter().filter(|line| !line.wrong.is_empty()).count()
    }

    /// How many goods and drafts of sales the lines are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.iter().filter(|line| line.has_sale).count())
    }
}

pub async fn import(
    (State(shop), staff): StaffCall<ManageSales>,
    visitor: Visitor,
    headers: HeaderMap,
    content: Body,
) -> Answer {
    let file = from_json(&body(&headers, content, MAX_BYTES).await?)?;
    let report = carry_out(&shop, (staff.actor(), visitor.locale), &file, None).await?;
    let mut refused = Vec::new();
    for line in &report.lines {
        refused.extend(line.wrong.iter().map(|(field, code)| RefusedLine {
            line: line.number,
            field: field.clone(),
            code,
            message: field_error(visitor.locale, code),
        }));
    }
    let made = report.made.into_iter().map(|(goods_id, sale_id)| MadeLine { goods_id, sale_id });
    let answer = ImportAnswer { done: report.is_done, lines: report.lines.len(), made: made.collect(), refused };
    Ok(private(answer))
}

/// Reads a file, and carries it out unless a line is wrong or only a report is wanted. All attempts of one request import it
/// once.
async fn carry_out(
    shop: &Shop,
    (actor, locale): (&str, Locale),
    file: &GoodsFile,
    request: Option<RequestId>,
) -> Result<ImportReport, Problem> {
    let lines = read(file.format, &file.text).map_err(|code| Problem::invalid_field("text", code))?;
    let now = shop.clock.now();
    let (mut drafts, mut report) = (Vec::new(), ImportReport::default());
    for (number, cells) in lines {
        let name = cells.as_ref().ok().and_then(|cells| cells.get(&format!("name_{locale}")));
        let mut line =
            ImportLine { number, name: name.cloned().unwrap_or_default(), has_sale: false, wrong: Vec::new() };
        match cells.and_then(|cells| draft(&cells, now)) {
            Ok(draft) => {
                line.has_sale = draft.1.is_some();
                drafts.push(draft);
            }
            Err(wrong) => line.wrong = wrong,
        }
        report.lines.push(line);
    }
    if file.dry_run || report.refused() > 0 {
        return Ok(report);
    }
    match shop.store.goods().import(drafts, request, actor, now).await {
        Ok(made) => {
            (report.made, report.is_done) = (made, true);
            shop.catalogue.refresh().await?;
        }
        Err((index, refusal)) => {
            let problem: Problem = match refusal {
                ImportRefusal::Goods(refusal) => refusal.into(),
                ImportRefusal::Sale(refusal) => refusal.into(),
            };
            let Some(wrong) = problem.first_field() else { return Err(problem) };
            report.lines[index].wrong.push((wrong.field.clone(), wrong.code));
        }
    }
    Ok(report)
}

/// The lines of a file with their numbers. An error is the code of what is wrong with the whole file.
fn read(format: FileFormat, text: &str) -> Result<Vec<Line>, &'static str> {
    // Browsers send CRLF. The CSV reader begins its next line between the two, so its numbers would be one too low.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let lines = match format {
        FileFormat::Csv => read_csv(&text)?,
        FileFormat::JsonLines => {
            let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
            lines.map(|(line, number)| (number, json_cells(line))).collect()
        }
    };
    match lines.len() {
        0 => Err("required"),
        1..=MAX_LINES => Ok(lines),
        _ => Err("too_many_lines"),
    }
}

fn read_csv(text: &str) -> Result<Vec<Line>, &'static str> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let names = reader.headers().map_err(|_| "bad_csv")?.clone();
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|_| "bad_csv")?;
        let cells = names.iter().zip(&record).map(|(name, cell)| (name.to_owned(), cell.to_owned()));
        lines.push((record.position().map_or(0, csv::Position::line), Ok(cells.collect())));
    }
    Ok(lines)
}

fn json_cells(line: &str) -> Result<Cells, Wrong> {
    let whole = |code| vec![(String::new(), code)];
    let Ok(Value::Object(object)) = serde_json::from_str(line) else { return Err(whole("bad_json")) };
    let cell = |(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(number) => Ok((name, number.to_string())),
        Value::Null => Ok((name, String::new())),
        _ => Err(vec![(name, "bad_type")]),
    };
    object.into_iter().map(cell).collect()
}

/// The goods of a line, and the sale if it has a price. All mistakes are named.
fn draft(cells: &Cells, now: jiff::Timestamp) -> Result<(GoodsDraft, Option<SaleDraft>), Wrong> {
    let unknown = cells.keys().filter(|name| !NAMES.contains(&name.as_str()));
    let mut wrong: Wrong = unknown.map(|name| (name.clone(), "unknown")).collect();
    let cell = |name: &str| cells.get(name).map(String::as_str).unwrap_or_default();
    let bilingual = |zh: &str, en: &str| Bilingual::new(cell(zh), cell(en));
    let (name, description) = (bilingual("name_zh", "name_en"), bilingual("description_zh", "description_en"));
    let mut errors: Vec<FieldError> = check_name(&name);
    errors.extend(check_description(&description));
    let category = cell("category_id");
    let category = read_field(&mut errors, ("category_id", "bad_number"), category, |text| text.parse().ok());
    let goods = GoodsDraft {
        name: Some(name),
        description: Some(description),
        category_id: Some(category),
        ..GoodsDraft::default()
    };
    let sale = match cell("price") {
        "" => None,
        _ => sale_draft(&cell, &mut errors),
    };
    if let Some(sale) = &sale {
        errors.extend(check_sale(sale));
        errors.extend(check_window(sale.window, true, now));
    }
    wrong.extend(errors.into_iter().map(|error| (error.field.to_owned(), error.code)));
    if wrong.is_empty() { Ok((goods, sale)) } else { Err(wrong) }
}

fn sale_draft<'a>(cell: &impl Fn(&str) -> &'a str, errors: &mut Vec<FieldError>) -> Option<SaleDraft> {
    let Some(currency) = Currency::known(&cell("currency").to_uppercase()) else {
        errors.push(FieldError::new("currency", "bad_currency"));
        return None;
    };
    let mut money = |field| read_field(errors, (field, "bad_price"), cell(field), |text| price(text, currency));
    let (sum, list_price): (Option<Money>, _) = (money("price"), money("list_price"));
    let mut whole = |field, default| {
        let number = match cell(field) {
            "" => Some(default),
            text => text.parse::<i64>().ok(),
        };
        errors.extend(number.is_none().then_some(FieldError::new(field, "bad_number")));
        number
    };
    let (total, per_user_limit) = (whole("total", 0), whole("per_user_limit", 1));
    let mut moment = |field| read_field(errors, (field, "bad_time"), cell(field), time);
    let window = Window { opens_at: moment("opens_at"), closes_at: moment("closes_at") };
    Some(SaleDraft {
        goods_id: GoodsId(0),
        price: sum?,
        list_price,
        total: total?,
        per_user_limit: per_user_limit?,
        window,
        rush: Rush::default(),
        mode: SaleMode::Rush,
        eligibility: Default::default(),
    })
}

const PATH: &str = "/admin/goods/import";

#[derive(Debug, Template)]
#[template(path = "goods/console_import.html")]
struct ImportPage {
    chrome: Chrome,
    may_act: bool,
    /// The text as it was given, so that nothing is lost by a mistake.
    text: String,
    /// `None` before a text is checked.
    report: Option<ImportReport>,
    /// What is wrong with the whole text.
    wrong: Option<&'static str>,
    /// How many goods and drafts of sales were just made.
    made: Option<(u32, u32)>,
}

impl ImportPage {
    fn new(visitor: &Visitor, may_act: bool) -> ImportPage {
        let chrome = visitor.chrome_at(console_link(PATH, visitor.locale));
        ImportPage { chrome, may_act, text: String::new(), report: None, wrong: None, made: None }
    }

    /// Whether the checked text can be imported as it is.
    fn is_ready(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.refused() == 0)
    }

    fn line_words(&self, line: &ImportLine) -> &'static str {
        let t = &self.chrome.text().goods_import;
        if line.has_sale { t.line_sale } else { t.line_goods }
    }

    fn wrong_words(&self, code: &'static str) -> &'static str {
        field_error(self.chrome.locale, code)
    }
}

inputs! {
    /// How many goods and sales the page reports as made.
    ImportQuery { goods: Option<u32>, sales: u32 }
}

pub async fn page((State(_), staff, visitor): StaffVisit<ViewConsole>, Query(query): Query<ImportQuery>) -> Answer {
    let page = ImportPage::new(&visitor, staff.may::<ManageSales>());
    personal(StatusCode::OK, &ImportPage { made: query.goods.map(|goods| (goods, query.sales)), ..page })
}

/// Checks a text, or imports one.
pub async fn submit(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    Repeatable(request): Repeatable,
    upload: Result<Multipart, MultipartRejection>,
) -> Answer {
    let [text, file, verb] = parts(upload, ["text", "file", "do"], MAX_BYTES).await?;
    let page = ImportPage::new(&visitor, true);
    let wrong = |code| Some(field_error(visitor.locale, code));
    // An uploaded file counts instead of the text.
    let text = match text_of_file(if file.is_empty() { text.clone() } else { file }) {
        Some(text) => text,
        None => {
            let text = String::from_utf8_lossy(&text).replace('\0', "");
            return personal(StatusCode::UNPROCESSABLE_ENTITY, &ImportPage { text, wrong: wrong("bad_csv"), ..page });
        }
    };
    let file = GoodsFile::of(text, verb != b"import");
    let report = match carry_out(&shop, (staff.actor(), visitor.locale), &file, request).await {
        Ok(report) => report,
        Err(problem) => {
            let Some(code) = problem.field_code() else { return Err(problem) };
            let page = ImportPage { text: file.text, wrong: wrong(code), ..page };
            return personal(StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
    };
    if report.is_done {
        let (goods, sales) = report.counts();
        return Ok(see_other(&console_link(&format!("{PATH}?goods={goods}&sales={sales}"), visitor.locale)));
    }
    let status = if report.refused() > 0 { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    personal(status, &ImportPage { text: file.text, report: Some(report), ..page })
}

web::operations! { "administrators"
    /// Add goods, and drafts of sales, from a file
    ///
    /// CSV with a header, or JSON lines, with the same names: `name_zh`, `name_en`, `description_zh`, `description_en`,
    /// `category_id`, and for a draft of a sale `price` (as `199.00`), `list_price`, `currency`, `total`, `per_user_limit`,
    /// `opens_at`, `closes_at`. At most 500 lines, all or none; a refused line says what is wrong with it.
    POST "/api/admin/goods/import" importGoods = import,
        body<GoodsFile>;
        200 ImportAnswer;
}
