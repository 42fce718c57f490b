//! Parcels of paid orders and returns of delivered ones. Staff move parcels one by one, several at once, or by a file;
//! owners confirm the receipt. Owners ask for a return, and staff accept or refuse it; the goods are received together
//! with their refund, in `payments/staff_refunds.rs`. The rules are [`domain::parcel::decide`] and
//! [`domain::returns::decide`].

use std::collections::HashMap;
use std::time::Duration;

use boxed::boxed;
use csv::{ReaderBuilder, StringRecord, Trim};
use jiff::Timestamp;
use jiff::civil::Date;
use tracing::info;

use crate::{OrderRefusal, Orders, was_paid};
use domain::parcel::{ParcelChange, ParcelLabel, ParcelMove, ParcelRefusal};
use domain::returns::{ReturnRefusal, ReturnStep};
use domain::{
    GoodsReturn, Order, OrderId, OrderNumber, OrderStatus, Parcel, ParcelState, SaleId, ShopSettings, UserId,
};
use store::{ParcelActor, Store, StoreResult};

/// Lines of one file. All of it is one transaction, and other writers of SQLite wait for it.
pub const MAX_LINES: usize = 200;
/// What the first cell of a header may be.
const HEADERS: [&str; 7] = ["order_id", "order id", "order", "number", "order number", "订单号", "订单编号"];

/// One line of a file: what happens with it, or the field that is wrong with the code that says how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelLine {
    /// Counted from 1, as a spreadsheet does.
    pub line: u64,
    /// The first cell, as it was entered.
    pub order: String,
    pub outcome: Result<ParcelChange, (&'static str, &'static str)>,
}

/// What becomes of a file of parcels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelReport {
    pub lines: Vec<ParcelLine>,
    /// Whether all lines were carried out. Otherwise none was.
    pub is_done: bool,
}

impl ParcelReport {
    pub fn is_refused(&self) -> bool {
        self.lines.iter().any(|line| line.outcome.is_err())
    }

    /// The lines with this change.
    pub fn count(&self, is_change: fn(&ParcelChange) -> bool) -> usize {
        self.lines.iter().filter(|line| line.outcome.as_ref().is_ok_and(is_change)).count()
    }
}

#[boxed]
impl Orders {
    /// Moves a parcel, or corrects its label.
    pub async fn move_parcel(
        &self,
        wanted: &ParcelMove,
        actor: ParcelActor<'_>,
    ) -> StoreResult<Result<ParcelChange, ParcelRefusal>> {
        let mut outcomes = self.store.orders().move_parcels(std::slice::from_ref(wanted), actor, false).await?;
        let outcome = outcomes.pop().unwrap_or(Err(ParcelRefusal::NoSuchOrder));
        let refused = outcome.as_ref().err().map(|refusal| refusal.as_str());
        info!(order = %wanted.order, to = %wanted.to, %actor, refused, "parcel asked to move");
        Ok(outcome)
    }

    /// The day on which the parcel counts as delivered if nobody says where it is, and whether returns may be asked for then.
    pub fn counts_as_delivered(
        &self,
        status: OrderStatus,
        parcel: Option<&Parcel>,
        shop: &ShopSettings,
    ) -> Option<(Date, bool)> {
        let at = parcel?.counts_as_delivered(self.returns.delivered_days).filter(|_| status == OrderStatus::Paid)?;
        Some((at.to_zoned(shop.zone()).date(), self.returns.days > 0))
    }

    /// The parcels of these orders. Unpaid orders have none, and are not looked up.
    pub async fn parcels(&self, of: &[Order]) -> StoreResult<HashMap<OrderId, Parcel>> {
        let may_have = |order: &&Order| !matches!(order.status, OrderStatus::Unpaid | OrderStatus::Rejected);
        let ids: Vec<OrderId> = of.iter().filter(may_have).map(|order| order.id).collect();
        self.store.orders().parcels_of(&ids).await
    }

    /// The owner of an order confirms that its parcel came.
    pub async fn confirm_receipt(
        &self,
        user: UserId,
        sale: SaleId,
        id: OrderId,
    ) -> Result<Result<ParcelChange, ParcelRefusal>, OrderRefusal> {
        let order = self.find_persisted(user, sale, id).await?;
        let (to, label) = (ParcelState::Delivered, ParcelLabel::default());
        let wanted = ParcelMove { order: order.id, to, label, seen: None };
        Ok(self.move_parcel(&wanted, ParcelActor::Owner(user)).await?)
    }

