//! The search for orders, as page, API and CSV export take it in their query, and the export: a CSV file of any size. Its body
//! is a stream: each batch of rows is read once the client has taken the batch before. Each export leaves a line in the
//! audit log.

use crate::lists::csv::{Column, cell, download};
use crate::prelude::*;
use domain::{Address, Parcel, ParcelLabel};
use store::{FoundOrder, OrderSearch};
use web::shared::orders::parse_statuses;
use web::shared::pagination::MAX_PAGE_SIZE;

/// The value of the filter by parcel for paid orders of which nothing was packed.
pub const TO_PACK: &str = "to_pack";

/// The query of a search, as entered. Every field may be missing.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OrderSearchQuery {
    /// A number such as `20261128-000137`, an id, or the end of an id.
    pub order: String,
    /// A name or an id.
    pub user: String,
    /// A username.
    pub username: String,
    /// The id of a sale.
    pub sale: String,
    /// Statuses, separated by commas.
    pub status: String,
    /// Where the parcel is: `to_pack` for paid orders without one, `packed` (to be sent), `shipped`, `delivered`, `lost` or
    /// `returned`.
    pub parcel: String,
    /// How far the return is: `asked` (to be answered), `accepted` (to be received), `refused`, `withdrawn` or `received`.
    #[serde(rename = "return")]
    pub returned: String,
    /// `true` for orders that staff hold, `false` for the others.
    pub held: String,
    /// Placed at or after this time.
    pub from: String,
    /// Placed before this time.
    pub to: String,
    pub before: Cursor,
    /// Orders per page; 50 by default, at most 200.
    #[schemars(with = "u32", range(min = 1, max = 200))]
    limit: String,
    /// `oldest` for the oldest first. Only the page reads it.
    #[schemars(skip)]
    pub sort: String,
    /// The columns that the page leaves out.
    #[schemars(skip)]
    pub hide: String,
    /// The result of a form about saved views. Not part of the search.
    #[schemars(skip)]
    view: String,
    /// The language of the page.
    #[schemars(skip)]
    lang: String,
}

/// A search whose fields could all be read.
#[derive(Debug)]
pub struct ParsedOrderSearch {
    /// `None` when no account has the name: no order matches.
    pub search: Option<OrderSearch>,
    pub limit: usize,
}

