//! Actions on several orders, accounts or sales. A first form lists what will happen to each item, and which items the
//! action cannot apply to; a second form carries it out. Each item is acted on as on its own page, with its own line in
//! the audit log. So finished items stay done if a later one fails, and an item that changed after the first form is
//! left alone.

pub mod orders;
pub mod sales;
pub mod users;

use std::str::FromStr;

use askama::Template;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;

use domain::sale::SaleMove;
use domain::wire::wire_enum;
use domain::{ParcelState, SaleState};
use pages::{Chrome, filters};
use web::extract::Visitor;
use web::{Answer, FieldError, Problem, error_text, personal};
use words::{Text, fill};

/// Items of one batch. Each takes a transaction or more.
const MAX_ITEMS: usize = 100;

/// The form of a list: the ticked rows, and the button.
struct PickedForm<Id, Action> {
    ids: Vec<Id>,
    action: Action,
}

impl<Id: FromStr, Action: FromStr> PickedForm<Id, Action> {
    fn read(fields: &[(String, String)]) -> Result<PickedForm<Id, Action>, Problem> {
        let values = |key: &'static str| fields.iter().filter(move |(name, _)| name == key).map(|(_, value)| value);
        let action = values("action").next().and_then(|action| action.parse().ok());
        let action = action.ok_or_else(|| Problem::invalid_field("action", "unknown"))?;
        let ids: Result<Vec<Id>, _> = values("id").map(|id| id.parse()).collect();
        Ok(PickedForm { ids: ids.map_err(|_| Problem::invalid_field("id", "bad_id"))?, action })
    }
}

/// The form of the summary.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct BulkForm {
    /// Ids, separated by spaces.
    ids: String,
    reason: String,
    message: String,
    /// The number of items, typed. Only actions that cannot be undone and that many shoppers notice ask for it.
    typed: String,
    confirm: String,
}

impl BulkForm {
    fn ids<Id: FromStr>(&self) -> Result<Vec<Id>, Problem> {
        let ids: Option<Vec<Id>> = self.ids.split_whitespace().map(|id| id.parse().ok()).collect();
        let ids = ids.filter(|ids| (1..=MAX_ITEMS).contains(&ids.len()));
        ids.ok_or_else(|| Problem::invalid_field("ids", "bad_id"))
    }

    fn errors(&self, texts: Vec<(&'static str, &'static str)>) -> Vec<FieldError> {
        let mut errors: Vec<_> = texts.into_iter().map(|(field, code)| FieldError { field, code }).collect();
        if self.confirm != "yes" {
            errors.push(FieldError::new("sure", "not_confirmed"));
        }
        errors
    }
}

/// Why a batch of this size cannot be acted on.
fn size_warning(visitor: &Visitor, count: usize) -> Option<&'static str> {
    let t = &words::text(visitor.locale).bulk;
    match count {
        0 => Some(t.none),
        count if count > MAX_ITEMS => Some(t.too_many),
        _ => None,
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

wire_enum! {
    /// What staff do with several orders.
    pub enum BulkOrderAction {
        Pack = "pack",
        Ship = "ship",
        Deliver = "deliver",
        Cancel = "cancel",
        Refund = "refund",
        Hold = "hold",
        Release = "release",
    }
}

wire_enum! {
    /// What staff do with several accounts.
    pub enum BulkUserAction {
        Block = "block",
        Unblock = "unblock",
    }
}

wire_enum! {
    /// What staff do with several sales.
    pub enum BulkSaleAction {
        Schedule = "schedule",
        Unschedule = "unschedule",
        Pause = "pause",
        Resume = "resume",
        Stop = "stop",
        Delete = "delete",
    }
}

impl BulkSaleAction {
    /// The same move on one sale; `None` for the deletion of a draft.
    pub fn sale_move(self) -> Option<SaleMove> {
        match self {
            BulkSaleAction::Schedule => Some(SaleMove::Schedule),
            BulkSaleAction::Unschedule => Some(SaleMove::Unschedule),
            BulkSaleAction::Pause => Some(SaleMove::Pause),
            BulkSaleAction::Resume => Some(SaleMove::Resume),
            BulkSaleAction::Stop => Some(SaleMove::Stop),
            BulkSaleAction::Delete => None,
        }
    }

    pub fn verb(self, t: &Text) -> &'static str {
        self.sale_move().map_or(t.sales.delete, |action| t.verb(&action))
    }

    pub fn words(self, t: &Text) -> &'static str {
        self.sale_move().map_or(t.sales.delete_text, |action| t.consequence(&action))
    }

    pub fn is_allowed_in(self, state: SaleState) -> bool {
        self.sale_move().map_or(state == SaleState::Draft, |action| state.after(action).is_ok())
    }

    /// The opposite action.
    pub fn undo(self) -> Option<BulkSaleAction> {
        match self {
            BulkSaleAction::Schedule => Some(BulkSaleAction::Unschedule),
            BulkSaleAction::Unschedule => Some(BulkSaleAction::Schedule),
            BulkSaleAction::Pause => Some(BulkSaleAction::Resume),
            BulkSaleAction::Resume => Some(BulkSaleAction::Pause),
            BulkSaleAction::Stop | BulkSaleAction::Delete => None,
        }
    }
}

