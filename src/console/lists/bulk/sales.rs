//! Several sales: announced, made drafts again, paused, resumed, stopped, deleted.

use tokio::time::Instant;

use crate::lists::bulk::{BulkAction, BulkFields, BulkForm, BulkItem, BulkPage, BulkVerdict, Picked, answer, missing};
use crate::prelude::*;
use control::sales_admin::{AppliedParts, SaleCommand, SalePreview, SaleStakes, stock_deadline};
use domain::sale::SaleMove;
use store::{OverlapPolicy, SaleRefusal, WaitingCounts};

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
    fn sale_move(self) -> Option<SaleMove> {
        match self {
            BulkSaleAction::Schedule => Some(SaleMove::Schedule),
            BulkSaleAction::Unschedule => Some(SaleMove::Unschedule),
            BulkSaleAction::Pause => Some(SaleMove::Pause),
            BulkSaleAction::Resume => Some(SaleMove::Resume),
            BulkSaleAction::Stop => Some(SaleMove::Stop),
            BulkSaleAction::Delete => None,
        }
    }

    pub fn is_allowed_in(self, state: SaleState) -> bool {
        self.sale_move().map_or(state == SaleState::Draft, |action| state.after(action).is_ok())
    }
}

impl BulkAction for BulkSaleAction {
    const LIST: &'static str = "/admin";
    const BULK: &'static str = "/admin/sales/bulk";

    fn texts(self, t: &Text) -> (&'static str, &'static str) {
        let delete = (t.sales.delete, t.sales.delete_text);
        self.sale_move().map_or(delete, |action| (t.verb(&action), t.consequence(&action)))
    }

    fn undo(self) -> Option<BulkSaleAction> {
        match self {
            BulkSaleAction::Schedule => Some(BulkSaleAction::Unschedule),
            BulkSaleAction::Unschedule => Some(BulkSaleAction::Schedule),
            BulkSaleAction::Pause => Some(BulkSaleAction::Resume),
            BulkSaleAction::Resume => Some(BulkSaleAction::Pause),
            BulkSaleAction::Stop | BulkSaleAction::Delete => None,
        }
    }

    fn fields(self, _: &Text) -> BulkFields {
        if self == BulkSaleAction::Stop { BulkFields::Count } else { BulkFields::None }
    }

    fn is_dangerous(self) -> bool {
        matches!(self, BulkSaleAction::Stop | BulkSaleAction::Delete)
    }
}

const LIST: &str = BulkSaleAction::LIST;

/// The summary.
pub async fn summary(
    (State(shop), _, visitor): StaffVisit<ManageSales>,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let Picked { action, ids, warning } = Picked::read(&visitor, &fields)?;
    let page = summary_of(&shop, &visitor, action, &ids).await?;
    answer(BulkPage { warning, ..page })
}

async fn summary_of(
    shop: &Shop,
    visitor: &Visitor,
    action: BulkSaleAction,
    ids: &[SaleId],
) -> Result<BulkPage, Problem> {
    let previews = shop.sales_admin.preview_batch(ids, command(action).as_ref()).await?;
    let mut items = Vec::new();
    for (id, preview) in ids.iter().zip(previews) {
        let Some(SalePreview { sale, goods_name: name, outcome }) = preview else {
            items.push(missing(visitor, id, LIST));
            continue;
        };
        items.push(match outcome {
            Ok(stakes) => BulkItem {
                notes: costs(visitor, action, &sale, stakes),
                opens_at: sale.window.opens_at.filter(|_| action == BulkSaleAction::Schedule),
                ..item(visitor, &sale, name.as_ref(), BulkVerdict::Will)
            },
            Err(refusal) => item(visitor, &sale, name.as_ref(), BulkVerdict::WillNot(why(visitor, &sale, refusal))),
        });
    }
    Ok(BulkPage::new(visitor, action, items, true))
}

/// The command for each sale; `None` for the deletion of drafts.
fn command(action: BulkSaleAction) -> Option<SaleCommand> {
    match action {
        BulkSaleAction::Schedule => Some(SaleCommand::Schedule(OverlapPolicy::Refuse)),
        BulkSaleAction::Unschedule => Some(SaleCommand::Unschedule),
        BulkSaleAction::Pause => Some(SaleCommand::Pause),
        BulkSaleAction::Resume => Some(SaleCommand::Resume),
        BulkSaleAction::Stop => Some(SaleCommand::Stop),
        BulkSaleAction::Delete => None,
    }
}

/// What shoppers lose by an action that takes the sale away from them.
fn costs(visitor: &Visitor, action: BulkSaleAction, sale: &Sale, stakes: SaleStakes) -> Vec<String> {
    let t = &words::text(visitor.locale).bulk;
    let is_stop = action == BulkSaleAction::Stop;
    let (unsold, unpaid) = if is_stop { (stakes.unsold, stakes.unpaid) } else { (0, 0) };
    let WaitingCounts { in_line, on_waitlist, entries, reminders } = stakes.waiting;
    // The reminders of a sale that has opened were sent already.
    let reminders = if sale.state == SaleState::Scheduled { reminders } else { 0 };
    let lost = [
        (t.unsold, unsold),
        (t.unpaid, unpaid),
        (t.in_line, in_line),
        (t.on_waitlist, on_waitlist),
        (if is_stop { t.entries_void } else { t.entries }, entries),
        (t.reminders, reminders),
    ];
    let counted = match action {
        BulkSaleAction::Schedule | BulkSaleAction::Resume => &lost[..0],
        BulkSaleAction::Pause => &lost[2..5],
        BulkSaleAction::Unschedule | BulkSaleAction::Stop | BulkSaleAction::Delete => &lost[..],
    };
    counted.iter().filter(|(_, count)| *count > 0).map(|(words, count)| fill(words, count)).collect()
}