impl OrderSearchQuery {
    /// The filters by name, filled in or not.
    pub fn filters(&self) -> [(&'static str, &str); 10] {
        let OrderSearchQuery { order, user, username, sale, status, parcel, returned, held, from, to, .. } = self;
        [
            ("order", order),
            ("user", user),
            ("username", username),
            ("sale", sale),
            ("status", status),
            ("parcel", parcel),
            ("return", returned),
            ("held", held),
            ("from", from),
            ("to", to),
        ]
        .map(|(name, value)| (name, value.as_str()))
    }

    /// The filters that were filled in, by name, for the audit log.
    pub fn given(&self) -> BTreeMap<&'static str, &str> {
        self.filters().into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Reads the fields and looks user names up. The inner error lists every wrong field at once.
    pub async fn read(&self, store: &Store) -> StoreResult<Result<ParsedOrderSearch, Vec<FieldError>>> {
        let (mut search, names, limit) = match self.parse() {
            Ok(parsed) => parsed,
            Err(errors) => return Ok(Err(errors)),
        };
        let mut may_match = true;
        for name in names {
            let user = store.accounts().user_named(&name).await?.map(|user| user.id);
            // An order belongs to one user, so two different users match none.
            may_match &= user.is_some() && search.user.is_none_or(|other| Some(other) == user);
            search.user = user;
        }
        Ok(Ok(ParsedOrderSearch { search: may_match.then_some(search), limit }))
    }

    /// The search without its user names, the names, and the limit.
    fn parse(&self) -> Result<(OrderSearch, Vec<String>, usize), Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut search = OrderSearch::default();
        let mut names = Vec::new();
        match self.sort.as_str() {
            "" | "newest" => {}
            "oldest" => search.oldest_first = true,
            _ => errors.push(FieldError::new("sort", "unknown")),
        }
        search.tail = OrderId::read_short(&self.order);
        search.number = self.order.parse().ok();
        match optional(&self.order, |text| text.parse().ok()) {
            Some(order) => search.order = order,
            None if search.tail.is_some() || search.number.is_some() => {}
            None => errors.push(FieldError::new("order", "bad_id")),
        }
        search.sale = read_field(&mut errors, ("sale", "bad_id"), &self.sale, |text| text.parse().ok());
        match self.before.read("before") {
            Ok(before) => search.before = before,
            Err(error) => errors.push(error),
        }
        match parse_statuses(&self.status) {
            Some(statuses) => search.statuses = statuses,
            None => errors.push(FieldError::new("status", "bad_status")),
        }
        let parcel = |text: &str| if text == TO_PACK { Some(None) } else { text.parse().ok().map(Some) };
        search.parcel = read_field(&mut errors, ("parcel", "bad_state"), &self.parcel, parcel);
        search.returned = read_field(&mut errors, ("return", "bad_status"), &self.returned, |text| text.parse().ok());
        search.held = read_field(&mut errors, ("held", "bad_boolean"), &self.held, |text| text.parse().ok());
        search.from = read_field(&mut errors, ("from", "bad_time"), &self.from, time);
        search.to = read_field(&mut errors, ("to", "bad_time"), &self.to, time);
        if search.from.zip(search.to).is_some_and(|(from, to)| from >= to) {
            errors.push(FieldError::new("to", "time_order"));
        }
        let size = |text: &str| text.parse().ok().filter(|size| (1..=MAX_PAGE_SIZE).contains(size));
        let limit = read_field(&mut errors, ("limit", "bad_number"), &self.limit, size).unwrap_or(LARGE_PAGE_SIZE);
        match self.user.trim() {
            "" => {}
            text => match text.to_lowercase().parse::<UserId>() {
                Ok(id) => search.user = Some(id),
                Err(_) => names.push(text.to_owned()),
            },
        }
        if !self.username.trim().is_empty() {
            names.push(self.username.trim().to_owned());
        }
        if errors.is_empty() { Ok((search, names, limit)) } else { Err(errors) }
    }
}

/// Rows in memory at once.
const BATCH_SIZE: i64 = 1000;

/// An order with everything that the file says about it.
struct Row {
    found: FoundOrder,
    address: Address,
    product: String,
    paid_at: Option<Timestamp>,
    refunded: Money,
    parcel: Option<ParcelState>,
    label: ParcelLabel,
}

static COLUMNS: &[Column<Row>] = &[
    ("order_id", |row| row.found.order.id.to_string()),
    ("placed_at", |row| row.found.order.reserved_at.to_string()),
    ("confirmed_at", |row| row.found.order.created_at.to_string()),
    ("pay_by", |row| row.found.order.pay_by.to_string()),
    ("status", |row| row.found.order.status.to_string()),
    ("reason", |row| cell(row.found.order.reason.as_ref())),
    ("message", |row| cell(row.found.order.message.as_ref())),
    ("sale_id", |row| row.found.order.sale_id.to_string()),
    ("product", |row| row.product.clone()),
    ("quantity", |row| row.found.order.quantity.to_string()),
    ("amount", |row| row.found.order.amount.decimal()),
    ("currency", |row| row.found.order.amount.currency.as_str().to_owned()),
    ("user_id", |row| row.found.order.user_id.to_string()),
    ("username", |row| cell(row.found.username.as_ref())),
    ("recipient", |row| row.address.recipient.clone()),
    ("phone", |row| row.address.phone.clone()),
    ("country", |row| row.address.country.clone()),
    ("region", |row| row.address.region.clone()),
    ("city", |row| row.address.city.clone()),
    ("line1", |row| row.address.line1.clone()),
    ("line2", |row| row.address.line2.clone()),
    ("postal_code", |row| row.address.postal_code.clone()),
    ("paid_at", |row| cell(row.paid_at)),
    ("refunded", |row| row.refunded.decimal()),
    ("held", |row| row.found.held_at.is_some().to_string()),
    ("parcel", |row| cell(row.parcel)),
    ("carrier", |row| cell(row.label.carrier.as_ref())),
    ("tracking_number", |row| cell(row.label.number.as_ref())),
    ("return", |row| cell(row.found.returned)),
    ("shipping", |row| row.found.order.shipping.decimal()),
    ("reference", |row| cell(row.found.reference.as_ref())),
    ("number", |row| cell(row.found.order.number)),
];

