//! Invoices (发票) that shoppers asked for: listed, exported for the tax office's service, and marked as issued. And the receipt
//! of an order for staff.

use crate::lists::csv::{Column, cell, download};
use crate::orders::api::existing_order;
use crate::orders::search::products;
use crate::prelude::*;
use domain::invoice::Invoice;
use store::FoundInvoice;
use web::receipts;
use web::shared::orders::InvoiceJson;

const PATH: &str = "/admin/orders/invoices";
/// Rows in memory at once.
const BATCH_SIZE: i64 = 500;
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InvoicesQuery {
    /// `true` for the invoices that were marked as issued instead of those that are still to be.
    issued: bool,
    before: Cursor,
    /// How many the page reports as marked.
    #[schemars(skip)]
    done: String,
    /// The language of the page.
    #[schemars(skip)]
    lang: String,
}

/// An invoice with what went back of its order. Names of persons and mail addresses are masked except in exports.
#[derive(Debug)]
struct InvoiceRow {
    found: FoundInvoice,
    refunded: Money,
}

impl InvoiceRow {
    fn mask(&mut self) {
        self.found.invoice = self.found.invoice.clone().masked();
        self.found.email = self.found.email.as_deref().map(domain::mail::masked);
    }
}

async fn rows(store: &Store, issued: bool, before: Option<OrderId>, limit: i64) -> StoreResult<Vec<InvoiceRow>> {
    let found = store.orders().invoices(issued, before, limit).await?;
    let ids: Vec<OrderId> = found.iter().map(|found| found.order.id).collect();
    let refunded = store.payments().refunded_amounts(&ids).await?;
    let row = |found: FoundInvoice| {
        let back = refunded.get(&found.order.id).copied().unwrap_or_default();
        InvoiceRow { refunded: Money::new(back, found.order.amount.currency), found }
    };
    Ok(found.into_iter().map(row).collect())
}

async fn page_of(shop: &Shop, query: &InvoicesQuery) -> Result<Page<InvoiceRow, OrderId>, Problem> {
    let before = query.before.read("before")?;
    let mut found = rows(&shop.store, query.issued, before, LARGE_PAGE_SIZE as i64 + 1).await?;
    found.iter_mut().for_each(InvoiceRow::mask);
    Ok(Page::cut(found, LARGE_PAGE_SIZE, |row| row.found.order.id))
}

answers! {
    InvoiceList { invoices: Vec<ListedInvoice>; next: OrderId }
    IssuedInvoice { invoice: InvoiceJson }
}

#[derive(Serialize, JsonSchema)]
struct ListedInvoice {
    order_id: OrderId,
    /// The order's number for people.
    number: Option<OrderNumber>,
    sale_id: SaleId,
    quantity: u32,
    amount: Money,
    /// What was refunded of it, in parts and as a whole.
    refunded: Money,
    order_status: OrderStatus,
    #[serde(flatten)]
    invoice: InvoiceJson,
}

