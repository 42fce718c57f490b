//! Parcels of orders: one is moved or corrected on the page of its order or by a program, many by a file.

use crate::lists::csv::{parts, text_of_file};
use crate::orders::api::{OneOrder, detail, existing_order};
use crate::orders::page::{OrderPageState, page};
use crate::prelude::*;
use domain::parcel::{ParcelChange, ParcelLabel, ParcelMove};
use orders::parcels::{MAX_LINES, ParcelLine, ParcelReport};
use store::ParcelActor;

/// Bytes of a file of parcels. A line has about a hundred.
const MAX_FILE_BYTES: usize = 64 * 1024;

/// A step of a parcel, or a correction of its carrier and number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParcelRequest {
    /// Where the parcel is now. The present state corrects carrier and number.
    state: ParcelState,
    /// The code or a name of a carrier that the shop knows, or the name of another one. Left out with the number: both
    /// stay as they are.
    #[serde(default)]
    #[schemars(length(max = 40))]
    carrier: String,
    #[serde(default)]
    number: String,
    /// The `version` of the parcel that was seen, 0 for none. With it nothing is done if the parcel was changed since. A
    /// correction needs it.
    version: Option<i64>,
}

pub async fn move_parcel(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, OrderId>,
    Json(request): Json<ParcelRequest>,
) -> Answer {
    let label = ParcelLabel::check(&request.carrier, &request.number).map_err(Problem::invalid)?;
    let wanted = ParcelMove { order: id, to: request.state, label, seen: request.version };
    shop.orders.move_parcel(&wanted, ParcelActor::Staff(staff.actor())).await??;
    detail(&shop, id).await
}

/// A file of parcels: order id, carrier, number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParcelFileRequest {
    /// Lines separated by line breaks, with or without a header.
    csv: String,
    /// Says what would be done, and does nothing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
struct ParcelFileAnswer {
    report: ParcelReportJson,
}

#[derive(Serialize, JsonSchema)]
struct ParcelReportJson {
    /// Whether all lines were carried out. Otherwise none was.
    done: bool,
    changed: usize,
    unchanged: usize,
    refused: Vec<RefusedLine>,
}

#[derive(Serialize, JsonSchema)]
struct RefusedLine {
    /// Counted from 1.
    line: u64,
    /// `order`, `carrier` or `number`.
    field: &'static str,
    code: &'static str,
    message: &'static str,
}

pub async fn import(
    (State(shop), staff): StaffCall<SupportShoppers>,
    visitor: Visitor,
    Json(request): Json<ParcelFileRequest>,
) -> Answer {
    let report = shop.orders.import_parcels(&request.csv, staff.actor(), request.dry_run).await?;
    let report = report.map_err(|code| Problem::invalid_field("csv", code))?;
    let refused = report.lines.iter().filter_map(|line| {
        let (field, code) = line.outcome.as_ref().err()?;
        Some(RefusedLine { line: line.line, field, code, message: refusal_words(visitor.locale, code) })
    });
    let report = ParcelReportJson {
        done: report.is_done,
        changed: count_new(&report),
        unchanged: count_same(&report),
        refused: refused.collect(),
    };
    Ok(private(ParcelFileAnswer { report }))
}

fn count_new(report: &ParcelReport) -> usize {
    report.count(|change| matches!(change, ParcelChange::Step(_)))
}

fn count_same(report: &ParcelReport) -> usize {
    report.count(|change| *change == ParcelChange::Unchanged)
}

