//! One sale's definition: read with its version, and changed, if wanted, only while it still has that version.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ETAG;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::StaffCallTo;
use crate::sales::api::{PlannedSale, overlap, plan_warnings, planned};
use control::sales_admin::{ChangedSale, SaleCommand};
use domain::{Sale, SaleId, SalePatch, SaleState};
use store::{Announce, Redefinition, SaleDraft, SaleRefusal, SaveOptions};
use web::cache_policy::Cache;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::{Json, PathIds, entity_tag, expected_versions};
use web::problem::{Code, Problem};

#[derive(Serialize, JsonSchema)]
struct SaleResponse {
    sale: Sale,
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, SaleId>) -> Result<Response, Problem> {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NoSuchSale)?;
    Ok((Cache::Private, [(ETAG, entity_tag(sale.version))], axum::Json(SaleResponse { sale })).into_response())
}

/// Changes a sale that has not begun. With `If-Match`, only if it has a version that it names. Without it, absent
/// fields stay as they are at that moment.
pub async fn edit(
    (State(shop), admin, PathIds(id)): StaffCallTo<ManageSales, SaleId>,
    headers: HeaderMap,
    Json(patch): Json<SalePatch>,
) -> Result<Response, Problem> {
    let options = SaveOptions {
        announce: match patch.draft {
            None => Announce::ByWindow,
            Some(true) => Announce::Draft,
            Some(false) => Announce::Schedule,
        },
        overlap: overlap(patch.allow_overlap),
        versions: expected_versions(&headers),
        ..SaveOptions::default()
    };
    let is_draft = patch.draft == Some(true);
    let patch = SalePatch { draw_beacon: shop.config.draw_beacon, ..patch };
    let command = SaleCommand::Edit(Box::new(Redefinition::Patch(patch)), options);
    let ChangedSale { sale, applied } =
        shop.sales_admin.change(id, command, admin.actor()).await.map_err(|refusal| match refusal {
            SaleRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            refusal => Problem::from(refusal),
        })?;
    let mut warnings = plan_warnings(&SaleDraft::from(&sale), is_draft, shop.clock.now());
    if sale.state == SaleState::Draft {
        warnings.retain(|warning| warning.code != "in_past");
    }
    Ok(planned(&shop, sale, Some(applied), warnings).await?.into_response())
}

web::operations! { "administrators"
    /// A sale with its version
    GET "/api/admin/sales/{sale}" showSale = show, versioned;
        200 SaleResponse;
        refuses NoSuchSale;
    /// Change a sale that has not started; absent fields stay as they are
    PATCH "/api/admin/sales/{sale}" editSale = edit, if_match, versioned;
        200 PlannedSale;
        refuses NoSuchSale WrongState Overlap GoodsArchived;
}
