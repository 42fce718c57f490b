//! Changes of a sale: what staff can save and change, and the rules for it. Pure; the transactions are in the parent.

use jiff::Timestamp;

use crate::domain::sale::{SaleMove, WrongState};
use crate::domain::{GoodsId, Money, Rush, Sale, SaleId, SaleState, Window};
use crate::store::StoreError;

/// The definition of a new or edited sale.
#[derive(Debug, Clone)]
pub struct SaleDraft {
    pub goods_id: GoodsId,
    pub price: Money,
    pub list_price: Option<Money>,
    pub total: i64,
    pub per_user_limit: i64,
    pub window: Window,
    pub rush: Rush,
}

/// How a sale is saved.
#[derive(Debug, Clone, Default)]
pub struct SaveOptions {
    pub announce: Announce,
    pub overlap: OverlapPolicy,
    /// The idempotency key of a rendered form: submitted twice, it creates one sale.
    pub form_key: Option<String>,
    /// The version that was edited. An edit of an outdated version is refused.
    pub version: Option<i64>,
    /// Whether the sale belongs to a rehearsal. Edits do not change it.
    pub shadow: bool,
}

/// Whether shoppers see the sale after saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Announce {
    /// Scheduled if it has an opening time, otherwise a draft.
    #[default]
    ByWindow,
    Draft,
    Schedule,
}

/// Whether the same goods may be in two sales at the same time. Windows without an opening time, drafts, ended sales,
/// and sales that run until they are stopped by hand overlap with nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverlapPolicy {
    #[default]
    Allow,
    Refuse,
}

/// A change to a sale.
#[derive(Debug, Clone)]
pub enum SaleChange {
    /// Opens the sale at `at`, regardless of its opening time.
    Start {
        at: Timestamp,
    },
    Move(SaleMove),
    TopUp {
        units: i64,
    },
    /// Announces a draft.
    Schedule(OverlapPolicy),
    /// Replaces the definition of a sale that has not begun.
    Edit(SaleDraft, SaveOptions),
}

/// Why a change was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SaleRefusal {
    #[error("there is no such sale")]
    NoSuchSale,
    #[error("there are no such goods")]
    NoSuchGoods,
    #[error("the goods are archived")]
    GoodsArchived,
    #[error(transparent)]
    WrongState(#[from] WrongState),
    #[error("a sale that has begun can only be topped up")]
    HasBegun,
    #[error("the closing time has passed")]
    HasClosed,
    #[error("the opening time has passed")]
    InPast,
    #[error("the same goods are on sale at that time in sale {0}")]
    Overlap(SaleId),
    #[error("the sale was changed meanwhile")]
    ChangedMeanwhile,
    #[error("a sale that is loaded keeps its buckets")]
    SplitFixed,
    #[error("only a draft can be deleted")]
    NotADraft,
    #[error("too many units")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for SaleRefusal {
    fn from(error: sqlx::Error) -> Self {
        SaleRefusal::Store(error.into())
    }
}

/// The largest number of units of one sale. Sums of units stay far below an overflow of `i64`.
pub const MAX_SALE_UNITS: i64 = 1_000_000_000;

impl SaleChange {
    /// The change's name in the audit log.
    pub(super) fn audit_name(&self) -> &'static str {
        match self {
            SaleChange::Start { .. } => "start",
            SaleChange::Move(action) => action.as_str(),
            SaleChange::TopUp { .. } => "top-up",
            SaleChange::Schedule(_) => SaleMove::Schedule.as_str(),
            SaleChange::Edit(..) => "edit",
        }
    }

    /// Whether the change is refused if the sale would overlap with another one.
    pub(super) fn refuses_overlap(&self) -> bool {
        match self {
            SaleChange::Schedule(overlap) => *overlap == OverlapPolicy::Refuse,
            SaleChange::Edit(_, options) => options.overlap == OverlapPolicy::Refuse,
            _ => false,
        }
    }

    /// The sale after a change, or why the change is refused.
    pub(super) fn apply(&self, before: &Sale, now: Timestamp) -> Result<Sale, SaleRefusal> {
        let mut after = before.clone();
        after.version += 1;
        match self {
            SaleChange::Start { at } => {
                after.state = before.state.after(SaleMove::Start)?;
                after.window.opens_at = Some(before.window.opens_at.map_or(*at, |opens| opens.min(*at)));
                if after.window.closes_at.is_some_and(|closes| closes <= now) {
                    return Err(SaleRefusal::HasClosed);
                }
            }
            SaleChange::Move(action) => {
                after.state = before.state.after(*action)?;
                if after.state == SaleState::Ended {
                    after.window.closes_at = Some(before.window.closes_at.map_or(now, |closes| closes.min(now)));
                }
            }
            SaleChange::TopUp { units } => {
                if before.state == SaleState::Ended {
                    return Err(WrongState { from: before.state, action: SaleMove::Resume }.into());
                }
                after.total = before.total.saturating_add(*units);
                if after.total > MAX_SALE_UNITS {
                    return Err(SaleRefusal::TooMany);
                }
            }
            SaleChange::Schedule(_) => {
                after.state = before.state.after(SaleMove::Schedule)?;
                if after.window.closes_at.is_some_and(|closes| closes <= now) {
                    return Err(SaleRefusal::HasClosed);
                }
                if after.window.opens_at.is_some_and(|opens| opens <= now) {
                    return Err(SaleRefusal::InPast);
                }
            }
            SaleChange::Edit(draft, options) => {
                if !before.state.is_planned() {
                    return Err(SaleRefusal::HasBegun);
                }
                let draft = draft.clone();
                // `ByWindow` must not undo a deliberate choice: a draft that has an opening time, or a scheduled sale
                // without one.
                let same_kind = before.window.opens_at.is_some() == draft.window.opens_at.is_some();
                if options.announce != Announce::ByWindow || !same_kind {
                    after.state = saved_state(&draft, options.announce);
                }
                after.goods_id = draft.goods_id;
                after.price = draft.price;
                after.list_price = draft.list_price;
                after.total = draft.total;
                after.per_user_limit = draft.per_user_limit;
                after.window = draft.window;
                after.rush = draft.rush;
                if after.rush.buckets != before.rush.buckets && before.epoch > 0 {
                    return Err(SaleRefusal::SplitFixed);
                }
                // A form that is submitted twice meets its own change; an identical definition is not a conflict.
                let is_outdated = options.version.is_some_and(|version| version != before.version);
                if is_outdated && *before != (Sale { version: before.version, ..after.clone() }) {
                    return Err(SaleRefusal::ChangedMeanwhile);
                }
            }
        }
        Ok(after)
    }
}

/// The state in which a draft is saved.
pub(super) fn saved_state(draft: &SaleDraft, announce: Announce) -> SaleState {
    match announce {
        Announce::ByWindow if draft.window.opens_at.is_some() => SaleState::Scheduled,
        Announce::Schedule => SaleState::Scheduled,
        Announce::ByWindow | Announce::Draft => SaleState::Draft,
    }
}
