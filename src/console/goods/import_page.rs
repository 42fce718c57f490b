//! The page on which staff import goods and drafts of sales: they paste or upload a file, see a report by line, and import.

use askama::Template;
use axum::extract::State;
use axum::extract::multipart::{Multipart, MultipartRejection};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tokio::time::timeout;

use super::import::{GoodsFile, ImportLine, ImportReport, MAX_BYTES, MAX_LINES, NAMES, carry_out};
use crate::StaffVisit;
use crate::lists::csv::text_of_file;
use pages::{Chrome, filters};
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Query, UPLOAD_TIMEOUT};
use web::idempotency::Repeatable;
use web::problem::{Code, Problem};
use web::shared::negotiation::{personal, see_other};
use web::shared::paths::console_link;
use words::field_error;

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

/// How many goods and sales the page reports as made.
#[derive(Deserialize)]
pub struct ImportQuery {
    goods: Option<u32>,
    #[serde(default)]
    sales: u32,
}

pub async fn show(
    (State(_), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<ImportQuery>,
) -> Result<Response, Problem> {
    let page = ImportPage::new(&visitor, staff.may::<ManageSales>());
    personal(StatusCode::OK, &ImportPage { made: query.goods.map(|goods| (goods, query.sales)), ..page })
}

/// Checks a text, or imports one.
pub async fn submit(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    Repeatable(request): Repeatable,
    upload: Result<Multipart, MultipartRejection>,
) -> Result<Response, Problem> {
    let upload = upload.map_err(|_| Code::UnsupportedMediaType)?;
    let given = timeout(UPLOAD_TIMEOUT, read_form(upload)).await.map_err(|_| Code::RequestTimeout)??;
    let page = ImportPage::new(&visitor, true);
    let wrong = |code| Some(field_error(visitor.locale, code));
    let text = match text_of_file(if given.file.is_empty() { given.text.clone() } else { given.file }) {
        Some(text) => text,
        None => {
            let text = String::from_utf8_lossy(&given.text).replace('\0', "");
            return personal(StatusCode::UNPROCESSABLE_ENTITY, &ImportPage { text, wrong: wrong("bad_csv"), ..page });
        }
    };
    let file = GoodsFile::of(text, !given.is_confirmed);
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

/// The fields of the form.
#[derive(Default)]
struct GivenForm {
    text: Vec<u8>,
    /// An uploaded file counts instead of the text.
    file: Vec<u8>,
    is_confirmed: bool,
}

async fn read_form(mut upload: Multipart) -> Result<GivenForm, Problem> {
    let mut given = GivenForm::default();
    while let Some(mut field) = upload.next_field().await.map_err(|_| Code::BadRequest)? {
        let name = field.name().unwrap_or_default().to_owned();
        let mut bytes = Vec::new();
        while let Some(chunk) = field.chunk().await.map_err(|_| Code::BadRequest)? {
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(Code::TooLarge.into());
            }
            bytes.extend_from_slice(&chunk);
        }
        match name.as_str() {
            "text" => given.text = bytes,
            "file" => given.file = bytes,
            "do" => given.is_confirmed = bytes == b"import",
            _ => {}
        }
    }
    Ok(given)
}