    /// Reads a file of sent parcels: order's number or id, carrier, number. Unless `is_rehearsed`, and if no line is refused, carries out
    /// all lines; otherwise none. An error is the code of what is wrong with the whole file.
    pub async fn import_parcels(
        &self,
        text: &str,
        actor: &str,
        is_rehearsed: bool,
    ) -> StoreResult<Result<ParcelReport, &'static str>> {
        let records = match records(text) {
            Ok(records) => records,
            Err(code) => return Ok(Err(code)),
        };
        let numbers: Vec<OrderNumber> = records.iter().filter_map(|(_, record)| cell(record, 0).parse().ok()).collect();
        let known = self.store.orders().with_numbers(&numbers).await?;
        let read: Vec<ReadLine> = records.iter().map(|(line, record)| read_line(*line, record, &known)).collect();
        let moves: Vec<ParcelMove> = read.iter().filter_map(|line| line.wanted.as_ref().ok().cloned()).collect();
        let is_rehearsed = is_rehearsed || moves.len() < read.len();
        let outcomes = self.store.orders().move_parcels(&moves, ParcelActor::Staff(actor), is_rehearsed).await?;
        let mut outcomes = outcomes.into_iter();
        let mut judged = |line: ReadLine| ParcelLine {
            line: line.line,
            order: line.order,
            outcome: line.wanted.and_then(|_| {
                let outcome = outcomes.next().unwrap_or(Err(ParcelRefusal::NoSuchOrder));
                outcome.map_err(|refusal| ("order", refusal.as_str()))
            }),
        };
        let lines: Vec<ParcelLine> = read.into_iter().map(&mut judged).collect();
        let mut report = ParcelReport { lines, is_done: false };
        report.is_done = !is_rehearsed && !report.is_refused();
        info!(lines = report.lines.len(), is_done = report.is_done, actor, "file of parcels read");
        Ok(Ok(report))
    }
}

/// Parcels that count as delivered per step.
const MAX_DELIVERED: i64 = 100;

/// Lets parcels that were sent so many days ago count as delivered, so that the time for their returns begins. Returns the
/// number of those that were due.
#[boxed]
pub async fn deliver_overdue(store: &Store, days: u32) -> StoreResult<usize> {
    if days == 0 {
        return Ok(0);
    }
    let sent_before = store.now().await? - Duration::from_secs(24 * 3600) * days;
    let due = store.orders().parcels_sent_before(sent_before, MAX_DELIVERED).await?;
    for (order, version) in &due {
        let (to, label) = (ParcelState::Delivered, ParcelLabel::default());
        let wanted = ParcelMove { order: *order, to, label, seen: Some(*version) };
        let outcomes = store.orders().move_parcels(&[wanted], ParcelActor::Clock, false).await?;
        let refused = outcomes.iter().find_map(|outcome| outcome.as_ref().err()).map(|refusal| refusal.as_str());
        info!(%order, refused, days, "parcel counts as delivered");
    }
    Ok(due.len())
}

struct ReadLine {
    line: u64,
    order: String,
    wanted: Result<ParcelMove, (&'static str, &'static str)>,
}

/// The lines of a file, without its header and empty lines. Spreadsheets of some countries separate cells with semicolons.
fn records(text: &str) -> Result<Vec<(u64, StringRecord)>, &'static str> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let first = text.lines().next().unwrap_or_default();
    let separator = [b',', b';', b'\t'].into_iter().find(|mark| first.as_bytes().contains(mark)).unwrap_or(b',');
    let mut reader = ReaderBuilder::new();
    let reader = reader.delimiter(separator).flexible(true).has_headers(false).trim(Trim::All);
    let mut lines = Vec::new();
    for record in reader.from_reader(text.as_bytes()).records() {
        let record = record.map_err(|_| "bad_csv")?;
        let is_header = lines.is_empty() && HEADERS.contains(&cell(&record, 0).to_lowercase().as_str());
        if is_header || record.iter().all(str::is_empty) {
            continue;
        }
        if lines.len() == MAX_LINES {
            return Err("too_many_lines");
        }
        lines.push((record.position().map_or(0, csv::Position::line), record));
    }
    if lines.is_empty() { Err("required") } else { Ok(lines) }
}

/// A cell without the apostrophe that keeps a spreadsheet from taking a number for one.
fn cell(record: &StringRecord, at: usize) -> &str {
    record.get(at).unwrap_or_default().trim_start_matches('\'')
}

/// `known` are the orders that the file names by their numbers.
fn read_line(line: u64, record: &StringRecord, known: &HashMap<OrderNumber, OrderId>) -> ReadLine {
    let wanted = || {
        let name = cell(record, 0).to_ascii_lowercase();
        let order = match name.parse::<OrderNumber>() {
            Ok(number) => *known.get(&number).ok_or(("order", ParcelRefusal::NoSuchOrder.as_str()))?,
            Err(()) => name.parse().map_err(|_| ("order", "bad_id"))?,
        };
        for (at, field) in [(1, "carrier"), (2, "number")] {
            if cell(record, at).is_empty() {
                return Err((field, "required"));
            }
        }
        let label = ParcelLabel::check(cell(record, 1), cell(record, 2)).map_err(|errors| errors[0])?;
        Ok(ParcelMove { order, to: ParcelState::Shipped, label, seen: None })
    };
    ReadLine { line, order: cell(record, 0).to_owned(), wanted: wanted() }
}

