//! Actions on several orders, accounts or sales. A first form lists what will happen to each item, and which items the
//! action cannot apply to; a second form carries it out. Each item is acted on as on its own page, with its own line in
//! the audit log. So finished items stay done if a later one fails, and an item that changed after the first form is
//! left alone.

pub mod orders;
pub mod sales;
pub mod users;

use std::fmt::Display;

use crate::prelude::*;

/// Items of one batch. Each takes a transaction or more.
const MAX_ITEMS: usize = 100;

/// The form of a list: the button, and the ticked rows, each once. If they cannot be acted on, there are none, and `warning`
/// says why.
struct Picked<Id, Action> {
    action: Action,
    ids: Vec<Id>,
    warning: Option<&'static str>,
}

impl<Id: FromStr + PartialEq + Copy, Action: FromStr> Picked<Id, Action> {
    fn read(visitor: &Visitor, fields: &[(String, String)]) -> Result<Picked<Id, Action>, Problem> {
        let values = |key: &'static str| fields.iter().filter(move |(name, _)| name == key).map(|(_, value)| value);
        let action = values("action").next().and_then(|action| action.parse().ok());
        let action = action.ok_or_else(|| Problem::invalid_field("action", "unknown"))?;
        let ids: Option<Vec<Id>> = values("id").map(|id| id.parse().ok()).collect();
        let ids = distinct(&ids.ok_or_else(|| Problem::invalid_field("id", "bad_id"))?);
        let t = &words::text(visitor.locale).bulk;
        let warning = match ids.len() {
            0 => t.none,
            1..=MAX_ITEMS => return Ok(Picked { action, ids, warning: None }),
            _ => t.too_many,
        };
        Ok(Picked { action, ids: Vec::new(), warning: Some(warning) })
    }
}

inputs! {
    /// The form of the summary.
    BulkForm {
        /// Ids, separated by spaces.
        ids,
        reason, message,
        /// The number of items, typed. Only actions that cannot be undone and that many shoppers notice ask for it.
        typed,
        confirm,
    }
}

impl BulkForm {
    fn ids<Id: FromStr + PartialEq + Copy>(&self) -> Result<Vec<Id>, Problem> {
        let ids: Option<Vec<Id>> = self.ids.split_whitespace().map(|id| id.parse().ok()).collect();
        let ids = ids.filter(|ids| (1..=MAX_ITEMS).contains(&ids.len()));
        ids.map(|ids| distinct(&ids)).ok_or_else(|| Problem::invalid_field("ids", "bad_id"))
    }

    fn errors(&self, texts: Vec<(&'static str, &'static str)>) -> Vec<FieldError> {
        let mut errors: Vec<_> = texts.into_iter().map(|(field, code)| FieldError { field, code }).collect();
        if self.confirm != "yes" {
            errors.push(FieldError::new("sure", "not_confirmed"));
        }
        errors
    }
}

fn answer(page: BulkPage) -> Answer {
    let is_refused = page.warning.is_some() || !page.errors.is_empty();
    personal(if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }, &page)
}

/// The items in their order, each once.
fn distinct<Id: PartialEq + Copy>(ids: &[Id]) -> Vec<Id> {
    let mut distinct = Vec::with_capacity(ids.len());
    for id in ids {
        if !distinct.contains(id) {
            distinct.push(*id);
        }
    }
    distinct
}

/// An item that does not exist.
fn missing(visitor: &Visitor, id: &impl ToString, list: &str) -> BulkItem {
    let gone = BulkVerdict::NotDone(words::text(visitor.locale).bulk.gone.to_owned());
    BulkItem::new(id, format!("{list}?lang={}", visitor.locale), id.to_string(), String::new(), gone)
}

/// What staff do with several items of a list.
pub(crate) trait BulkAction: Copy + Display {
    const LIST: &'static str;
    /// Where the form of the list goes.
    const BULK: &'static str;

    /// The verb, and what the action does.
    fn texts(self, t: &Text) -> (&'static str, &'static str);

    /// The opposite action.
    fn undo(self) -> Option<Self>;

    fn fields(self, t: &Text) -> BulkFields;

    fn is_dangerous(self) -> bool;

    fn verb(self, t: &Text) -> &'static str {
        self.texts(t).0
    }
}

/// What happens to an item, or what happened. Refusals say why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkVerdict {
    Will,
    WillNot(String),
    Done,
    /// The action has begun, but is not done yet.
    Waits,
    NotDone(String),
}