/// The words of a code, which belongs to a field or to a refusal.
fn refusal_words(locale: Locale, code: &'static str) -> &'static str {
    match field_error(locale, code) {
        words if words == code => problem(code).text(locale),
        words => words,
    }
}

inputs! {
    /// The form on the page of an order.
    ParcelForm {
        state, carrier, number, version,
        #[serde(skip)]
        errors: Vec<FieldError>,
    }
    /// The text of a file that was checked.
    ParcelFileForm { csv }
}

pub async fn move_by_form(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<SupportShoppers, OrderId>,
    Form(form): Form<ParcelForm>,
) -> Answer {
    let path = format!("/admin/orders/{id}?lang={}", visitor.locale);
    let to = form.state.parse().map_err(|()| Problem::invalid_field("state", "bad_state").back(path.clone()))?;
    let label = match ParcelLabel::check(&form.carrier, &form.number) {
        Ok(label) => label,
        Err(errors) => {
            let errors = errors.into_iter().map(|(field, code)| FieldError { field, code }).collect();
            let order = existing_order(&shop, id).await?;
            let state = OrderPageState { parcel: ParcelForm { errors, ..form }, ..OrderPageState::acting() };
            return page(&shop, &visitor, order, StatusCode::UNPROCESSABLE_ENTITY, state).await;
        }
    };
    let wanted = ParcelMove { order: id, to, label, seen: form.version.parse().ok() };
    let moved = shop.orders.move_parcel(&wanted, ParcelActor::Staff(staff.actor())).await?;
    moved.map_err(|refusal| Problem::from(refusal).back(path.clone()))?;
    Ok(see_other(&format!("{path}&done=parcel")))
}

/// The page on which a file is uploaded, checked and carried out.
#[derive(Debug, Template)]
#[template(path = "orders/console_parcels.html")]
struct ParcelFilePage {
    chrome: Chrome,
    may_act: bool,
    /// What was checked or done; `None` before a file is uploaded.
    report: Option<ParcelReport>,
    /// The text of the file that was checked, for the form that carries it out.
    csv: String,
    errors: Vec<FieldError>,
}

impl ParcelFilePage {
    fn line_words(&self, line: &ParcelLine) -> &'static str {
        let t = &self.chrome.text().parcels;
        match (&line.outcome, self.report.as_ref().is_some_and(|report| report.is_done)) {
            (Err((_, code)), _) => refusal_words(self.chrome.locale, code),
            (Ok(ParcelChange::Unchanged), _) => t.line_same,
            (Ok(ParcelChange::Step(_)), false) => t.line_new,
            (Ok(ParcelChange::Step(_)), true) => t.line_done,
        }
    }

    fn mood(&self, line: &ParcelLine) -> &'static str {
        match line.outcome {
            Err(_) => "bad",
            Ok(ParcelChange::Unchanged) => "calm",
            Ok(ParcelChange::Step(_)) => "good",
        }
    }

    /// Whether the page asks for a file: not while one waits to be carried out.
    fn asks_for_file(&self) -> bool {
        let waits = |report: &ParcelReport| !report.is_done && !report.is_refused() && count_new(report) > 0;
        self.may_act && !self.report.as_ref().is_some_and(waits)
    }

    /// How many lines are refused, can be done, and are so already.
    fn counts(&self, report: &ParcelReport) -> (usize, usize, usize) {
        let (new, same) = (count_new(report), count_same(report));
        (report.lines.len() - new - same, new, same)
    }
}

pub async fn show((State(_), staff, visitor): StaffVisit<ViewConsole>) -> Answer {
    file_page(&visitor, StatusCode::OK, staff.may::<SupportShoppers>(), None, String::new(), Vec::new())
}

fn file_page(
    visitor: &Visitor,
    status: StatusCode,
    may_act: bool,
    report: Option<ParcelReport>,
    csv: String,
    errors: Vec<FieldError>,
) -> Answer {
    let chrome = visitor.chrome_at(format!("/admin/orders/parcels?lang={}", visitor.locale));
    personal(status, &ParcelFilePage { chrome, may_act, report, csv, errors })
}

/// Checks an uploaded file without carrying it out.
pub async fn check(visit: StaffVisit<SupportShoppers>, upload: Result<Multipart, MultipartRejection>) -> Answer {
    let [bytes] = parts(upload, ["csv"], MAX_FILE_BYTES).await?;
    match text_of_file(bytes) {
        Some(text) => judge(visit, text, true).await,
        None => refuse(&visit.2, "bad_csv"),
    }
}

/// Carries out a file that was checked.
pub async fn apply(
    visit: StaffVisit<SupportShoppers>,
    LongForm(ParcelFileForm { csv }): LongForm<ParcelFileForm>,
) -> Answer {
    judge(visit, csv, false).await
}

fn refuse(visitor: &Visitor, code: &'static str) -> Answer {
    let errors = vec![FieldError::new("csv", code)];
    file_page(visitor, StatusCode::UNPROCESSABLE_ENTITY, true, None, String::new(), errors)
}

async fn judge((State(shop), staff, visitor): StaffVisit<SupportShoppers>, csv: String, is_rehearsed: bool) -> Answer {
    match shop.orders.import_parcels(&csv, staff.actor(), is_rehearsed).await? {
        Ok(report) => {
            let status = if report.is_refused() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
            file_page(&visitor, status, true, Some(report), csv, Vec::new())
        }
        Err(code) => refuse(&visitor, code),
    }
}

web::operations! { "administrators"
    /// Move the parcel of a paid order, or correct its carrier and number
    ///
    /// From nothing to `packed` or `shipped`, from `packed` to `shipped`, then to `delivered`, `lost` or `returned`; a
    /// returned one may be sent again. The owner gets a mail about every step except packing. Safe to repeat.
    POST "/api/admin/orders/{order}/parcel" moveParcel = move_parcel;
        200 OneOrder, "The order with its parcel.";
        refuses NotPaid OrderEnded OrderHeld NoAddress NoSuchStep ChangedMeanwhile;
    /// Mark orders as sent by lines of order id, carrier and number
    ///
    /// All lines or none. At most 200 lines.
    POST "/api/admin/orders/parcels" importParcels = import;
        200 ParcelFileAnswer, "What was done, or would be done, by line.";
}
