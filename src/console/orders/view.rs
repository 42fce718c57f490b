//! The console's pages of orders.

use crate::linked_accounts::holds::HoldForm;
use crate::lists::bulk::BulkAction;
use crate::lists::bulk::orders::BulkOrderAction;
use crate::lists::saved_views::{ColumnLink, ListBar};
use crate::orders::page::OrderPageState;
use crate::orders::search::{OrderSearchQuery, TO_PACK};
use crate::orders::tabs;
use crate::prelude::*;
use crate::sales::form::for_time_field;
use domain::invoice::Invoice;
use domain::order::OrderStep;
use domain::parcel::{CARRIERS, CLOCK, ParcelStep, staff_steps};
use domain::{ApprovalStatus, DisputeState, GoodsReturn, OrderHold, Parcel, RefundTarget, ReturnState, ledger};
use store::{Approval, FoundOrder, FoundTotals, PaymentCase, PaymentRecord, WALLET};
use web::views::{AddressView, hold_events};

/// The orders that match a search.
#[derive(Debug, Template)]
#[template(path = "orders/console_orders.html")]
pub struct AdminOrdersPage {
    pub chrome: Chrome,
    pub rows: Vec<FoundOrder>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<String>,
    pub sales: Vec<(SaleId, String)>,
    /// The search as entered. A user's name or id is in `user`.
    pub query: OrderSearchQuery,
    pub errors: Vec<FieldError>,
    pub bar: ListBar,
    /// The totals over all pages of a search; `None` without a search.
    pub totals: Option<FoundTotals>,
    /// Whether the member of the staff may act on several orders.
    pub may_act: bool,
}

impl AdminOrdersPage {
    /// The lists of orders; the one that is shown, if the search has nothing but its filter.
    fn tabs(&self) -> Vec<Tab> {
        tabs(&self.chrome, &self.link_query())
    }

    /// Count, units and money of what the search finds.
    fn totals_words(&self) -> Option<String> {
        let t = &self.chrome.text().tables;
        let totals = self.totals.as_ref().filter(|totals| totals.orders > 0)?;
        let money: Vec<String> = totals.amounts.iter().map(Money::to_string).collect();
        let words = if totals.is_cut { t.found_more } else { t.found };
        Some(fill(&fill(&fill(words, grouped(totals.orders)), grouped(totals.units)), money.join(" + ")))
    }

    fn columns(&self) -> Vec<ColumnLink> {
        let s = &self.chrome.text().support;
        self.bar.columns(&[
            ("status", s.col_status),
            ("user", s.col_user),
            ("sale", s.col_sale),
            ("pieces", s.col_pieces),
            ("amount", s.col_amount),
        ])
    }

