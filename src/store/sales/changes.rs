//! Changes of a sale that staff can make, and their rules. This module is pure; the transactions are in the parent.

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use sqlx::AssertSqlSafe;

use crate::{RequestId, SaleStore, StoreError, StoreResult, Tx, column};
use domain::ledger::{CURRENCY, DEPOSIT_LIMITS};
use domain::sale::{SaleMove, WrongState};
use domain::{
    AuditAction, DrawPlan, EligibilityRules, GoodsId, Money, Rush, Sale, SaleId, SaleMode, SalePatch, SaleState,
    WaitingRoomPlan, Window,
};

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
    pub mode: SaleMode,
    pub eligibility: EligibilityRules,
}

/// The highest price in minor units. Sums of prices stay far from overflowing.
const MAX_PRICE: i64 = 1_000_000_000_000;
/// The largest amount of one order in minor units: numbers in JSON are exact up to here.
const MAX_ORDER_AMOUNT: i64 = (1 << 53) - 1;

impl SaleDraft {
    /// The sale as it begins: nothing is sold, and no seed is drawn.
    pub fn sale(&self, id: SaleId, state: SaleState) -> Sale {
        Sale {
            id,
            goods_id: self.goods_id,
            price: self.price,
            list_price: self.list_price,
            total: self.total,
            sold: 0,
            granted: 0,
            per_user_limit: self.per_user_limit,
            window: self.window,
            rush: self.rush,
            mode: self.mode,
            eligibility: self.eligibility,
            state,
            version: 1,
            epoch: 0,
            shadow: false,
            spread_seed: None,
        }
    }

    /// The invalid fields, each with a code.
    pub fn mistakes(&self) -> Vec<(&'static str, &'static str)> {
        let prices = 0..=MAX_PRICE;
        let currency = self.price.currency;
        let list_price_is_right =
            self.list_price.is_none_or(|list| prices.contains(&list.amount) && list.currency == currency);
        let total_known = self.total >= 1 && self.per_user_limit >= 1;
        let largest_order = i128::from(self.price.amount) * i128::from(self.per_user_limit);
        let order = self.window.opens_at.zip(self.window.closes_at);
        let ages = self.eligibility.accounts_before.zip(self.window.opens_at);
        let checks = [
            (prices.contains(&self.price.amount), "price", "bad_price"),
            (list_price_is_right, "list_price", "bad_price"),
            ((1..=MAX_SALE_UNITS).contains(&self.total), "total", "bad_number"),
            (self.per_user_limit >= 1, "per_user_limit", "bad_number"),
            (!total_known || self.per_user_limit <= self.total, "per_user_limit", "bad_limit"),
            (largest_order <= i128::from(MAX_ORDER_AMOUNT), "per_user_limit", "amount_too_large"),
            ((1..=Rush::MAX_BUCKETS).contains(&self.rush.buckets), "buckets", "bad_buckets"),
            ((0..=MAX_SALE_UNITS).contains(&self.rush.lot), "lot", "bad_lot"),
            ((0..=Rush::MAX_SPREAD_MS).contains(&self.rush.spread_ms), "spread_ms", "bad_spread"),
            (order.is_none_or(|(opens, closes)| opens < closes), "closes_at", "window_order"),
            (ages.is_none_or(|(before, opens)| before <= opens), "accounts_before", "after_opening"),
            (!order.is_some_and(|window| self.outlasts(window)), "spread_ms", "spread_beyond_end"),
            (self.has_right_deposit(), "deposit", "bad_deposit"),
        ];
        checks
            .into_iter()
            .chain(self.queue_checks())
            .chain(self.draw_checks())
            .filter(|(is_right, ..)| !is_right)
            .map(|(_, field, code)| (field, code))
            .collect()
    }
}

impl SaleDraft {
    /// Wallets hold one currency, so only a sale in it can ask for a deposit.
    fn has_right_deposit(&self) -> bool {
        let is_right = |deposit: Money| {
            deposit.currency == CURRENCY && self.price.currency == CURRENCY && DEPOSIT_LIMITS.contains(&deposit.amount)
        };
        self.eligibility.deposit.is_none_or(is_right)
    }

