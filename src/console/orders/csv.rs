//! Orders as a CSV file of any size. The body is a stream: each batch of rows is read once the client has taken the
//! batch before. Each export leaves a line in the audit log.

use std::collections::HashMap;
use std::sync::Arc;

use axum::response::Response;
use futures::stream;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::lists::csv::{Record, download};
use crate::orders::search::OrderSearchQuery;
use domain::{AuditAction, Locale, Money, OrderId, SaleId, SecurityClass};
use store::{FoundOrder, OrderSearch, Store, StoreError};
use web::extract::{ClientAddress, Query, ReadAddresses, Staff, State, ViewConsole, Visitor};
use web::{Problem, Shop};

/// Rows in memory at once.
const BATCH_SIZE: i64 = 1000;

const HEADER: [&str; 32] = [
    "order_id",
    "placed_at",
    "confirmed_at",
    "pay_by",
    "status",
    "reason",
    "message",
    "sale_id",
    "product",
    "quantity",
    "amount",
    "currency",
    "user_id",
    "username",
    "recipient",
    "phone",
    "country",
    "region",
    "city",
    "line1",
    "line2",
    "postal_code",
    "paid_at",
    "refunded",
    "held",
    "parcel",
    "carrier",
    "tracking_number",
    "return",
    "shipping",
    "reference",
    "number",
];

pub async fn export(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ViewConsole>,
    ClientAddress(client): ClientAddress,
    visitor: Visitor,
    Query(query): Query<OrderSearchQuery>,
) -> Result<Response, Problem> {
    let parsed = query.read(&shop.store).await?.map_err(Problem::invalid)?;
    // Logged before the first row is sent: an export that cannot be logged is refused.
    let details = json!({"filter": query.given(), "masked": !staff.may::<ReadAddresses>()});
    shop.store
        .audit_log()
        .log_event(staff.actor(), AuditAction::ExportOrders, "orders", &details, shop.clock.now())
        .await?;
    shop.security.record(SecurityClass::Exported, Some(staff.session.user_id), Some(client), "orders");
    let export = Export {
        staff,
        products: products(&shop.store, visitor.locale).await?,
        store: shop.store.clone(),
        next: parsed.search,
    };
    let day = shop.clock.now().to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string();
    Ok(download(&format!("orders-{day}.csv"), &HEADER, stream::try_unfold(export, Export::next_batch)))
}

/// The name of the goods of each sale.
pub(crate) async fn products(store: &Store, locale: Locale) -> Result<HashMap<SaleId, String>, StoreError> {
    let goods = store.goods().list().await?.into_iter().map(|goods| (goods.id, goods.name.get(locale).to_owned()));
    let names: HashMap<_, _> = goods.collect();
    let sales = store.sales().list().await?.into_iter();
    Ok(sales.map(|sale| (sale.id, names.get(&sale.goods_id).cloned().unwrap_or_default())).collect())
}

struct Export {
    /// Decides whether recipients are masked.
    staff: Staff<ViewConsole>,
    store: Store,
    products: HashMap<SaleId, String>,
    /// The search for the next batch; `None` after the last.
    next: Option<OrderSearch>,
}

impl Export {
    /// The next records; `None` after the last.
    async fn next_batch(mut self) -> Result<Option<(Vec<Record>, Export)>, StoreError> {
        let Some(search) = self.next.take() else { return Ok(None) };
        let mut found = self.store.orders().find(&search, BATCH_SIZE).await?;
        if found.len() as i64 == BATCH_SIZE {
            self.next = found.last().map(|last| OrderSearch { before: Some(last.order.id), ..search });
        }
        if !self.staff.may::<ReadAddresses>() {
            found.iter_mut().for_each(|found| found.order.mask_recipient());
        }
        let ids: Vec<OrderId> = found.iter().map(|found| found.order.id).collect();
        let paid = self.store.orders().paid_at(&ids).await?;
        let refunded = self.store.payments().refunded_amounts(&ids).await?;
        let parcels = self.store.orders().parcels_of(&ids).await?;
        let records = found.iter().map(|found| {
            let FoundOrder { order, .. } = found;
            let paid_at = paid.get(&order.id).map(ToString::to_string).unwrap_or_default();
            let back = refunded.get(&order.id).copied().unwrap_or_default();
            let back = Money::new(back, order.amount.currency).decimal();
            let held = found.held_at.is_some().to_string();
            let parcel = parcels.get(&order.id).map(|parcel| (parcel.state().to_string(), parcel.label().clone()));
            let (state, label) = parcel.unwrap_or_default();
            let (carrier, number) = (label.carrier.unwrap_or_default(), label.number.unwrap_or_default());
            let returned = found.returned.map(|state| state.to_string()).unwrap_or_default();
            let shipping = order.shipping.decimal();
            let reference = found.reference.clone().unwrap_or_default();
            let people = order.number.map(|number| number.to_string()).unwrap_or_default();
            self.cells(found)
                .into_iter()
                .chain([paid_at, back, held, state, carrier, number, returned, shipping, reference, people])
                .collect()
        });
        Ok(Some((records.collect(), self)))
    }

    fn cells(&self, FoundOrder { order, username, .. }: &FoundOrder) -> Record {
        let address = order.address.as_deref().cloned().unwrap_or_default();
        vec![
            order.id.to_string(),
            order.reserved_at.to_string(),
            order.created_at.to_string(),
            order.pay_by.to_string(),
            order.status.to_string(),
            order.reason.clone().unwrap_or_default(),
            order.message.clone().unwrap_or_default(),
            order.sale_id.to_string(),
            self.products.get(&order.sale_id).cloned().unwrap_or_default(),
            order.quantity.to_string(),
            order.amount.decimal(),
            order.amount.currency.as_str().to_owned(),
            order.user_id.to_string(),
            username.clone().unwrap_or_default(),
            address.recipient,
            address.phone,
            address.country,
            address.region,
            address.city,
            address.line1,
            address.line2,
            address.postal_code,
        ]
    }
}

web::operations! { "administrators"
    /// Export the orders of a search as CSV, without a size limit
    GET "/api/admin/orders.csv" exportOrders = export, without_key("before"), without_key("limit"), csv;
        200 String, "UTF-8 with a byte order mark. An aborted transfer is incomplete.";
        refuses StepUpNeeded;
}