    fn bulk_actions(&self) -> [(BulkOrderAction, &'static str); 7] {
        BulkOrderAction::ALL.map(|action| (action, action.verb(self.chrome.text())))
    }

    fn sale_name(&self, id: &SaleId) -> String {
        let known = self.sales.iter().find(|(known, _)| known == id);
        known.map_or_else(|| id.to_string(), |(_, name)| format!("{id} · {name}"))
    }

    /// The query of links that preserve the search; empty without one.
    fn link_query(&self) -> String {
        link_query(self.query.filters())
    }

    /// Whether the fields of the search were used, more than by a tab.
    fn is_searched(&self) -> bool {
        !self.tabs().iter().any(|tab| tab.is_here)
    }

    /// The path of the export of the search.
    fn export_path(&self) -> String {
        let search = self.link_query();
        let separator = if search.is_empty() { "" } else { "&" };
        format!("/api/admin/orders.csv?lang={}{separator}{search}", self.chrome.locale)
    }

    /// The same, with the sort order and columns of the list, which the export does not have.
    fn page_query(&self) -> String {
        let OrderSearchQuery { sort, hide, .. } = &self.query;
        let shape = link_query([("sort", sort.as_str()), ("hide", hide)]);
        [self.link_query(), shape].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("&")
    }

    /// What the filter of parcels offers: the value, and its words.
    fn parcel_choices(&self) -> Vec<(&'static str, &'static str)> {
        let t = self.chrome.text();
        let states = ParcelState::ALL.into_iter().map(|state| match state {
            ParcelState::Packed => (state.as_str(), t.parcels.to_ship),
            state => (state.as_str(), t.parcel(&state)),
        });
        std::iter::once((TO_PACK, t.parcels.to_pack)).chain(states).collect()
    }

    /// All statuses but `reserved`, which the database does not have.
    fn statuses(&self) -> impl Iterator<Item = OrderStatus> + use<> {
        OrderStatus::ALL.into_iter().filter(|status| *status != OrderStatus::Reserved)
    }
}

/// One order with its history and payments.
#[derive(Debug, Template)]
#[template(path = "orders/console_order.html")]
pub struct AdminOrderPage {
    pub chrome: Chrome,
    pub order: Order,
    pub goods_name: String,
    pub username: Option<String>,
    pub steps: Vec<OrderStep>,
    pub payments: Vec<PaymentRecord>,
    /// What needs, or needed, attention about them.
    pub cases: Vec<PaymentCase>,
    /// Refunds that needed a second person, or wait for one.
    pub approvals: Vec<Approval>,
    /// The address of delivery, masked unless it is revealed.
    pub address: Option<AddressView>,
    /// Whether the order belongs to the member of the staff who reads the page.
    pub is_own: bool,
    /// Whether a payment of the order was disputed. A refund then has to be confirmed a second time.
    pub is_disputed: bool,
    /// Oldest first.
    pub holds: Vec<OrderHold>,
    pub parcel: Option<Parcel>,
    pub returned: Option<GoodsReturn>,
    pub invoice: Option<Invoice>,
    /// What another shop calls the order, if it was paid there.
    pub reference: Option<String>,
    pub(crate) shown: OrderPageState,
}

impl AdminOrderPage {
    /// The order's own number: requests on its page are about itself.
    fn number_of(&self, _: &OrderId) -> String {
        self.order.number_text()
    }

    /// Forms of cases are shown again on the list of cases.
    fn entered(&self, _: &PaymentCase, _: &str) -> Option<&str> {
        None
    }

    /// Whether an action on a case has to be confirmed because a payment is or was disputed.
    fn asks(&self, case: &PaymentCase, verb: &str) -> bool {
        verb == "refund" && self.is_disputed && case.order_in_question().is_some()
    }

    fn parcel_state(&self) -> Option<ParcelState> {
        self.parcel.as_ref().map(Parcel::state)
    }

    fn was_paid(&self) -> bool {
        self.reference.is_none() && self.steps.iter().any(|step| step.event.status == OrderStatus::Paid)
    }

    fn parcel_version(&self) -> i64 {
        self.parcel.as_ref().map_or(0, Parcel::version)
    }

    /// The steps, and whether each moved the parcel. The others corrected its label.
    fn parcel_timeline(&self) -> Vec<(&ParcelStep, bool)> {
        let Some(parcel) = &self.parcel else { return Vec::new() };
        let mut before = None;
        let is_move = |step: &ParcelStep| before.replace(step.state) != Some(step.state);
        let moves: Vec<bool> = parcel.steps.iter().map(is_move).collect();
        parcel.steps.iter().zip(moves).collect()
    }

    /// Whether there is anything to show or to do about the parcel. What another shop sold, it also sends.
    fn has_parcel(&self) -> bool {
        self.parcel.is_some() || self.order.status == OrderStatus::Paid && self.reference.is_none()
    }

    /// Whether the money goes back while the parcel is still in the shop: it must not be sent.
    fn is_to_unpack(&self) -> bool {
        self.order.status != OrderStatus::Paid && self.parcel_state() == Some(ParcelState::Packed)
    }

    /// Whether the goods are not in the shop, so that their units cannot go back on sale.
    fn is_away(&self) -> bool {
        self.order.status == OrderStatus::Paid && self.parcel_state().is_some_and(|state| !state.is_with_shop())
    }