    /// The times of a waiting room follow from the opening.
    fn queue_checks(&self) -> impl Iterator<Item = (bool, &'static str, &'static str)> + use<> {
        let has_opening = self.window.opens_at.is_some();
        let checks = self.mode.waiting_room_plan().map(|plan| {
            [
                (has_opening, "opens_at", "queue_opening"),
                (WaitingRoomPlan::PREQUEUE_S.contains(&plan.prequeue_s), "queue_prequeue_s", "bad_queue_prequeue"),
                (WaitingRoomPlan::GATHER_S.contains(&plan.gather_s), "queue_gather_s", "bad_queue_gather"),
                (WaitingRoomPlan::SEAT_S.contains(&plan.seat_s), "queue_seat_s", "bad_queue_seat"),
            ]
        });
        checks.into_iter().flatten()
    }

    /// A draw gives one unit to each winner, and its rules name both ends of its window.
    fn draw_checks(&self) -> impl Iterator<Item = (bool, &'static str, &'static str)> + use<> {
        let (limit, Window { opens_at, closes_at }) = (self.per_user_limit, self.window);
        let checks = self.mode.draw_plan().map(|plan| {
            [
                (limit == 1, "per_user_limit", "draw_one_each"),
                (opens_at.is_some(), "opens_at", "draw_window"),
                (closes_at.is_some(), "closes_at", "draw_window"),
                (DrawPlan::WINDOW_S.contains(&plan.window_s), "draw_window_s", "bad_draw_window"),
                (DrawPlan::REVIEW_S.contains(&plan.review_s), "draw_review_s", "bad_draw_review"),
            ]
        });
        checks.into_iter().flatten()
    }

    /// Whether an enforced spread lasts longer than the sale. Some accounts could then never buy.
    fn outlasts(&self, (opens, closes): (Timestamp, Timestamp)) -> bool {
        let width = SignedDuration::from_millis(self.rush.spread_ms);
        opens < closes && self.rush.enforces_spread() && closes.duration_since(opens) < width
    }
}

impl From<&Sale> for SaleDraft {
    fn from(sale: &Sale) -> SaleDraft {
        SaleDraft {
            goods_id: sale.goods_id,
            price: sale.price,
            list_price: sale.list_price,
            total: sale.total,
            per_user_limit: sale.per_user_limit,
            window: sale.window,
            rush: sale.rush,
            mode: sale.mode,
            eligibility: sale.eligibility,
        }
    }
}

impl SaleDraft {
    /// What a new sale has where nothing else is given.
    pub fn blank() -> SaleDraft {
        SaleDraft {
            goods_id: GoodsId(0),
            price: Money::new(0, CURRENCY),
            list_price: None,
            total: 0,
            per_user_limit: 0,
            window: Window { opens_at: None, closes_at: None },
            rush: Rush::default(),
            mode: SaleMode::Rush,
            eligibility: EligibilityRules::default(),
        }
    }

    /// Replaces the values that the patch contains.
    pub fn with(self, patch: &SalePatch) -> SaleDraft {
        SaleDraft {
            goods_id: patch.goods_id.unwrap_or(self.goods_id),
            price: patch.price.unwrap_or(self.price),
            list_price: patch.list_price.unwrap_or(self.list_price),
            total: patch.total.unwrap_or(self.total),
            per_user_limit: patch.per_user_limit.unwrap_or(self.per_user_limit),
            window: Window {
                opens_at: patch.opens_at.unwrap_or(self.window.opens_at),
                closes_at: patch.closes_at.unwrap_or(self.window.closes_at),
            },
            rush: self.rush.with(patch.buckets, patch.lot, patch.spread_ms),
            mode: self.mode.with(patch),
            eligibility: self.eligibility.with(patch),
        }
    }
}

