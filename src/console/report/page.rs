//! The report of a sale, beside an earlier one, as a page and as a CSV file.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream;

use crate::StaffVisitTo;
use crate::lists::csv::{Record, download};
use crate::report::computing::{PAGE_PATIENCE, computing, reloading};
use crate::report::computing_view::ComputingPage;
use crate::report::view::ReportPage;
use control::cockpit::report::{FigureValue, SaleReport};
use domain::{Sale, SaleId};
use store::StoreError;
use web::Shop;
use web::extract::PathIds;
use web::extract::session::{Staff, ViewConsole};
use web::problem::{Code, Problem};
use web::shared::goods::goods_name_and_cover;
use web::shared::response::personal;

const HEADER: [&str; 6] = ["section", "name", "from_ms", "value", "earlier", "difference"];

/// A sale and the one before it.
async fn sales(shop: &Shop, id: SaleId) -> Result<(Sale, Option<Sale>), Problem> {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NoSuchSale)?;
    let earlier = shop.store.sales().sale_before(&sale).await?;
    Ok((sale, earlier))
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
) -> Result<Response, Problem> {
    let (sale, earlier) = sales(&shop, id).await?;
    let entry = shop.catalogue.entry(id).await?;
    let goods_name = goods_name_and_cover(entry.as_deref(), visitor.locale).0;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}/report?lang={}", visitor.locale));
    let digest = async |sale: &Sale| shop.digests.within(PAGE_PATIENCE, sale).await;
    let digests = match &earlier {
        Some(earlier) => {
            let (now, then) = tokio::try_join!(digest(&sale), digest(earlier))?;
            now.zip(then).map(|(now, then)| (now, Some(then)))
        }
        None => digest(&sale).await?.map(|now| (now, None)),
    };
    let Some((now, then)) = digests else {
        let t = words::text(visitor.locale);
        let back = (format!("/admin/sales/{id}"), t.report.back.to_owned());
        return computing(ComputingPage { chrome, sale: id, goods_name, title: t.report.title, back });
    };
    let earlier = match earlier.zip(then) {
        Some((earlier, digest)) => Some(shop.cockpit.report(earlier, digest).await?),
        None => None,
    };
    let report = shop.cockpit.report(sale, now).await?;
    let path = report.is_renewing.then(|| chrome.path.clone());
    let page = personal(StatusCode::OK, &ReportPage { chrome, goods_name, report, earlier })?;
    Ok(match path {
        Some(path) => reloading(page, &path),
        None => page,
    })
}

/// Figures and the numbers behind the plots. They name no account.
pub async fn export(
    State(shop): State<Arc<Shop>>,
    _: Staff<ViewConsole>,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
    let (sale, earlier) = sales(&shop, id).await?;
    let earlier = match earlier {
        Some(earlier) => {
            let digest = shop.digests.wait(&earlier).await?;
            Some(shop.cockpit.report(earlier, digest).await?)
        }
        None => None,
    };
    let digest = shop.digests.wait(&sale).await?;
    let report = shop.cockpit.report(sale, digest).await?;
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
