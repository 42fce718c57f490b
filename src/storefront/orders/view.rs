//! A shopper's orders.

use askama::Template;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;

use crate::addresses::AddressCard;
use crate::orders::invoice::InvoiceFormState;
use crate::orders::returns::ReturnForm;
use domain::invoice::Invoice;
use domain::order::MAX_APPEAL_CHARS;
use domain::order::OrderEvent;
use domain::parcel::{CARRIERS, ParcelMover, may_step};
use domain::returns::MAX_RETURN_CHARS;
use domain::staff::ShopPageName;
use domain::{
    GoodsReturn, ModeName, Money, Order, OrderHold, OrderStatus, Parcel, ParcelState, Picture, ReturnReason,
    ReturnState, SaleId,
};
use pages::onward::OnwardSale;
use pages::{Chrome, filters};
use store::{PartialRefund, WALLET};
use web::error_text;
use web::shared::orders::parse_statuses;
use web::views::{AddressView, HoldEvent, hold_events};
use words::{field_error, fill};

/// One order in the list.
#[derive(Debug)]
pub struct OrderCard {
    pub order: Order,
    pub goods_name: String,
    pub picture: Option<Picture>,
    /// Whether the last attempt to pay was declined.
    pub payment_declined: bool,
    pub parcel: Option<Parcel>,
    /// When it was paid, if the shop is about to send it.
    pub goes_out_since: Option<Timestamp>,
}

/// When the shop promised to send an order that was paid then, or that it has not done so in time.
fn ships_by(chrome: &Chrome, paid_at: Timestamp) -> Option<String> {
    let t = &chrome.text().shipping;
    let by = chrome.shop.ships_by(paid_at)?;
    Some(fill(if by < chrome.today() { t.late } else { t.by }, chrome.day(by)))
}

/// The status whose colour an order has: a parcel that is lost or came back looks like an order that did.
fn tone(status: OrderStatus, parcel: Option<ParcelState>) -> OrderStatus {
    match parcel {
        Some(ParcelState::Lost) => OrderStatus::Rejected,
        Some(ParcelState::Returned) => OrderStatus::RefundPending,
        _ => status,
    }
}

impl OrderCard {
    fn tone(&self) -> OrderStatus {
        tone(self.order.status, self.parcel_state())
    }

    /// Where the parcel of a paid order is.
    fn parcel_state(&self) -> Option<ParcelState> {
        self.parcel.as_ref().map(Parcel::state).filter(|_| self.order.status == OrderStatus::Paid)
    }

    fn is_unpaid(&self) -> bool {
        self.order.status == OrderStatus::Unpaid
    }
}

/// A shopper's orders, newest first.
#[derive(Debug, Template)]
#[template(path = "orders/orders.html")]
pub struct OrdersPage {
    pub chrome: Chrome,
    pub orders: Vec<OrderCard>,
    /// A cursor for `?before=`; `None` on the last page.
    pub older: Option<String>,
    /// The statuses that are shown, as in the query; empty for all.
    pub filter: String,
    /// The statuses of all orders of the shopper; `None` if there are too many to count.
    pub counted: Option<Vec<OrderStatus>>,
    /// Sales that the shopper waits for, with the names of their goods.
    pub waits: Vec<(SaleId, String)>,
    /// Whether this is not the first page.
    pub is_later: bool,
    /// Whether a payment provider is on.
    pub online: bool,
    /// Sales to go on to, for a shopper without orders.
    pub onward: Vec<OnwardSale>,
}

impl OrdersPage {
    fn filters(&self) -> [(&'static str, &'static str); 5] {
        let t = self.chrome.text();
        [
            ("", t.common.all),
            ("unpaid", t.orders.filter_unpaid),
            ("paid", t.account.status_paid),
            ("cancelled,rejected", t.account.status_cancelled),
            ("refund_pending,refunded", t.orders.filter_refunds),
        ]
    }

    /// The number of orders behind a filter. `None` for zero, which is not shown.
    fn count_of(&self, filter: &str) -> Option<usize> {
        let wanted = parse_statuses(filter).unwrap_or_default();
        let counted = self.counted.as_ref()?;
        let count = counted.iter().filter(|status| wanted.is_empty() || wanted.contains(*status)).count();
        (count > 0).then_some(count)
    }