/// An order, an account or a sale of the batch.
#[derive(Debug)]
pub struct BulkItem {
    pub id: String,
    pub path: String,
    pub name: String,
    /// Its amount, its role or its state.
    pub detail: String,
    pub verdict: BulkVerdict,
    /// What the action costs, or what is still to come.
    pub notes: Vec<String>,
    /// The opening time of a sale that is being announced.
    pub opens_at: Option<Timestamp>,
}

impl BulkItem {
    /// An item without notes.
    pub fn new(id: &impl ToString, path: String, name: String, detail: String, verdict: BulkVerdict) -> BulkItem {
        BulkItem { id: id.to_string(), path, name, detail, verdict, notes: Vec::new(), opens_at: None }
    }

    fn words<'a>(&'a self, t: &'a Text) -> &'a str {
        match &self.verdict {
            BulkVerdict::Will => t.bulk.will,
            BulkVerdict::Done => t.bulk.done,
            BulkVerdict::Waits => t.bulk.waits,
            BulkVerdict::WillNot(why) | BulkVerdict::NotDone(why) => why,
        }
    }

    fn mood(&self) -> &'static str {
        match self.verdict {
            BulkVerdict::Will | BulkVerdict::Done => "good",
            BulkVerdict::WillNot(_) | BulkVerdict::Waits => "calm",
            BulkVerdict::NotDone(_) => "bad",
        }
    }

    /// Whether the item is part of the batch: the action is still to come, or was done.
    fn is_part(&self) -> bool {
        matches!(self.verdict, BulkVerdict::Will | BulkVerdict::Done)
    }
}

/// The fields of the summary's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkFields {
    None,
    /// A reason for the buyer or for staff; its label says who reads it.
    Reason(&'static str),
    /// A reason for staff, and a message to the buyer.
    ReasonAndMessage,
    /// The number of items, typed.
    Count,
}

/// The summary of a batch, or its outcome.
#[derive(Debug, Template)]
#[template(path = "lists/bulk.html")]
pub struct BulkPage {
    pub chrome: Chrome,
    pub verb: &'static str,
    pub words: &'static str,
    pub list_path: String,
    /// Where the summary's form goes; `None` after the action.
    pub action: Option<String>,
    pub items: Vec<BulkItem>,
    pub fields: BulkFields,
    pub reason: String,
    pub message: String,
    pub errors: Vec<FieldError>,
    /// Why the batch cannot be acted on at all.
    pub warning: Option<&'static str>,
    /// After the action: the path, the name and the verb of the opposite action's summary.
    pub undo: Option<(&'static str, String, &'static str)>,
    pub is_dangerous: bool,
}

impl BulkPage {
    /// The summary, or after the action its outcome.
    fn new<Action: BulkAction>(visitor: &Visitor, action: Action, items: Vec<BulkItem>, is_summary: bool) -> BulkPage {
        let t = words::text(visitor.locale);
        let chrome = visitor.chrome_at(format!("{}?lang={}", Action::LIST, visitor.locale));
        let (verb, words) = action.texts(t);
        BulkPage {
            list_path: chrome.path.clone(),
            chrome,
            verb,
            words,
            action: is_summary.then(|| format!("{}/{action}", Action::BULK)),
            items,
            fields: action.fields(t),
            reason: String::new(),
            message: String::new(),
            errors: Vec::new(),
            warning: None,
            undo: action.undo().filter(|_| !is_summary).map(|undo| (Action::BULK, undo.to_string(), undo.verb(t))),
            is_dangerous: action.is_dangerous(),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &BulkItem> {
        self.items.iter().filter(|item| item.is_part())
    }

    /// The ids that the form carries.
    fn ids(&self) -> String {
        self.parts().map(|item| item.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn title(&self) -> String {
        fill(&fill(self.chrome.text().bulk.title, self.verb), self.items.len())
    }

    /// How many items the action is about to change, in its own words, or has changed; and how many it leaves out.
    fn summary(&self) -> String {
        let t = &self.chrome.text().bulk;
        let count = self.parts().count();
        let Some(path) = &self.action else { return fill(&fill(t.acted, count), self.items.len() - count) };
        let key = path.trim_start_matches("/admin/").replace("/bulk/", "_");
        let will =
            t.entries().find(|(name, _)| name.strip_prefix("will_") == Some(&key)).map_or("{}", |(_, will)| will);
        let left_out = Some(self.items.len() - count).filter(|left| *left > 0).map(|left| fill(t.left_out, left));
        let will = if count == 1 { will.replacen("s will ", " will ", 1) } else { will.to_owned() };
        fill(&will, count) + &left_out.unwrap_or_default()
    }

    fn outcome_failed(&self) -> bool {
        self.items.iter().any(|item| matches!(item.verdict, BulkVerdict::NotDone(_)))
    }
}
