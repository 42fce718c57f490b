//! What staff do with one held order: hold, release, answer to an appeal. A program does it in the name of a member of the
//! staff. Its refund uses the same form as for any order.

use crate::orders::api::{OWN_ORDER, OneOrder, detail, existing_order};
use crate::orders::page::{OrderPageState, StaffActionForm, page};
use crate::prelude::*;
use domain::order::check_hold_reason;
use orders::holds::{HoldAction, HoldCounts, HoldOutcome};
use store::AuditReason;

/// Why an order is held or released. Its owner reads it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// Shown to the owner of the order, as it is.
    #[schemars(length(min = 1, max = 300))]
    reason: String,
}

type Call = StaffCallTo<SupportShoppers, OrderId>;

handlers! {
    change(call: Call, request: Json<HoldRequest>)
    hold HoldAction::Hold;
    release HoldAction::Release;
}

/// Acts on one order. Doing it twice changes nothing more.
async fn change(
    (State(shop), staff, PathIds(id)): Call,
    Json(HoldRequest { reason }): Json<HoldRequest>,
    action: HoldAction,
) -> Answer {
    let order = existing_order(&shop, id).await?;
    let reason = check_hold_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    match shop.orders.change_hold(&order, action, staff.session.user_id, reason).await? {
        HoldOutcome::Done | HoldOutcome::Unchanged => detail(&shop, id).await,
        HoldOutcome::OwnOrder => Err(Problem::new(Code::Yourself).detail(OWN_ORDER)),
        HoldOutcome::OrderEnded | HoldOutcome::Waits => Err(Code::ChangedMeanwhile.into()),
    }
}

type Visit = StaffVisitTo<SupportShoppers, OrderId>;

handlers! {
    change_by_form(visit: Visit, form: Form<ReasonForm>)
    hold_by_form ("hold", HoldAction::Hold);
    release_by_form ("release", HoldAction::Release);
    uphold_by_form ("uphold", HoldAction::Uphold);
}

async fn change_by_form(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    Form(form): Form<ReasonForm>,
    (name, action): (&'static str, HoldAction),
) -> Answer {
    let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
    let reason = match HoldFormState::check(name, form.reason, &form.confirm) {
        Ok(reason) => reason,
        Err(hold_form) => {
            let state = OrderPageState { hold_form, ..OrderPageState::acting() };
            return page(&shop, &visitor, order, StatusCode::UNPROCESSABLE_ENTITY, state).await;
        }
    };
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    let path = format!("/admin/orders/{id}?lang={}", visitor.locale);
    match shop.orders.change_hold(&order, action, staff.session.user_id, reason).await? {
        HoldOutcome::Done => Ok(see_other(&format!("{path}&done={name}"))),
        HoldOutcome::OwnOrder => Err(Problem::new(Code::Yourself).back(path)),
        HoldOutcome::Unchanged | HoldOutcome::OrderEnded | HoldOutcome::Waits => {
            let order = shop.store.orders().order_with_id(id).await?.ok_or(Code::NotFound)?;
            let form = StaffActionForm { changed: true, ..StaffActionForm::default() };
            page(&shop, &visitor, order, StatusCode::CONFLICT, OrderPageState { form, ..OrderPageState::acting() })
                .await
        }
    }
}

/// A form for one action on one or several orders.
#[derive(Debug, Default)]
pub struct HoldForm {
    /// The last segment of the form's address.
    pub action: &'static str,
    pub verb: &'static str,
    pub words: &'static str,
    /// The orders that it acts on, as the member of the staff has seen them. Empty if the address names the order.
    pub orders: Vec<OrderId>,
    pub units: u64,
    pub amount: Option<Money>,
    /// The page of the group that lists the orders: the last member on the page before.
    pub after: Option<UserId>,
    pub is_dangerous: bool,
}

impl HoldForm {
    /// The ids for the hidden field.
    pub fn order_ids(&self) -> String {
        let ids: Vec<String> = self.orders.iter().map(OrderId::to_string).collect();
        ids.join(" ")
    }

    /// The orders, units and money that it acts on.
    pub fn summary(&self, t: &Text) -> String {
        let mut parts = vec![fill(t.holds.summary_orders, self.orders.len()), fill(t.holds.summary_units, self.units)];
        parts.extend(self.amount.map(|amount| amount.to_string()));
        parts.join(" · ")
    }
}

/// A form that was not carried out, as entered.
#[derive(Debug, Default)]
pub struct HoldFormState {
    /// The action of the form; empty for none.
    pub action: String,
    pub reason: String,
    /// The code that says what is wrong with the reason.
    pub error: Option<&'static str>,
    pub is_unsure: bool,
}

impl HoldFormState {
    /// The checked reason of a confirmed form, or the state in which the form is shown again.
    pub fn check(action: &str, reason: String, confirm: &str) -> Result<String, HoldFormState> {
        let is_unsure = confirm != "yes";
        match check_hold_reason(&reason) {
            Ok(checked) if !is_unsure => Ok(checked),
            checked => Err(HoldFormState { action: action.to_owned(), reason, error: checked.err(), is_unsure }),
        }
    }

    pub fn is_of(&self, form: &HoldForm) -> bool {
        self.action == form.action
    }

    /// The reason as entered, if it was entered in this form.
    pub fn reason_of(&self, form: &HoldForm) -> &str {
        if self.is_of(form) { &self.reason } else { "" }
    }

    /// What is wrong with the reason in this form.
    pub fn error_of(&self, form: &HoldForm, chrome: &Chrome) -> Option<&'static str> {
        self.error.filter(|_| self.is_of(form)).map(|code| field_error(chrome.locale, code))
    }

    /// What is wrong with the form.
    pub fn complaint(&self, chrome: &Chrome) -> Option<&'static str> {
        match self.error {
            Some(code) => Some(field_error(chrome.locale, code)),
            None => self.is_unsure.then(|| problem("not_confirmed").text(chrome.locale)),
        }
    }
}

/// What an action did, as lines.
#[derive(Debug)]
pub struct HoldNotice(pub Vec<String>);

impl HoldNotice {
    pub fn of(t: &Text, action: &str, counts: HoldCounts) -> Option<HoldNotice> {
        let t = &t.holds;
        let done = match action {
            "hold" => t.done_hold,
            "release" => t.done_release,
            "refund" => t.done_refund,
            _ => return None,
        };
        let others = [
            (t.count_unchanged, counts.unchanged),
            (t.count_ended, counts.ended),
            (t.count_own, counts.own),
            (t.count_waits, counts.waits),
        ];
        let others = others.into_iter().filter(|(_, count)| *count > 0).map(|(words, count)| fill(words, count));
        Some(HoldNotice(std::iter::once(fill(done, counts.done)).chain(others).collect()))
    }
}

web::operations! { "administrators"
    /// Keep an order from delivery until a question is answered
    ///
    /// Repeating it changes nothing.
    POST "/api/admin/orders/{order}/hold" holdOrder = hold;
        200 OneOrder, "The order with its timeline and payments.";
        refuses ChangedMeanwhile Yourself;
    /// End the hold of an order
    ///
    /// Repeating it changes nothing.
    POST "/api/admin/orders/{order}/release" releaseOrder = release;
        200 OneOrder, "The order with its timeline and payments.";
        refuses ChangedMeanwhile Yourself;
}