    fn ships_by(&self, card: &OrderCard) -> Option<String> {
        ships_by(&self.chrome, card.goes_out_since?)
    }

    fn is_current(&self, filter: &str) -> bool {
        self.filter == filter
    }

    fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }
}

/// What the page says of an order besides the order itself.
#[derive(Debug, Default)]
pub struct OrderFacts {
    pub goods_name: String,
    pub picture: Option<Picture>,
    pub history: Vec<OrderEvent>,
    /// Whether the last attempt to pay was declined.
    pub payment_declined: bool,
    /// Oldest first.
    pub partial_refunds: Vec<PartialRefund>,
    /// Holds by staff. Oldest first.
    pub holds: Vec<OrderHold>,
    pub parcel: Option<Parcel>,
    /// The day on which it counts as delivered if nobody says where it is, and whether returns may be asked for then.
    pub delivered_at: Option<(Date, bool)>,
    pub returned: Option<GoodsReturn>,
    /// Until when a return may be asked for; `None` if the order is not delivered.
    pub returnable_until: Option<Timestamp>,
    pub invoice: Option<Invoice>,
}

/// The form of an appeal, as entered.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppealFormState {
    pub text: String,
    /// The code that says what is wrong with the text.
    #[serde(skip)]
    pub error: Option<&'static str>,
}

/// The page of one order.
#[derive(Debug, Template)]
#[template(path = "orders/order.html")]
pub struct OrderPage {
    pub chrome: Chrome,
    /// With shipping to its own address or to the proposed one. It may not have reached the database yet.
    pub order: Order,
    pub facts: OrderFacts,
    /// Whether shipping may cost something and the order is not paid yet.
    pub charges: bool,
    /// The shopper's default address, for an order that has none yet.
    pub proposed: Option<AddressCard>,
    /// What the shopper's wallet can pay with, if the order can be paid from it: its balance, and the deposit, which
    /// comes back.
    pub wallet: Option<Money>,
    /// The deposit that is set aside for the sale.
    pub deposit: Option<Money>,
    /// The names of the providers that take the amount, in the order of the shop.
    pub offers: Vec<&'static str>,
    /// Whether a provider's page or app cannot be opened where the page is looked at, which is in WeChat.
    pub needs_other_browser: bool,
    /// For an order that is paid in another shop: whether the shop can be reached from here.
    pub elsewhere: Option<bool>,
    /// `None` for a sale that is gone.
    pub sale: Option<SaleOfOrder>,
    pub now: Timestamp,
    pub appeal: AppealFormState,
    pub invoice: InvoiceFormState,
    pub return_form: ReturnForm,
}

/// What the page of an order says about its sale.
#[derive(Debug)]
pub struct SaleOfOrder {
    pub mode: ModeName,
    /// The number of this order in the sale, if being early decides.
    pub number: Option<i64>,
    /// The units of the sale, if each order has one, so that the number counts units.
    pub total: Option<i64>,
    /// Whether the sale may still have units.
    pub goes_on: bool,
    /// Sales to go on to from an order that came to nothing or is paid.
    pub onward: Vec<OnwardSale>,
}

impl OrderPage {
    /// What shipping costs, in a few words; `None` if there is nothing to say.
    fn shipping(&self) -> Option<String> {
        let (t, cost) = (&self.chrome.text().shipping, self.order.shipping);
        match () {
            _ if cost.amount > 0 => Some(cost.to_string()),
            _ if !self.charges => None,
            _ if self.asks_address() => Some(t.by_address.to_owned()),
            _ => Some(t.free_of_charge.to_owned()),
        }
    }

    /// Whether shipping is not known before there is an address.
    fn asks_address(&self) -> bool {
        self.charges && self.order.address.is_none() && self.proposed.is_none()
    }

    /// What is to pay, on the buttons.
    fn sum(&self) -> String {
        let amount = self.order.amount.to_string();
        if self.asks_address() { fill(self.chrome.text().shipping.on_top, amount) } else { amount }
    }

    /// Whether the page begins with the stage of a winner: until the order is paid, and then until the parcel has come.
    fn has_stage(&self) -> bool {
        let goes_well = !matches!(self.parcel_state(), Some(ParcelState::Lost | ParcelState::Returned));
        let is_kept = self.hold().is_none() && self.facts.returned.is_none() && self.order.message.is_none();
        self.is(OrderStatus::Unpaid) || (self.is(OrderStatus::Paid) && goes_well && is_kept)
    }

