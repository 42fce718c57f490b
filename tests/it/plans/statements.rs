//! The statements that the database got, and its notices about them, as sqlx logs them.

use std::fmt::Debug;
use std::sync::{Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// `None` while nothing is collected.
static COLLECTED: Mutex<Option<Vec<String>>> = Mutex::new(None);
static SUBSCRIBED: OnceLock<()> = OnceLock::new();

/// Collects statements until it ends. Only one may exist at a time.
pub struct Statements(());

impl Statements {
    pub fn begin() -> Statements {
        SUBSCRIBED.get_or_init(|| {
            let sqlx = Targets::new().with_target("sqlx", tracing::Level::TRACE);
            tracing_subscriber::registry().with(Collector.with_filter(sqlx)).init();
        });
        *COLLECTED.lock().unwrap() = Some(Vec::new());
        Statements(())
    }

    /// The distinct statements (SQLite) or plans (PostgreSQL).
    pub fn end(self) -> Vec<String> {
        let mut all = self.all();
        all.sort();
        all.dedup();
        all
    }

    /// Every statement or plan, in the order in which they were sent.
    pub fn all(self) -> Vec<String> {
        COLLECTED.lock().unwrap().take().unwrap_or_default()
    }
}

struct Collector;

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let text = if text.statement.trim().is_empty() { text.summary } else { text.statement };
        let begins = |words: &[&str]| words.iter().any(|word| text.trim_start().starts_with(word));
        if begins(&["SELECT", "WITH", "UPDATE", "INSERT", "DELETE", "duration:"])
            && let Some(collected) = COLLECTED.lock().unwrap().as_mut()
        {
            collected.push(text.trim().to_owned());
        }
    }
}

#[derive(Default)]
struct Text {
    statement: String,
    /// The statement, if it is short, or the message of a notice.
    summary: String,
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "db.statement" => value.clone_into(&mut self.statement),
            "summary" | "message" => value.clone_into(&mut self.summary),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.summary = format!("{value:?}");
        }
    }
}
