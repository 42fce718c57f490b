//! Several accounts: blocked, unblocked.

use crate::lists::bulk::{BulkAction, BulkFields, BulkForm, BulkItem, BulkPage, BulkVerdict, Picked, answer, missing};
use crate::prelude::*;
use accounts::administration::check_block_reason;
use store::{AccountChange, AccountChangeRefusal, User};

wire_enum! {
    /// What staff do with several accounts.
    pub enum BulkUserAction {
        Block = "block",
        Unblock = "unblock",
    }
}

impl BulkAction for BulkUserAction {
    const LIST: &'static str = "/admin/users";
    const BULK: &'static str = "/admin/users/bulk";

    fn texts(self, t: &Text) -> (&'static str, &'static str) {
        match self {
            BulkUserAction::Block => (t.people.block, t.bulk.users_block),
            BulkUserAction::Unblock => (t.people.unblock, t.bulk.users_unblock),
        }
    }

    fn undo(self) -> Option<BulkUserAction> {
        Some(if self == BulkUserAction::Block { BulkUserAction::Unblock } else { BulkUserAction::Block })
    }

    fn fields(self, t: &Text) -> BulkFields {
        if self == BulkUserAction::Block { BulkFields::Reason(t.people.reason) } else { BulkFields::None }
    }

    fn is_dangerous(self) -> bool {
        self == BulkUserAction::Block
    }
}

const LIST: &str = BulkUserAction::LIST;

type Visit = StaffVisit<SupportShoppers>;

/// The summary.
pub async fn summary((State(shop), _, visitor): Visit, LongForm(fields): LongForm<Vec<(String, String)>>) -> Answer {
    let Picked { action, ids, warning } = Picked::read(&visitor, &fields)?;
    let page = summary_of(&shop, &visitor, action, &ids).await?;
    answer(BulkPage { warning, ..page })
}

async fn summary_of(
    shop: &Shop,
    visitor: &Visitor,
    action: BulkUserAction,
    ids: &[UserId],
) -> Result<BulkPage, Problem> {
    let t = &words::text(visitor.locale).bulk;
    let mut items = Vec::new();
    for id in ids {
        let Some(user) = shop.store.accounts().user(*id).await? else {
            items.push(missing(visitor, id, LIST));
            continue;
        };
        let obstacle = match (action, user.is_blocked()) {
            _ if user.deleted_at.is_some() => Some(t.is_deleted),
            (BulkUserAction::Block, true) => Some(t.is_blocked),
            (BulkUserAction::Unblock, false) => Some(t.not_blocked),
            _ => None,
        };
        let verdict = obstacle.map_or(BulkVerdict::Will, |why| BulkVerdict::WillNot(why.to_owned()));
        items.push(item(visitor, &user, verdict));
    }
    Ok(BulkPage::new(visitor, action, items, true))
}

fn item(visitor: &Visitor, user: &User, verdict: BulkVerdict) -> BulkItem {
    let path = format!("{LIST}/{}?lang={}", user.id, visitor.locale);
    let role = words::text(visitor.locale).role(&user.role).to_owned();
    BulkItem::new(&user.id, path, user.username.clone(), role, verdict)
}

handlers! {
    act(visit: Visit, form: Form<BulkForm>)
    block BulkUserAction::Block;
    unblock BulkUserAction::Unblock;
}

async fn act((State(shop), staff, visitor): Visit, Form(form): Form<BulkForm>, action: BulkUserAction) -> Answer {
    let t = &words::text(visitor.locale).bulk;
    let ids = form.ids::<UserId>()?;
    let change = match action {
        BulkUserAction::Block => check_block_reason(&form.reason).map(|reason| AccountChange::Block { reason }),
        BulkUserAction::Unblock => Ok(AccountChange::Unblock),
    };
    let change = match change {
        Ok(change) if form.confirm == "yes" => change,
        change => {
            let mut page = summary_of(&shop, &visitor, action, &ids).await?;
            page.errors = form.errors(change.err().map(|code| ("reason", code)).into_iter().collect());
            page.reason = form.reason;
            return answer(page);
        }
    };
    let mut items = Vec::new();
    for id in &ids {
        let Some(user) = shop.store.accounts().user(*id).await? else {
            items.push(missing(&visitor, id, LIST));
            continue;
        };
        let is_blocked = matches!(change, AccountChange::Block { .. });
        let verdict = match user.is_blocked() == is_blocked {
            true => BulkVerdict::NotDone(t.changed.to_owned()),
            false => match shop.accounts.change_account(&staff.session, *id, &change).await {
                Ok(_) => BulkVerdict::Done,
                Err(refusal) => {
                    if let AccountChangeRefusal::Store(error) = &refusal {
                        warn!(user = %id, %error, %action, "one account of a batch failed; the others go on");
                    }
                    let code = Problem::from(refusal).code();
                    BulkVerdict::NotDone(words::problem(code.as_str()).text(visitor.locale).to_owned())
                }
            },
        };
        items.push(item(&visitor, &user, verdict));
    }
    answer(BulkPage::new(&visitor, action, items, false))
}