    /// What a paid order passes, and when it did.
    fn stations(&self) -> [(&'static str, Option<Timestamp>); 4] {
        let t = self.chrome.text();
        let paid = self.facts.history.iter().find(|event| event.status == OrderStatus::Paid).map(|event| event.at);
        let parcel = [ParcelState::Packed, ParcelState::Shipped, ParcelState::Delivered].map(|state| {
            let mut moves = self.facts.parcel.iter().flat_map(Parcel::moves);
            (t.parcel(&state), moves.find(|step| step.state == state).map(|step| step.at))
        });
        [(t.status(&OrderStatus::Paid), paid), parcel[0], parcel[1], parcel[2]]
    }

    /// The headline of an order that holds its units.
    fn won(&self) -> &'static str {
        let t = &self.chrome.text().outcome;
        if self.is(OrderStatus::Paid) {
            return t.paid;
        }
        match self.sale.as_ref().map(|sale| sale.mode) {
            Some(ModeName::Draw) => t.won_draw,
            Some(ModeName::WaitingRoom) => t.won_waiting_room,
            Some(ModeName::Rush) | None => t.won,
        }
    }

    /// What is left of the time to pay, in percent, until the script moves the ring.
    fn percent_left(&self, from: &Timestamp, until: &Timestamp) -> i64 {
        let (whole, left) =
            (until.as_millisecond() - from.as_millisecond(), until.as_millisecond() - self.now.as_millisecond());
        (100 * left.max(0) / whole.max(1)).min(100)
    }

    /// Whether the order came to nothing.
    fn is_lost(&self) -> bool {
        self.is(OrderStatus::Cancelled) || self.is(OrderStatus::Rejected)
    }

    /// Whether the shop is about to send what was bought.
    fn goes_out(&self) -> bool {
        let is_here = matches!(self.parcel_state(), None | Some(ParcelState::Packed));
        self.is(OrderStatus::Paid) && self.hold().is_none() && is_here
    }

    /// When the shop promised to send the order, or that it has not done so in time. `None` once it is sent.
    fn ships_by(&self) -> Option<String> {
        let [(_, paid), ..] = self.stations();
        // Without an address the shop waits for the buyer.
        let goes_out = self.goes_out() && self.order.address.is_some();
        ships_by(&self.chrome, paid.filter(|_| goes_out)?)
    }

    /// The day on which the parcel counts as delivered, in words.
    fn counts_as_delivered(&self) -> Option<String> {
        let t = &self.chrome.text().parcels;
        let (day, takes_returns) = self.facts.delivered_at?;
        let returns = if takes_returns { t.counts_returns } else { "" };
        let space = if returns.is_ascii() && takes_returns { " " } else { "" };
        Some(fill(t.counts, self.chrome.day(day)) + space + returns)
    }

    /// Whether the order was paid, so that it has a receipt.
    fn has_receipt(&self) -> bool {
        self.facts.history.iter().any(|event| event.status == OrderStatus::Paid)
    }

    /// Whether an invoice can be asked for, or changed.
    fn takes_invoice(&self) -> bool {
        self.is(OrderStatus::Paid) && self.facts.invoice.as_ref().is_none_or(|invoice| invoice.issued.is_none())
    }

    /// The title and the number that the form of the invoice begins with.
    fn entered_invoice(&self) -> (&str, &str) {
        match &self.facts.invoice {
            Some(known) if self.invoice.errors.is_empty() => {
                (&known.to.title, known.to.tax_number.as_deref().unwrap_or_default())
            }
            _ => (&self.invoice.title, &self.invoice.tax_number),
        }
    }

    /// Whether a return may be asked for, or could have been. `None`: it is under way, or the order is not delivered.
    fn takes_return(&self) -> Option<(bool, Timestamp)> {
        let is_free = self.return_state().is_none_or(|state| state == ReturnState::Withdrawn);
        self.facts.returnable_until.filter(|_| is_free).map(|until| (self.now < until, until))
    }

    fn return_state(&self) -> Option<ReturnState> {
        self.facts.returned.as_ref().map(|known| known.state)
    }