    /// Whether the order cannot be sent because nobody knows where to.
    fn lacks_address(&self) -> bool {
        self.order.address.is_none() && self.parcel_state().is_none_or(ParcelState::is_with_shop)
    }

    /// Where staff may say that the parcel is.
    fn parcel_steps(&self) -> Vec<ParcelState> {
        staff_steps(self.order.status, self.lasting_hold().is_none() && !self.lacks_address(), self.parcel_state())
    }

    /// The same without the step that asks for carrier and number.
    fn plain_steps(&self) -> Vec<ParcelState> {
        self.parcel_steps().into_iter().filter(|to| *to != ParcelState::Shipped).collect()
    }

    fn carrier(&self) -> Option<&str> {
        self.parcel.as_ref()?.label().carrier_name(self.chrome.locale)
    }

    fn known_carriers(&self) -> impl Iterator<Item = &'static str> + use<> {
        let locale = self.chrome.locale;
        CARRIERS.iter().map(move |carrier| carrier.name(locale))
    }

    /// The forms that ask for carrier and number: the state to which each leads, its verb and its explanation.
    fn label_forms(&self) -> Vec<(ParcelState, &'static str, &'static str)> {
        let t = &self.chrome.text().parcels;
        let sends = self.parcel_steps().contains(&ParcelState::Shipped);
        let correct = self.parcel_state().filter(|_| self.order.status == OrderStatus::Paid);
        let ship = sends.then_some((ParcelState::Shipped, t.ship, t.ship_text));
        ship.into_iter().chain(correct.map(|state| (state, t.correct, t.correct_text))).collect()
    }

    /// The carrier and the number that the form begins with.
    fn entered_label(&self) -> (String, String) {
        let entered = &self.shown.parcel;
        if !entered.errors.is_empty() {
            return (entered.carrier.clone(), entered.number.clone());
        }
        let number = self.parcel.as_ref().and_then(|parcel| parcel.label().number.clone());
        (self.carrier().unwrap_or_default().to_owned(), number.unwrap_or_default())
    }

    fn return_label(&self) -> Option<&str> {
        self.returned.as_ref()?.label.carrier_name(self.chrome.locale)
    }

    /// The forms that answer a return and apply now: last segment of the path, verb, explanation, label.
    fn return_answers(&self) -> Vec<[&'static str; 4]> {
        let t = &self.chrome.text().returns;
        let state = self.returned.as_ref().map(|known| known.state);
        let accept = (state == Some(ReturnState::Asked)).then_some(["accept", t.accept, t.accept_text, t.accept_words]);
        let is_open = state.is_some_and(ReturnState::is_open) && !self.return_waits();
        accept.into_iter().chain(is_open.then_some(["refuse", t.refuse, t.refuse_text, t.refuse_words])).collect()
    }

    /// What can be refunded for goods that staff may receive now.
    fn receivable(&self) -> Option<Money> {
        let accepted = self.returned.as_ref().filter(|known| known.state == ReturnState::Accepted);
        accepted.and_then(|_| self.refundable()).filter(|_| !self.return_waits())
    }

    /// Whether the refund of the return waits for a second person.
    fn return_waits(&self) -> bool {
        let waits = |approval: &Approval| approval.restock.is_some() && approval.status == ApprovalStatus::Pending;
        self.approvals.iter().any(waits)
    }

