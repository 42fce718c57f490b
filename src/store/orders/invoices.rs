//! Invoices that owners of paid orders ask for, and that staff mark as issued.

use boxed::boxed;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::{OrderStore, StoreResult, column, orders, page_below, row};
use domain::invoice::{Invoice, InvoiceTitle};
use domain::{AuditAction, Order, OrderId, UserId};

/// The outcome of asking for an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvoiceOutcome {
    Asked,
    /// It was issued already, to this or another title.
    Issued,
    /// The order is not paid.
    NotPaid,
}

/// An invoice with its order.
#[derive(Debug, Clone)]
pub struct FoundInvoice {
    pub order: Order,
    pub invoice: Invoice,
    /// The mail address of the order's owner, if it is verified.
    pub email: Option<String>,
}

column_list!(columns: "title, tax_number, asked_at_ms, issued_at_ms, issued_by");

fn invoice(row: &AnyRow) -> sqlx::Result<Invoice> {
    let issued_at: Option<Timestamp> = row::get(row, "issued_at_ms")?;
    let to = read!(row => InvoiceTitle { title, tax_number })?;
    read!(row => Invoice { to = to, asked_at: "asked_at_ms", issued = issued_at.zip(row::get(row, "issued_by")?) })
}

#[boxed]
impl OrderStore<'_> {
    pub async fn invoice_of(self, order: OrderId) -> StoreResult<Option<Invoice>> {
        let sql = select!(columns, "FROM invoices WHERE order_id = $1");
        self.optional(query!(sql; order), invoice).await
    }

    /// Asks for an invoice, or changes its title until it is issued.
    pub async fn ask_invoice(self, order: OrderId, owner: UserId, to: &InvoiceTitle) -> StoreResult<InvoiceOutcome> {
        let mut tx = self.begin().await?;
        let sql = "UPDATE orders SET reason = reason WHERE id = $1 AND user_id = $2 AND status = 'paid' RETURNING id";
        if !tx.exists(query!(sql; order, owner)).await? {
            return Ok(InvoiceOutcome::NotPaid);
        }
        let sql = "INSERT INTO invoices (order_id, title, tax_number, asked_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (order_id) DO UPDATE SET title = excluded.title, tax_number = excluded.tax_number,
               asked_at_ms = excluded.asked_at_ms WHERE invoices.issued_at_ms IS NULL";
        if tx.changed(query!(sql; order, &to.title, &to.tax_number, tx.now)).await? == 0 {
            return Ok(InvoiceOutcome::Issued);
        }
        tx.commit_and(InvoiceOutcome::Asked).await
    }

    /// Invoices that are issued or are still to be, of the newest orders first, before an order.
    pub async fn invoices(self, issued: bool, before: Option<OrderId>, limit: i64) -> StoreResult<Vec<FoundInvoice>> {
        let condition = if issued { "IS NOT NULL" } else { "IS NULL" };
        let sql = format!(
            concat!(
                "SELECT {}, ",
                columns!(),
                ", (SELECT m.address FROM mail_addresses m WHERE m.user_id = orders.user_id) AS email
                 FROM invoices JOIN orders ON orders.id = order_id WHERE issued_at_ms {} AND order_id < $1
                 ORDER BY order_id DESC LIMIT $2"
            ),
            orders::columns!(),
            condition
        );
        self.all(
            query!(AssertSqlSafe(sql); page_below(before), limit),
            |row| read!(row => FoundInvoice { order = orders::order(row)?, invoice = invoice(row)?, email }),
        )
        .await
    }

    /// Marks invoices as issued, each with its line in the audit log. Returns how many were not before.
    pub async fn issue_invoices(self, of: &[OrderId], actor: &str) -> StoreResult<usize> {
        let mut tx = self.begin().await?;
        let now = tx.now;
        let sql = "UPDATE invoices SET issued_at_ms = $1, issued_by = $2
             WHERE issued_at_ms IS NULL AND order_id IN $ids RETURNING order_id";
        let before = values![now, actor];
        let issued: Vec<String> = tx.all_of(sql, &before, of, column("order_id")).await?;
        for id in &issued {
            tx.log(actor, AuditAction::IssueInvoice, &format!("order {id}"), None::<&()>, None, now).await?;
        }
        tx.commit_and(issued.len()).await
    }
}