    fn return_means(&self) -> Option<&'static str> {
        let t = &self.chrome.text().returns;
        match self.return_state()? {
            ReturnState::Asked => Some(t.means_asked),
            ReturnState::Accepted => Some(t.means_accepted),
            ReturnState::Received => Some(t.means_received),
            ReturnState::Refused | ReturnState::Withdrawn => None,
        }
    }

    /// Whether a return that is withdrawn now may be asked for again.
    fn withdrawn_means(&self) -> String {
        let t = &self.chrome.text().returns;
        let until = self.facts.returnable_until.filter(|until| self.now < *until);
        until.map_or_else(|| t.withdraw_late.to_owned(), |until| fill(t.withdraw_until, self.chrome.when(&until)))
    }

    fn return_carrier(&self) -> Option<&str> {
        self.facts.returned.as_ref()?.label.carrier_name(self.chrome.locale)
    }

    fn is_reason(&self, reason: &ReturnReason) -> bool {
        self.return_form.reason == reason.as_str()
    }

    /// The carrier and the number that the form begins with.
    fn return_label(&self) -> (&str, &str) {
        let label = self.facts.returned.as_ref().map(|known| &known.label);
        match label.filter(|_| self.return_form.errors.is_empty()) {
            Some(label) => (
                label.carrier_name(self.chrome.locale).unwrap_or_default(),
                label.number.as_deref().unwrap_or_default(),
            ),
            None => (&self.return_form.carrier, &self.return_form.number),
        }
    }

    fn known_carriers(&self) -> impl Iterator<Item = &'static str> + use<> {
        let locale = self.chrome.locale;
        CARRIERS.iter().map(move |carrier| carrier.name(locale))
    }

    /// Where the parcel of a paid order is.
    fn parcel_state(&self) -> Option<ParcelState> {
        self.facts.parcel.as_ref().map(Parcel::state).filter(|_| self.is(OrderStatus::Paid))
    }

    fn carrier(&self) -> Option<&str> {
        self.facts.parcel.as_ref()?.label().carrier_name(self.chrome.locale)
    }

    /// Whether the owner may say that the parcel came.
    fn takes_receipt(&self) -> bool {
        let from = self.parcel_state();
        from.is_some() && may_step(from, ParcelState::Delivered, ParcelMover::Owner)
    }

    fn tone(&self) -> OrderStatus {
        tone(self.order.status, self.parcel_state())
    }

    fn headline(&self) -> &'static str {
        let t = self.chrome.text();
        self.parcel_state().map_or_else(|| t.status(&self.order.status), |state| t.parcel(&state))
    }

    fn onward_title(&self) -> &'static str {
        let t = &self.chrome.text().outcome;
        if self.is_lost() { t.onward } else { t.current }
    }

    fn onward(&self) -> &[OnwardSale] {
        self.sale.as_ref().map_or(&[], |sale| &sale.onward)
    }

    /// The hold that has not ended.
    fn hold(&self) -> Option<&OrderHold> {
        self.facts.holds.last().filter(|hold| hold.end.is_none() && self.order.status.is_live())
    }

    fn hold_events(&self) -> Vec<HoldEvent<'_>> {
        hold_events(&self.chrome.text().holds, &self.facts.holds)
    }

    fn appeal_error(&self) -> Option<&'static str> {
        self.appeal.error.map(|code| field_error(self.chrome.locale, code))
    }

    fn is(&self, status: OrderStatus) -> bool {
        self.order.status == status
    }

    fn meaning(&self) -> &'static str {
        let t = self.chrome.text();
        match (self.hold(), self.order.status) {
            (Some(_), OrderStatus::Paid) => return t.holds.means_paid,
            (Some(_), _) => return t.holds.means_unpaid,
            (None, _) => {}
        }
        if let Some(state) = self.parcel_state() {
            return t.parcel_means(&state);
        }
        if self.return_state() == Some(ReturnState::Received) {
            return t.returns.means_received;
        }
        match self.order.reason.as_deref() {
            Some("by_shop") => t.status_means_by_shop(&self.order.status),
            _ => t.status_means(&self.order.status),
        }
    }

    fn is_refund(&self) -> bool {
        self.order.status == OrderStatus::RefundPending
    }

    fn address(&self) -> Option<AddressView> {
        self.order.address.as_deref().map(|address| AddressView::of(address, self.chrome.locale))
    }

    fn reason(&self) -> Option<&'static str> {
        self.chrome.text().reason(self.order.reason.as_deref()?)
    }
}

#[cfg(test)]
mod tests;