/// Why a sale stays as it is.
fn why(visitor: &Visitor, sale: &Sale, refusal: SaleRefusal) -> String {
    let t = words::text(visitor.locale);
    let of_problem = |code: &str| words::problem(code).text(visitor.locale).to_owned();
    match refusal {
        SaleRefusal::NoSuchSale => t.bulk.gone.to_owned(),
        SaleRefusal::WrongState(wrong) => fill(t.bulk.is_status, t.state(&wrong.from)),
        SaleRefusal::NotADraft => fill(t.bulk.is_status, t.state(&sale.state)),
        SaleRefusal::HasClosed => t.bulk.has_closed.to_owned(),
        SaleRefusal::InPast => of_problem("in_past"),
        SaleRefusal::Overlap(other) => fill(t.bulk.overlaps, other),
        refusal => of_problem(Problem::from(refusal).code().as_str()),
    }
}

fn item(visitor: &Visitor, sale: &Sale, name: Option<&Bilingual>, verdict: BulkVerdict) -> BulkItem {
    let t = words::text(visitor.locale);
    let number = fill(t.admin.sale_number, sale.id);
    let path = format!("/admin/sales/{}?lang={}", sale.id, visitor.locale);
    let name = name.map_or(number.clone(), |name| format!("{number} · {}", name.get(visitor.locale)));
    BulkItem::new(&sale.id, path, name, t.state(&sale.state).to_owned(), verdict)
}

/// Carries out the action of the summary.
pub async fn act(
    (State(shop), staff, visitor, PathIds(action)): StaffVisitTo<ManageSales, BulkSaleAction>,
    Form(form): Form<BulkForm>,
) -> Answer {
    let ids = form.ids::<SaleId>()?;
    let errors = form.errors(count_error(action, &form, ids.len()).into_iter().collect());
    if !errors.is_empty() {
        let page = summary_of(&shop, &visitor, action, &ids).await?;
        return answer(BulkPage { errors, ..page });
    }
    let deadline = stock_deadline();
    let mut items = Vec::new();
    for id in &ids {
        let acted = one(&shop, &staff, &visitor, action, *id, deadline).await;
        items.push(acted.unwrap_or_else(|error| {
            warn!(sale = %id, %error, %action, "one sale of a batch failed; the others go on");
            let failed = words::text(visitor.locale).bulk.failed.to_owned();
            BulkItem { verdict: BulkVerdict::NotDone(failed), ..missing(&visitor, id, LIST) }
        }));
    }
    shop.sales_admin.announce_sales().await;
    answer(BulkPage::new(&visitor, action, items, false))
}

/// Before sales are stopped, their number has to be typed, just as one sale's number before it is stopped.
fn count_error(action: BulkSaleAction, form: &BulkForm, count: usize) -> Option<(&'static str, &'static str)> {
    let is_asked = action == BulkSaleAction::Stop;
    (is_asked && form.typed.trim() != count.to_string()).then_some(("typed", "bad_count"))
}

async fn one(
    shop: &Shop,
    staff: &Staff<ManageSales>,
    visitor: &Visitor,
    action: BulkSaleAction,
    id: SaleId,
    deadline: Instant,
) -> Result<BulkItem, SaleRefusal> {
    let Some(before) = shop.store.sales().get(id).await? else { return Ok(missing(visitor, &id, LIST)) };
    let name = shop.store.goods().get(before.goods_id).await?.map(|goods| goods.name);
    let changed = match command(action) {
        Some(command) => {
            let changed = shop.sales_admin.change_in_batch(id, command, staff.actor(), deadline).await;
            changed.map(|changed| (Some(changed.sale), partly(visitor, changed.applied)))
        }
        None => shop.sales_admin.delete_draft_in_batch(id, staff.actor()).await.map(|()| (None, Vec::new())),
    };
    match changed {
        Ok((Some(sale), notes)) => Ok(BulkItem { notes, ..item(visitor, &sale, name.as_ref(), BulkVerdict::Done) }),
        Ok((None, _)) => {
            let path = format!("{LIST}?lang={}", visitor.locale);
            Ok(BulkItem { path, ..item(visitor, &before, name.as_ref(), BulkVerdict::Done) })
        }
        Err(SaleRefusal::Store(error)) => Err(error.into()),
        Err(refusal) => Ok(item(visitor, &before, name.as_ref(), BulkVerdict::NotDone(why(visitor, &before, refusal)))),
    }
}

/// How many parts of the stock have the change; nothing if all have it.
fn partly(visitor: &Visitor, AppliedParts { parts, applied }: AppliedParts) -> Vec<String> {
    let words = words::text(visitor.locale).sales.done_partly;
    if applied == parts { Vec::new() } else { vec![fill(&fill(words, applied), parts)] }
}
