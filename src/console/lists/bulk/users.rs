//! Several accounts: blocked, unblocked.

use tracing::warn;

use crate::StaffVisit;
use crate::lists::bulk::{
    BulkFields, BulkForm, BulkItem, BulkPage, BulkUserAction, BulkVerdict, PickedForm, answer, distinct, missing,
    size_warning,
};
use accounts::administration::check_block_reason;
use domain::UserId;
use store::{AccountChange, AccountChangeRefusal, User};
use web::extract::{Form, LongForm, State, SupportShoppers, Visitor};
use web::{Answer, Problem, Shop};

const LIST: &str = "/admin/users";
const BULK: &str = "/admin/users/bulk";

type Visit = StaffVisit<SupportShoppers>;

/// The summary.
pub async fn summary((State(shop), _, visitor): Visit, LongForm(fields): LongForm<Vec<(String, String)>>) -> Answer {
    let PickedForm { ids, action } = PickedForm::<UserId, BulkUserAction>::read(&fields)?;
    let ids = distinct(&ids);
    let warning = size_warning(&visitor, ids.len());
    let mut page = summary_of(&shop, &visitor, action, if warning.is_some() { &[] } else { &ids }).await?;
    page.warning = warning;
    answer(page)
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
    Ok(page(visitor, action, items, Some(format!("{BULK}/{action}"))))
}

fn item(visitor: &Visitor, user: &User, verdict: BulkVerdict) -> BulkItem {
    let path = format!("{LIST}/{}?lang={}", user.id, visitor.locale);
    let role = words::text(visitor.locale).role(&user.role).to_owned();
    BulkItem::new(&user.id, path, user.username.clone(), role, verdict)
}

fn page(visitor: &Visitor, action: BulkUserAction, items: Vec<BulkItem>, form: Option<String>) -> BulkPage {
    let t = words::text(visitor.locale);
    let chrome = visitor.chrome_at(format!("{LIST}?lang={}", visitor.locale));
    let undo = action.undo();
    BulkPage {
        undo: form.is_none().then(|| (BULK, undo.as_str(), undo.verb(t))),
        fields: if action == BulkUserAction::Block { BulkFields::Reason } else { BulkFields::None },
        reason_label: t.people.reason,
        is_dangerous: action == BulkUserAction::Block,
        ..BulkPage::new(chrome, (action.verb(t), action.words(t)), items, form)
    }
}

pub async fn block(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    let change = check_block_reason(&form.reason).map(|reason| AccountChange::Block { reason });
    act(visit, BulkUserAction::Block, change, form).await
}

pub async fn unblock(visit: Visit, Form(form): Form<BulkForm>) -> Answer {
    act(visit, BulkUserAction::Unblock, Ok(AccountChange::Unblock), form).await
}

async fn act(
    (State(shop), staff, visitor): Visit,
    action: BulkUserAction,
    change: Result<AccountChange, &'static str>,
    form: BulkForm,
) -> Answer {
    let t = &words::text(visitor.locale).bulk;
    let ids = distinct(&form.ids::<UserId>()?);
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
    answer(page(&visitor, action, items, None))
}