pub async fn export(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ViewConsole>,
    ClientAddress(client): ClientAddress,
    visitor: Visitor,
    Query(query): Query<OrderSearchQuery>,
) -> Answer {
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
    Ok(download(&format!("orders-{day}.csv"), COLUMNS, stream::try_unfold(export, Export::next_batch)))
}

/// The name of the goods of each sale.
pub(crate) async fn products(store: &Store, locale: Locale) -> StoreResult<HashMap<SaleId, String>> {
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
    /// The next rows; `None` after the last.
    async fn next_batch(mut self) -> StoreResult<Option<(Vec<Row>, Export)>> {
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
        let rows = found.into_iter().map(|found| {
            let order = &found.order;
            let (back, parcel) = (refunded.get(&order.id).copied().unwrap_or_default(), parcels.get(&order.id));
            Row {
                address: order.address.as_deref().cloned().unwrap_or_default(),
                product: self.products.get(&order.sale_id).cloned().unwrap_or_default(),
                paid_at: paid.get(&order.id).copied(),
                refunded: Money::new(back, order.amount.currency),
                parcel: parcel.map(Parcel::state),
                label: parcel.map(|parcel| parcel.label().clone()).unwrap_or_default(),
                found,
            }
        });
        Ok(Some((rows.collect(), self)))
    }
}

web::operations! { "administrators"
    /// Export the orders of a search as CSV, without a size limit
    GET "/api/admin/orders.csv" exportOrders = export, without_key("before"), without_key("limit"), csv;
        200 String, "UTF-8 with a byte order mark. An aborted transfer is incomplete.";
        refuses StepUpNeeded;
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::OrderStatus;

    #[test]
    fn order_search_needs_no_field_and_names_every_wrong_one() {
        let (search, names, limit) = OrderSearchQuery::default().parse().unwrap();
        assert_eq!((search, names.len(), limit), (OrderSearch::default(), 0, LARGE_PAGE_SIZE));
        let wrong = OrderSearchQuery {
            order: "1".into(),
            sale: "x".into(),
            status: "lost".into(),
            parcel: "eaten".into(),
            returned: "eaten".into(),
            held: "perhaps".into(),
            from: "soon".into(),
            to: "later".into(),
            limit: "1000".into(),
            ..serde_json::from_str(r#"{"before": "x"}"#).unwrap()
        };
        let fields: Vec<_> = wrong.parse().unwrap_err().iter().map(|error| error.field).collect();
        assert_eq!(fields, ["order", "sale", "before", "status", "parcel", "return", "held", "from", "to", "limit"]);
        let reversed = OrderSearchQuery {
            from: "2026-11-21T12:00".into(),
            to: "2026-11-21T11:00".into(),
            ..OrderSearchQuery::default()
        };
        assert_eq!(reversed.parse().unwrap_err()[0].code, "time_order");
        let right =
            OrderSearchQuery { user: " Mei ".into(), status: "paid,refunded".into(), ..OrderSearchQuery::default() };
        let (search, names, _) = right.parse().unwrap();
        assert_eq!((search.statuses, names), (vec![OrderStatus::Paid, OrderStatus::Refunded], vec!["Mei".to_owned()]));
    }
}
