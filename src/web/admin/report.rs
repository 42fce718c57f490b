//! The report of a sale, beside an earlier one, as a page and as a CSV file.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream;

use super::StaffVisitTo;
use crate::cockpit::report::{FigureValue, SaleReport};
use crate::domain::SaleId;
use crate::store::StoreError;
use crate::web::Shop;
use crate::web::extract::PathIds;
use crate::web::extract::session::{Staff, ViewConsole};
use crate::web::problem::{Code, Problem};
use crate::web::shared::csv::{Record, download};
use crate::web::shared::goods::goods_name_and_cover;
use crate::web::shared::response::personal;
use crate::web::views::ReportPage;

const HEADER: [&str; 6] = ["section", "name", "from_ms", "value", "earlier", "difference"];

/// The reports of a sale and of the one before it.
async fn reports(shop: &Shop, id: SaleId) -> Result<(SaleReport, Option<SaleReport>), Problem> {
    let sale = shop.store.sale(id).await?.ok_or(Code::NoSuchSale)?;
    let earlier = match shop.store.sale_before(&sale).await? {
        Some(earlier) => Some(shop.cockpit.report(earlier, &shop.digests).await?),
        None => None,
    };
    Ok((shop.cockpit.report(sale, &shop.digests).await?, earlier))
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
) -> Result<Response, Problem> {
    let (report, earlier) = reports(&shop, id).await?;
    let entry = shop.catalogue.entry(id).await?;
    let goods_name = goods_name_and_cover(entry.as_deref(), visitor.locale).0;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}/report?lang={}", visitor.locale));
    personal(StatusCode::OK, &ReportPage { chrome, goods_name, report, earlier })
}

/// Figures, and the numbers of the plots. They name no account.
pub async fn export(
    State(shop): State<Arc<Shop>>,
    _: Staff<ViewConsole>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let (report, earlier) = reports(&shop, id).await?;
    let records = records(&report, earlier.as_ref());
    Ok(download(&format!("sale-{id}.csv"), &HEADER, stream::iter([Ok::<_, StoreError>(records)])))
}

fn records(report: &SaleReport, earlier: Option<&SaleReport>) -> Vec<Record> {
    let cell = |value: Option<FigureValue>| match value {
        None => String::new(),
        Some(FigureValue::Count(count)) => count.to_string(),
        Some(FigureValue::Amount(amount)) => amount.decimal(),
        Some(FigureValue::Percent(percent)) => format!("{percent:.1}"),
        Some(FigureValue::Milliseconds(ms)) => format!("{ms:.0}"),
    };
    let plain = |section: &str, name: &str, from: Option<i64>, value: String| {
        let from = from.map(|from| from.to_string()).unwrap_or_default();
        vec![section.to_owned(), name.to_owned(), from, value, String::new(), String::new()]
    };
    let mut records: Vec<Record> = Vec::new();
    for (name, now, then) in report.beside(earlier) {
        let difference = now.zip(then).and_then(|(now, then)| now.minus(then));
        let mut record = plain("figures", name.as_str(), None, cell(now));
        record[4..].clone_from_slice(&[cell(then), cell(difference)]);
        records.push(record);
    }
    for (reason, count) in &report.requests.refused {
        records.push(plain("refusals", reason, None, count.to_string()));
    }
    let digest = &report.digest;
    for (name, slots) in [("reserved_units", &digest.reserved), ("paid_units", &digest.paid)] {
        let of_slots = slots.iter().zip(0..).filter(|(units, _)| **units > 0);
        records
            .extend(of_slots.map(|(units, slot)| plain("slots", name, Some(slot * digest.slot_ms), units.to_string())));
    }
    if let Some(opening) = &report.opening {
        for (name, slots) in [("attempts", &opening.asked), ("successes", &opening.accepted)] {
            let of_slots = slots.iter().zip(0..).filter(|(count, _)| **count > 0);
            records.extend(
                of_slots.map(|(count, slot)| plain("opening", name, Some(slot * opening.slot_ms), count.to_string())),
            );
        }
    }
    records
}