pub async fn list((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<InvoicesQuery>) -> Answer {
    let Page { items, next } = page_of(&shop, &query).await?;
    let listed = |InvoiceRow { found: FoundInvoice { order, invoice, .. }, refunded }: InvoiceRow| ListedInvoice {
        order_id: order.id,
        number: order.number,
        sale_id: order.sale_id,
        quantity: order.quantity,
        amount: order.amount,
        refunded,
        order_status: order.status,
        invoice: invoice.into(),
    };
    let invoices = items.into_iter().map(listed).collect();
    Ok(private(InvoiceList { invoices, next }))
}

pub async fn issue((State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, OrderId>) -> Answer {
    shop.store.orders().issue_invoices(&[id], staff.actor()).await?;
    let invoice = shop.store.orders().invoice_of(id).await?.ok_or(Code::NotFound)?.masked().into();
    Ok(Json(IssuedInvoice { invoice }).into_response())
}

pub async fn export(
    (State(shop), staff): StaffCall<ViewConsole>,
    ClientAddress(client): ClientAddress,
    visitor: Visitor,
    Query(query): Query<InvoicesQuery>,
) -> Answer {
    let now = shop.clock.now();
    let is_masked = !staff.may::<ReadAddresses>();
    let details = json!({"issued": query.issued, "masked": is_masked});
    shop.store.audit_log().log_event(staff.actor(), AuditAction::ExportInvoices, "invoices", &details, now).await?;
    shop.security.record(SecurityClass::Exported, Some(staff.session.user_id), Some(client), "invoices");
    let day = now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string();
    let products = products(&shop.store, visitor.locale).await?;
    let store = shop.store.clone();
    let export = Export { store, products, issued: query.issued, is_masked, before: None, is_over: false };
    Ok(download(&format!("invoices-{day}.csv"), COLUMNS, stream::try_unfold(export, Export::next_batch)))
}

/// The name of the goods, and the invoice.
type Row = (String, InvoiceRow);

static COLUMNS: &[Column<Row>] = &[
    ("order_id", |(_, row)| row.found.order.id.to_string()),
    ("sale_id", |(_, row)| row.found.order.sale_id.to_string()),
    ("title", |(_, row)| row.found.invoice.to.title.clone()),
    ("tax_number", |(_, row)| cell(row.found.invoice.to.tax_number.as_ref())),
    ("amount", |(_, row)| row.found.order.amount.decimal()),
    ("refunded", |(_, row)| row.refunded.decimal()),
    ("currency", |(_, row)| row.found.order.amount.currency.as_str().to_owned()),
    ("order_status", |(_, row)| row.found.order.status.to_string()),
    ("asked_at", |(_, row)| row.found.invoice.asked_at.to_string()),
    ("issued_at", |(_, row)| cell(row.found.invoice.issued.as_ref().map(|(at, _)| at))),
    ("number", |(_, row)| cell(row.found.order.number)),
    ("product", |(product, _)| product.clone()),
    ("quantity", |(_, row)| row.found.order.quantity.to_string()),
    ("email", |(_, row)| cell(row.found.email.as_ref())),
];

struct Export {
    store: Store,
    products: HashMap<SaleId, String>,
    issued: bool,
    is_masked: bool,
    before: Option<OrderId>,
    is_over: bool,
}

impl Export {
    /// The next rows; `None` after the last.
    async fn next_batch(mut self) -> StoreResult<Option<(Vec<Row>, Export)>> {
        if self.is_over {
            return Ok(None);
        }
        let mut found = rows(&self.store, self.issued, self.before, BATCH_SIZE).await?;
        if self.is_masked {
            found.iter_mut().for_each(InvoiceRow::mask);
        }
        self.before = found.last().map(|row| row.found.order.id);
        self.is_over = (found.len() as i64) < BATCH_SIZE;
        let product = |row: &InvoiceRow| self.products.get(&row.found.order.sale_id).cloned().unwrap_or_default();
        Ok(Some((found.into_iter().map(|row| (product(&row), row)).collect(), self)))
    }
}

#[derive(Debug, Template)]
#[template(path = "orders/console_invoices.html")]
struct InvoicesPage {
    chrome: Chrome,
    rows: Vec<InvoiceRow>,
    issued: bool,
    older: Option<OrderId>,
    may_act: bool,
    notice: Option<String>,
}

impl InvoicesPage {
    fn export_path(&self) -> String {
        format!("/api/admin/invoices.csv?lang={}&issued={}", self.chrome.locale, self.issued)
    }
}

pub async fn show(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<InvoicesQuery>,
) -> Answer {
    let Page { items, next } = page_of(&shop, &query).await?;
    let page = InvoicesPage {
        chrome: visitor.chrome_at(format!("{PATH}?lang={}", visitor.locale)),
        rows: items,
        issued: query.issued,
        older: next,
        may_act: staff.may::<SupportShoppers>(),
        notice: query.done.parse::<usize>().ok().map(|done| fill(words::text(visitor.locale).invoices.done, done)),
    };
    personal(StatusCode::OK, &page)
}

/// Marks the ticked invoices as issued.
pub async fn issue_ticked(
    (State(shop), staff, visitor): StaffVisit<SupportShoppers>,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let ids = fields.iter().filter(|(name, _)| name == "id").map(|(_, id)| id.parse());
    let ids: Vec<OrderId> = ids.collect::<Result<_, _>>().map_err(|_| Problem::invalid_field("id", "bad_id"))?;
    let done = shop.store.orders().issue_invoices(&ids, staff.actor()).await?;
    Ok(see_other(&format!("{PATH}?lang={}&done={done}", visitor.locale)))
}

pub async fn receipt((State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, OrderId>) -> Answer {
    let order = existing_order(&shop, id).await?;
    let lang = visitor.locale;
    let (path, back) = (format!("/admin/orders/{id}/receipt?lang={lang}"), format!("/admin/orders/{id}?lang={lang}"));
    let invoice = shop.orders.invoice(&order).await?.map(Invoice::masked);
    receipts::page(&shop, &visitor, (order, invoice), &path, back).await
}

web::operations! { "administrators"
    /// Invoices that shoppers asked for, of the newest orders first
    ///
    /// Names of persons are masked.
    GET "/api/admin/invoices" listInvoices = list;
        200 InvoiceList, "Those that are still to be issued, or with `issued` the others.";
    /// The same as CSV, with goods and mail addresses, without a size limit, in full for roles that read addresses; noted in the audit log
    GET "/api/admin/invoices.csv" exportInvoices = export, without_key("before"), csv;
        200 String, "UTF-8 with a byte order mark. An aborted transfer is incomplete.";
        refuses StepUpNeeded;
    /// Mark the invoice of an order as issued
    ///
    /// Safe to repeat.
    POST "/api/admin/invoices/{order}/issued" issueInvoice = issue;
        200 IssuedInvoice, "It cannot be changed any more.";
}