impl BulkOrderAction {
    pub fn verb(self, t: &Text) -> &'static str {
        match self {
            BulkOrderAction::Pack => t.parcels.pack,
            BulkOrderAction::Ship => t.parcels.ship,
            BulkOrderAction::Deliver => t.parcels.deliver,
            BulkOrderAction::Cancel => t.support.cancel,
            BulkOrderAction::Refund => t.support.refund,
            BulkOrderAction::Hold => t.holds.hold,
            BulkOrderAction::Release => t.holds.release,
        }
    }

    pub fn words(self, t: &Text) -> &'static str {
        match self {
            BulkOrderAction::Pack => t.bulk.orders_pack,
            BulkOrderAction::Ship => t.bulk.orders_ship,
            BulkOrderAction::Deliver => t.bulk.orders_deliver,
            BulkOrderAction::Cancel => t.bulk.orders_cancel,
            BulkOrderAction::Refund => t.bulk.orders_refund,
            BulkOrderAction::Hold => t.bulk.orders_hold,
            BulkOrderAction::Release => t.bulk.orders_release,
        }
    }

    /// The opposite action.
    pub fn undo(self) -> Option<BulkOrderAction> {
        match self {
            BulkOrderAction::Hold => Some(BulkOrderAction::Release),
            BulkOrderAction::Release => Some(BulkOrderAction::Hold),
            _ => None,
        }
    }

    pub fn ends_orders(self) -> bool {
        matches!(self, BulkOrderAction::Cancel | BulkOrderAction::Refund)
    }

    /// Where the action says that the parcels are.
    pub fn parcel(self) -> Option<ParcelState> {
        match self {
            BulkOrderAction::Pack => Some(ParcelState::Packed),
            BulkOrderAction::Ship => Some(ParcelState::Shipped),
            BulkOrderAction::Deliver => Some(ParcelState::Delivered),
            _ => None,
        }
    }

    /// Whether the buyer reads the reason. Other actions have a reason for staff, and a message to the buyer.
    pub fn is_hold(self) -> bool {
        matches!(self, BulkOrderAction::Hold | BulkOrderAction::Release)
    }
}

impl BulkUserAction {
    pub fn verb(self, t: &Text) -> &'static str {
        match self {
            BulkUserAction::Block => t.people.block,
            BulkUserAction::Unblock => t.people.unblock,
        }
    }

    pub fn words(self, t: &Text) -> &'static str {
        match self {
            BulkUserAction::Block => t.bulk.users_block,
            BulkUserAction::Unblock => t.bulk.users_unblock,
        }
    }

    pub fn undo(self) -> BulkUserAction {
        match self {
            BulkUserAction::Block => BulkUserAction::Unblock,
            BulkUserAction::Unblock => BulkUserAction::Block,
        }
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
    /// A reason for the buyer or for staff.
    Reason,
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
    /// The label of the reason, which says who reads it.
    pub reason_label: &'static str,
    pub reason: String,
    pub message: String,
    pub errors: Vec<FieldError>,
    /// Why the batch cannot be acted on at all.
    pub warning: Option<&'static str>,
    /// After the action: the path, the name and the verb of the opposite action's summary.
    pub undo: Option<(&'static str, &'static str, &'static str)>,
    pub is_dangerous: bool,
}

impl BulkPage {
    /// A page without fields and errors. With an `action`, it is the summary, whose form goes there; without one, the
    /// outcome.
    pub fn new(
        chrome: Chrome,
        (verb, words): (&'static str, &'static str),
        items: Vec<BulkItem>,
        action: Option<String>,
    ) -> BulkPage {
        BulkPage {
            list_path: chrome.path.clone(),
            chrome,
            verb,
            words,
            action,
            items,
            fields: BulkFields::None,
            reason_label: "",
            reason: String::new(),
            message: String::new(),
            errors: Vec::new(),
            warning: None,
            undo: None,
            is_dangerous: false,
        }
    }

    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
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

    fn can_act(&self) -> bool {
        self.action.is_some() && self.warning.is_none() && self.parts().next().is_some()
    }

    fn outcome_failed(&self) -> bool {
        self.items.iter().any(|item| matches!(item.verdict, BulkVerdict::NotDone(_)))
    }
}