/// The definition that an edit gives a sale.
#[derive(Debug, Clone)]
pub enum Redefinition {
    /// All fields, as a form sends them.
    Whole(SaleDraft),
    Patch(SalePatch),
}

/// How a sale is saved.
#[derive(Debug, Clone, Default)]
pub struct SaveOptions {
    pub announce: Announce,
    pub overlap: OverlapPolicy,
    /// The idempotency key of a rendered form. If it is submitted twice, only one sale is created.
    pub form_key: Option<String>,
    /// The versions of the sale that may be edited; `None` for any. An edit of another version is refused.
    pub versions: Option<Vec<i64>>,
    /// Whether the sale belongs to a rehearsal. Edits do not change it.
    pub shadow: bool,
}

/// Whether shoppers see the sale after saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Announce {
    /// The sale is scheduled if it has an opening time, otherwise it is a draft.
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
    /// Adds units, or takes units back that are not sold if the number is negative.
    TopUp {
        units: i64,
        /// The id of the request. All attempts of one request add units only once.
        request: Option<RequestId>,
    },
    /// Replaces the number of units. With `versions`, only if the sale has one of them.
    SetTotal {
        total: i64,
        versions: Option<Vec<i64>>,
    },
    /// Announces a draft.
    Schedule(OverlapPolicy),
    /// Changes the definition of a sale that has not begun.
    Edit(Box<Redefinition>, SaveOptions),
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
    #[error("the sale has changed since it was read")]
    ChangedMeanwhile,
    #[error("a sale that is loaded keeps its buckets")]
    SplitFixed,
    #[error("only a draft can be deleted")]
    NotADraft,
    #[error("too many units")]
    TooMany,
    #[error("more units are sold already")]
    BelowSold,
    /// Buckets of a running split sale have the units, and may be selling them.
    #[error("buckets of the running sale have the units")]
    UnitsAllotted,
    /// The stock backend cannot say now whether so few units are booked.
    #[error("the stock cannot be lowered at the moment: {0}")]
    StockAway(String),
    /// Invalid fields, each with a code.
    #[error("invalid fields: {0:?}")]
    Invalid(Vec<(&'static str, &'static str)>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The largest number of units of one sale. Sums of units stay far below an overflow of `i64`.
pub const MAX_SALE_UNITS: i64 = 1_000_000_000;

impl SaleChange {
    /// The change as the audit log names it.
    pub(super) fn audit_action(&self) -> AuditAction {
        match self {
            SaleChange::Start { .. } => AuditAction::Start,
            SaleChange::Move(action) => match action {
                SaleMove::Schedule => AuditAction::Schedule,
                SaleMove::Unschedule => AuditAction::Unschedule,
                SaleMove::Start => AuditAction::Start,
                SaleMove::Pause => AuditAction::Pause,
                SaleMove::Resume => AuditAction::Resume,
                SaleMove::Stop => AuditAction::Stop,
            },
            SaleChange::TopUp { units: 0.., .. } => AuditAction::TopUp,
            SaleChange::TopUp { .. } | SaleChange::SetTotal { .. } => AuditAction::Edit,
            SaleChange::Schedule(_) => AuditAction::Schedule,
            SaleChange::Edit(..) => AuditAction::Edit,
        }
    }

    /// The request for which the change may be made only once.
    pub(super) fn request(&self) -> Option<RequestId> {
        match self {
            SaleChange::TopUp { request, .. } => *request,
            _ => None,
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

    /// Whether the change is refused if the goods are archived.
    pub(super) fn needs_goods(&self) -> bool {
        matches!(self, SaleChange::Start { .. } | SaleChange::Schedule(_) | SaleChange::Edit(..))
    }

    /// The sale after the change, or why it is refused.
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
            SaleChange::TopUp { units, .. } => after.total = with_total(before, before.total.saturating_add(*units))?,
            SaleChange::SetTotal { versions: Some(known), .. } if !known.contains(&before.version) => {
                return Err(SaleRefusal::ChangedMeanwhile);
            }
            SaleChange::SetTotal { total, .. } => after.total = with_total(before, *total)?,
            SaleChange::Schedule(_) => {
                after.state = before.state.after(SaleMove::Schedule)?;
                if after.window.closes_at.is_some_and(|closes| closes <= now) {
                    return Err(SaleRefusal::HasClosed);
                }
                if after.window.opens_at.is_some_and(|opens| opens <= now) {
                    return Err(SaleRefusal::InPast);
                }
            }
            SaleChange::Edit(definition, options) => {
                if !before.state.is_planned() {
                    return Err(SaleRefusal::HasBegun);
                }
                let is_outdated = options.versions.as_ref().is_some_and(|known| !known.contains(&before.version));
                let draft = match &**definition {
                    Redefinition::Whole(draft) => draft.clone(),
                    Redefinition::Patch(_) if is_outdated => return Err(SaleRefusal::ChangedMeanwhile),
                    Redefinition::Patch(patch) => SaleDraft::from(before).with(patch),
                };
                let mistakes = draft.mistakes();
                if !mistakes.is_empty() {
                    return Err(SaleRefusal::Invalid(mistakes));
                }
                // `ByWindow` must not undo a deliberate choice, such as a draft with an opening time or a scheduled
                // sale without one.
                let same_kind = before.window.opens_at.is_some() == draft.window.opens_at.is_some();
                if options.announce != Announce::ByWindow || !same_kind {
                    after.state = saved_state(&draft, options.announce);
                }
                let Sale { state, version, sold, granted, epoch, shadow, spread_seed, .. } = after;
                after = Sale { version, sold, granted, epoch, shadow, spread_seed, ..draft.sale(before.id, state) };
                if after.eligibility != before.eligibility && before.is_joined(now) {
                    return Err(SaleRefusal::HasBegun);
                }
                if after.rush.buckets != before.rush.buckets && before.epoch > 0 {
                    return Err(SaleRefusal::SplitFixed);
                }
                // A form that is submitted twice meets its own change, so an identical definition is not a conflict.
                if is_outdated && *before != (Sale { version: before.version, ..after.clone() }) {
                    return Err(SaleRefusal::ChangedMeanwhile);
                }
            }
        }
        Ok(after)
    }
}

/// The number of units, if the sale can have it by what the database knows.
fn with_total(sale: &Sale, total: i64) -> Result<i64, SaleRefusal> {
    if sale.state == SaleState::Ended {
        return Err(WrongState { from: sale.state, action: SaleMove::Resume }.into());
    }
    // Entrants of a draw were told how many units there are at least.
    if total < sale.total && sale.mode.is_draw() && !sale.state.is_planned() {
        return Err(SaleRefusal::HasBegun);
    }
    match total {
        _ if total < sale.sold => Err(SaleRefusal::BelowSold),
        ..1 => Err(SaleRefusal::Invalid(vec![("total", "bad_number")])),
        1..=MAX_SALE_UNITS => Ok(total),
        _ => Err(SaleRefusal::TooMany),
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

// The catalogue's revision: a number that increases with every change of goods or sales. Its row is the lock of the
// catalogue.

/// Raises the revision and locks the catalogue until the end of the transaction.
pub(crate) async fn touch(tx: &mut Tx) -> sqlx::Result<()> {
    tx.run(query!("UPDATE catalogue SET revision = revision + 1 WHERE id = 1")).await
}

/// Like `touch`, and takes the next number of a counter.
pub(crate) async fn next_id(tx: &mut Tx, counter: &'static str) -> sqlx::Result<i64> {
    let sql =
        format!("UPDATE catalogue SET revision = revision + 1, {counter} = {counter} + 1 RETURNING {counter} AS id");
    tx.one(query!(AssertSqlSafe(sql)), column("id")).await
}

#[boxed]
impl SaleStore<'_> {
    /// The current revision.
    pub async fn revision(self) -> StoreResult<i64> {
        self.one(query!("SELECT revision FROM catalogue WHERE id = 1"), column("revision")).await
    }
}
