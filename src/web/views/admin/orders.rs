//! The console's pages of orders.

use askama::Template;
use jiff::Timestamp;

use super::sale_form::for_time_field;
use super::{Chrome, FieldError};
use crate::domain::order::OrderStep;
use crate::domain::{Order, OrderStatus, SaleId};
use crate::i18n::{field_error, problem};
use crate::pages::filters;
use crate::store::{PaymentRecord, PaymentStatus, WebhookRecord};
use crate::web::shared::order_search::OrderSearchQuery;
use crate::web::views::AddressView;

/// The search form as entered.
#[derive(Debug, Default)]
pub struct OrderFilter {
    pub order: String,
    pub user: String,
    pub sale: String,
    pub status: String,
    pub from: String,
    pub to: String,
    pub errors: Vec<FieldError>,
}

impl OrderFilter {
    pub fn of(query: &OrderSearchQuery, errors: Vec<FieldError>) -> OrderFilter {
        let user = if query.user.trim().is_empty() { &query.username } else { &query.user };
        OrderFilter {
            order: query.order.clone(),
            user: user.clone(),
            sale: query.sale.clone(),
            status: query.status.clone(),
            from: query.from.clone(),
            to: query.to.clone(),
            errors,
        }
    }

    fn is_empty(&self) -> bool {
        [&self.order, &self.user, &self.sale, &self.status, &self.from, &self.to].iter().all(|text| text.is_empty())
    }

    /// The query of links that keep the search.
    fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let fields = [
            ("order", &self.order),
            ("user", &self.user),
            ("sale", &self.sale),
            ("status", &self.status),
            ("from", &self.from),
            ("to", &self.to),
        ];
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        query.finish()
    }
}

/// One order in the table.
#[derive(Debug)]
pub struct OrderRow {
    pub order: Order,
    pub username: Option<String>,
}

/// The orders that match a search.
#[derive(Debug, Template)]
#[template(path = "admin/orders.html")]
pub struct AdminOrdersPage {
    pub chrome: Chrome,
    pub rows: Vec<OrderRow>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<String>,
    pub sales: Vec<(SaleId, String)>,
    pub filter: OrderFilter,
    pub is_later: bool,
}

impl AdminOrdersPage {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        let error = self.filter.errors.iter().find(|e| e.field == field)?;
        Some(field_error(self.chrome.locale, error.code))
    }

    fn is_sale(&self, id: &SaleId) -> bool {
        self.filter.sale.trim() == id.to_string()
    }

    fn is_status(&self, status: &OrderStatus) -> bool {
        self.filter.status == status.as_str()
    }

    /// All statuses but `reserved`, which the database does not have.
    fn statuses(&self) -> impl Iterator<Item = OrderStatus> + use<> {
        OrderStatus::ALL.into_iter().filter(|status| *status != OrderStatus::Reserved)
    }
}

/// The form of a cancellation or refund, as entered.
#[derive(Debug, Default)]
pub struct StaffActionFormState {
    pub reason: String,
    pub message: String,
    pub errors: Vec<FieldError>,
    /// The order was no longer in a state that allows the action.
    pub changed: bool,
}

/// One payment of an order.
#[derive(Debug)]
pub struct PaymentLine {
    pub id: String,
    pub provider: String,
    pub amount: String,
    pub status: PaymentStatus,
    pub created_at: Timestamp,
    pub captured_at: Option<Timestamp>,
    pub refunded_at: Option<Timestamp>,
    pub webhooks: Vec<WebhookRecord>,
}

impl From<PaymentRecord> for PaymentLine {
    fn from(record: PaymentRecord) -> Self {
        PaymentLine {
            id: record.payment.id.to_string(),
            provider: record.payment.provider,
            amount: record.payment.amount.to_string(),
            status: record.payment.status,
            created_at: record.created_at,
            captured_at: record.captured_at,
            refunded_at: record.refunded_at,
            webhooks: record.webhooks,
        }
    }
}

/// One order with its history and payments.
#[derive(Debug, Template)]
#[template(path = "admin/order.html")]
pub struct AdminOrderPage {
    pub chrome: Chrome,
    pub order: Order,
    pub goods_name: String,
    pub username: Option<String>,
    pub steps: Vec<OrderStep>,
    pub payments: Vec<PaymentLine>,
    pub address: Option<AddressView>,
    /// The action that the page reports as done: `cancel`, `refund`.
    pub done: Option<String>,
    pub may_act: bool,
    pub form: StaffActionFormState,
}

impl AdminOrderPage {
    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().support;
        match self.done.as_deref()? {
            "cancel" => Some(t.done_cancel),
            "refund" => Some(t.done_refund),
            _ => None,
        }
    }

    /// The action that the status allows: last segment of the path, label, explanation.
    fn action(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let t = &self.chrome.text().support;
        match self.order.status {
            OrderStatus::Unpaid => Some(("cancel", t.cancel, t.cancel_text)),
            OrderStatus::Paid => Some(("refund", t.refund, t.refund_text)),
            _ => None,
        }
    }

    fn error_text(&self, field: &str) -> Option<&'static str> {
        let error = self.form.errors.iter().find(|e| e.field == field)?;
        match error.code {
            "not_confirmed" => Some(problem(error.code).text(self.chrome.locale)),
            code => Some(field_error(self.chrome.locale, code)),
        }
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

    fn payment_status(&self, status: &PaymentStatus) -> &'static str {
        let t = &self.chrome.text().support;
        match status {
            PaymentStatus::Created => t.payment_created,
            PaymentStatus::Captured => t.payment_captured,
            PaymentStatus::RefundPending => t.payment_refund_pending,
            PaymentStatus::Refunded => t.payment_refunded,
        }
    }
}