#[boxed]
impl Orders {
    /// The return of an order. Orders that were never paid are not looked up.
    pub async fn goods_return(&self, of: &Order) -> StoreResult<Option<GoodsReturn>> {
        match was_paid(of) {
            true => self.store.orders().return_of(of.id).await,
            false => Ok(None),
        }
    }

    /// Until when the owner of an order with this parcel may ask for a return. `None` if it is not delivered.
    pub fn returnable_until(
        &self,
        status: OrderStatus,
        parcel: Option<&Parcel>,
        shop: &ShopSettings,
    ) -> Option<Timestamp> {
        self.returns.until(parcel, shop.zone()).filter(|_| status == OrderStatus::Paid)
    }

    /// A step of the owner of an order.
    pub async fn move_own_return(
        &self,
        user: UserId,
        (sale, id): (SaleId, OrderId),
        step: &ReturnStep,
    ) -> Result<Result<(), ReturnRefusal>, OrderRefusal> {
        let order = self.find_persisted(user, sale, id).await?;
        Ok(self.move_return(order.id, step, ParcelActor::Owner(user)).await?)
    }

    /// A step of a member of the staff. `by` is the account of `actor`.
    pub async fn answer_return(
        &self,
        order: &Order,
        step: &ReturnStep,
        (by, actor): (UserId, &str),
    ) -> StoreResult<Result<(), ReturnRefusal>> {
        if order.user_id == by {
            return Ok(Err(ReturnRefusal::OwnOrder));
        }
        self.move_return(order.id, step, ParcelActor::Staff(actor)).await
    }

    async fn move_return(
        &self,
        id: OrderId,
        step: &ReturnStep,
        actor: ParcelActor<'_>,
    ) -> StoreResult<Result<(), ReturnRefusal>> {
        let shop = self.store.shop_settings().get().await?;
        let outcome = self.store.orders().move_return(id, step, actor, (&self.returns, &shop)).await?;
        let refused = outcome.err().map(ReturnRefusal::as_str);
        info!(order = %id, %actor, refused, "return asked to move");
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: &str = "0198c0de-0000-7000-8000-000000000001";

    /// A tracking number, or the wrong field with its code.
    type Number = Result<String, (&'static str, &'static str)>;

    fn read(text: &str) -> Vec<(u64, Number)> {
        let number = |wanted: ParcelMove| wanted.label.number.unwrap_or_default();
        let known = HashMap::from([(OrderNumber::new(20_261_128, 137), ORDER.parse().unwrap())]);
        let lines = records(text).unwrap();
        let read = lines.iter().map(|(line, record)| read_line(*line, record, &known));
        read.map(|line| (line.line, line.wanted.map(number))).collect()
    }

    #[test]
    fn lines_are_read_as_spreadsheets_write_them() {
        let number = || Ok("SF1234567".to_owned());
        assert_eq!(
            read(&format!("\u{feff}order_id,carrier,number\r\n{ORDER}, 顺丰 ,SF1234567\r\n\r\n")),
            [(2, number())]
        );
        assert_eq!(read(&format!("订单号;承运商;单号\n{};sf;'sf1234567\n", ORDER.to_uppercase())), [(2, number())]);
        assert_eq!(read(&format!("{ORDER}\tsf\tSF1234567")), [(1, number())]);
        assert_eq!(read("number,carrier\n20261128-000137,sf,SF1234567\n"), [(2, number())]);
    }

    #[test]
    fn each_wrong_line_says_what_is_wrong() {
        let text = format!(
            "x,sf,SF1234567\n20261128-000138,sf,SF1234567\n{ORDER},,SF1234567\n{ORDER},sf\n{ORDER},sf,1.23E+12\n"
        );
        let expected = [
            ("order", "bad_id"),
            ("order", "not_found"),
            ("carrier", "required"),
            ("number", "required"),
            ("number", "bad_tracking_number"),
        ];
        assert_eq!(read(&text).into_iter().map(|line| line.1.unwrap_err()).collect::<Vec<_>>(), expected);
        let code = |text: &str| records(text).err();
        assert_eq!((code(""), code("order_id,carrier,number\n")), (Some("required"), Some("required")));
        assert_eq!(code(&format!("{ORDER},sf,SF1234567\n").repeat(MAX_LINES + 1)), Some("too_many_lines"));
    }
}