    fn return_error(&self, verb: &str, field: &str) -> Option<&'static str> {
        let form = &self.shown.returned;
        (form.verb == verb).then(|| self.text_of(&form.errors, field)).flatten()
    }

    /// The hold that has not ended.
    fn lasting_hold(&self) -> Option<&OrderHold> {
        self.holds.last().filter(|hold| hold.end.is_none() && self.order.status.is_live())
    }

    /// Whether there is anything to show or to do about a hold.
    fn shows_holds(&self) -> bool {
        !self.holds.is_empty() || self.order.status.is_live() && self.shown.may_act && !self.is_own
    }

    /// The forms that hold or release the order and apply now.
    fn hold_forms(&self) -> Vec<HoldForm> {
        let t = &self.chrome.text().holds;
        let form = |action, verb, words| HoldForm { action, verb, words, ..HoldForm::default() };
        match self.lasting_hold() {
            Some(hold) => {
                let uphold = hold.open_appeal().map(|_| form("uphold", t.uphold, t.uphold_text));
                uphold.into_iter().chain([form("release", t.release, t.release_text)]).collect()
            }
            None if self.order.status.is_live() => vec![form("hold", t.hold, t.hold_text)],
            None => Vec::new(),
        }
    }

    /// What can still be refunded of a paid order. It may be nothing.
    fn refundable(&self) -> Option<Money> {
        let captured = self.payments.iter().find(|line| line.payment.status == PaymentStatus::Captured)?;
        Some(captured.payment.refundable()).filter(|_| self.order.status == OrderStatus::Paid)
    }

    /// Whether there is a choice where the money of a partial refund goes.
    fn chooses_target(&self) -> bool {
        let by_wallet = self.payments.iter().any(|line| line.payment.provider == WALLET);
        !by_wallet && self.order.amount.currency == ledger::CURRENCY
    }

    /// The amount that is left, after partial refunds only.
    fn rest(&self) -> Option<Money> {
        let left = self.refundable()?;
        (left != self.order.amount).then_some(left)
    }

    fn waiting(&self) -> &'static str {
        problem("awaits_approval").text(self.chrome.locale)
    }

    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().support;
        match self.shown.done.as_str() {
            "cancel" => Some(t.done_cancel),
            "refund" => Some(t.done_refund),
            "refund-part" => Some(t.done_refund_part),
            "asked" => Some(self.chrome.text().approvals.asked),
            "hold" => Some(self.chrome.text().holds.done_one_hold),
            "release" => Some(self.chrome.text().holds.done_one_release),
            "uphold" => Some(self.chrome.text().holds.done_uphold),
            "parcel" => Some(self.chrome.text().parcels.done),
            "return" => Some(self.chrome.text().returns.done),
            "received" => Some(self.chrome.text().returns.done_received),
            _ => None,
        }
    }

    /// The action that the status allows: last segment of the path, label, explanation.
    fn action(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let t = &self.chrome.text().support;
        match self.order.status {
            OrderStatus::Unpaid => Some(("cancel", t.cancel, t.cancel_text)),
            OrderStatus::Paid if self.reference.is_some() => Some(("refund", t.end_elsewhere, t.end_elsewhere_text)),
            OrderStatus::Paid => Some(("refund", t.refund, t.refund_text)),
            _ => None,
        }
    }

    /// What is wrong with a field of one of the forms.
    fn text_of(&self, errors: &[FieldError], field: &str) -> Option<&'static str> {
        let error = errors.iter().find(|e| e.field == field)?;
        match error.code {
            "not_confirmed" => Some(problem(error.code).text(self.chrome.locale)),
            code => Some(field_error(self.chrome.locale, code)),
        }
    }

    fn reveal_error(&self) -> Option<&'static str> {
        self.shown.reveal.error.map(|code| field_error(self.chrome.locale, code))
    }

    fn reason(&self) -> Option<&str> {
        let t = &self.chrome.text().support;
        Some(match self.order.reason.as_deref()? {
            "by_shop" => t.reason_by_shop,
            "by_owner" => t.reason_by_owner,
            "unpaid" => t.reason_unpaid,
            "sold_out" => t.reason_sold_out,
            "repeated" => t.reason_repeated,
            other => other,
        })
    }

    /// The actor of a step. A step without a member of the staff implies its actor.
    fn actor<'a>(&self, step: &'a OrderStep) -> &'a str {
        let t = &self.chrome.text().support;
        match (&step.actor, step.event.status, self.order.reason.as_deref()) {
            (Some(actor), ..) => actor,
            (None, OrderStatus::Reserved, _) => t.by_owner,
            (None, OrderStatus::Cancelled, Some("by_owner")) => t.by_owner,
            (None, OrderStatus::Cancelled, Some("unpaid")) => t.by_clock,
            (None, OrderStatus::Paid | OrderStatus::Refunded, _) => t.by_provider,
            _ => t.by_shop,
        }
    }
}
