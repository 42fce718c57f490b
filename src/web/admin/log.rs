//! The log of what staff did.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use crate::domain::Locale;
use crate::store::{AuditFilter, AuditRow};
use crate::web::Shop;
use crate::web::extract::Query;
use crate::web::extract::session::{Look, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::pages::personal;
use crate::web::problem::{FieldProblem, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::validation::time;
use crate::web::views::AdminLogPage;

/// Entries of the log on one page.
pub const LOG_PAGE: i64 = 50;

/// The filter as typed.
#[derive(Debug, Default, Deserialize)]
pub struct LogQuery {
    #[serde(default)]
    pub actor: String,
    #[serde(default)]
    pub action: String,
    #[serde(default)]
    pub subject: String,
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub to: String,
    pub before: Option<String>,
}

impl LogQuery {
    /// What is asked for, and what of it cannot be read.
    pub fn filter(&self) -> (AuditFilter, Vec<FieldError>) {
        let mut errors = Vec::new();
        let mut moment = |field, text: &str| {
            let at = time(text).or_else(|| time(&format!("{}T00:00", text.trim())));
            if at.is_none() && !text.trim().is_empty() {
                errors.push(FieldError { field, code: "bad_time" });
            }
            at
        };
        let (from, to) = (moment("from", &self.from), moment("to", &self.to));
        let text = |text: &str| text.trim().to_owned();
        let filter = AuditFilter {
            actor: text(&self.actor),
            action: text(&self.action),
            subject: text(&self.subject),
            from,
            to,
        };
        (filter, errors)
    }

    fn is_blank(&self) -> bool {
        [&self.actor, &self.action, &self.subject, &self.from, &self.to].into_iter().all(|text| text.trim().is_empty())
    }

    /// The same question from further back.
    fn older(&self, locale: Locale, before: &str) -> String {
        let pairs = [
            ("lang", locale.to_string()),
            ("actor", self.actor.clone()),
            ("action", self.action.clone()),
            ("subject", self.subject.clone()),
            ("from", self.from.clone()),
            ("to", self.to.clone()),
            ("before", before.to_owned()),
        ];
        let kept = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        format!("/admin/log?{}", url::form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish())
    }
}

/// Where the log is about one thing only.
pub fn subject_path(locale: Locale, subject: &str) -> String {
    let subject: String = url::form_urlencoded::byte_serialize(subject.as_bytes()).collect();
    format!("/admin/log?lang={locale}&subject={subject}")
}

/// One page, newest first, and where the next one begins.
pub async fn page_of_log(shop: &Shop, query: &LogQuery) -> Result<(Vec<AuditRow>, Option<String>), Problem> {
    let (filter, errors) = query.filter();
    if !errors.is_empty() {
        return Err(Problem::invalid(errors.into_iter().map(FieldProblem::from).collect()));
    }
    if query.before.as_deref().is_some_and(|id| Uuid::try_parse(id).is_err()) {
        return Err(Problem::invalid_field("before", "bad_cursor"));
    }
    let mut rows = shop.store.audit_log(&filter, query.before.as_deref(), LOG_PAGE + 1).await?;
    let more = rows.len() as i64 > LOG_PAGE;
    rows.truncate(LOG_PAGE as usize);
    let next = rows.last().filter(|_| more).map(|row| row.id.clone());
    Ok((rows, next))
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(query): Query<LogQuery>,
) -> Result<Response, Problem> {
    let errors = query.filter().1;
    let (status, (rows, next)) = match errors.is_empty() {
        true => (StatusCode::OK, page_of_log(&shop, &query).await?),
        false => (StatusCode::UNPROCESSABLE_ENTITY, (Vec::new(), None)),
    };
    let actions = shop.store.audit_actions().await?;
    let older = next.map(|id| query.older(visitor.locale, &id));
    let filtered = !query.is_blank() || query.before.is_some();
    let LogQuery { actor, action, subject, from, to, .. } = query;
    let mut chrome = visitor.chrome();
    chrome.path = format!("/admin/log?lang={}", visitor.locale);
    personal(status, &AdminLogPage { chrome, rows, older, actions, filtered, actor, action, subject, from, to, errors })
}
