//! The stock of a sale, as the other shop's own books have it: the whole number of units, or a difference.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use control::sales_admin::SaleCommand;
use domain::{Sale, SaleId};
use store::{MAX_SALE_UNITS, SaleRefusal};
use web::extract::session::{ManageSales, Staff};
use web::extract::{Json, PathIds, expected_versions};
use web::idempotency::Repeatable;
use web::problem::{Code, Problem};
use web::shared::validation::check;
use web::{Answer, Shop, versioned};

#[derive(Serialize, JsonSchema)]
struct SaleStock {
    sale_id: SaleId,
    /// All units of the sale, sold or not.
    #[schemars(range(min = 1))]
    total: i64,
    /// Units of orders that are in the database. Some more may be on their way there.
    sold: i64,
}

#[derive(Serialize, JsonSchema)]
struct StockAnswer {
    stock: SaleStock,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TotalBody {
    #[schemars(range(min = 1, max = 1_000_000_000))]
    total: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitsBody {
    /// Units to add, or with a minus to take back. Not zero.
    #[schemars(range(min = -1_000_000_000, max = 1_000_000_000))]
    units: i64,
}

/// What every handler of this file extracts.
type Call = (State<Arc<Shop>>, Staff<ManageSales>, PathIds<SaleId>);

fn answer(sale: &Sale) -> Response {
    let stock = SaleStock { sale_id: sale.id, total: sale.total, sold: sale.sold };
    versioned(sale.version, StockAnswer { stock })
}

pub async fn show((State(shop), _, PathIds(sale)): Call) -> Answer {
    Ok(answer(&shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?))
}

/// Replaces the number of units. With `If-Match`, only that of a version that the header names.
pub async fn replace(call: Call, headers: HeaderMap, Json(TotalBody { total }): Json<TotalBody>) -> Answer {
    check([((1..=MAX_SALE_UNITS).contains(&total), "total", "bad_number")])?;
    change(call, SaleCommand::SetTotal(total, expected_versions(&headers))).await
}

/// Adds units, or takes unsold ones back.
pub async fn add(call: Call, Repeatable(request): Repeatable, Json(UnitsBody { units }): Json<UnitsBody>) -> Answer {
    check([(units != 0 && (-MAX_SALE_UNITS..=MAX_SALE_UNITS).contains(&units), "units", "bad_number")])?;
    change(call, SaleCommand::TopUp(units, request)).await
}

async fn change((State(shop), staff, PathIds(sale)): Call, command: SaleCommand) -> Answer {
    let changed = shop.sales_admin.change(sale, command, staff.actor()).await.map_err(|refusal| match refusal {
        SaleRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
        refusal => Problem::from(refusal),
    })?;
    Ok(answer(&changed.sale))
}

web::operations! { "other shops"
    /// The stock of a sale, with its version
    GET "/api/v1/sales/{sale}/stock" showStock = show, versioned;
        200 StockAnswer;
        refuses NoSuchSale;
    /// Replace the number of units of a sale
    ///
    /// Of a sale that has not ended, also while it sells. Never fewer than are sold.
    PUT "/api/v1/sales/{sale}/stock" replaceStock = replace, if_match, versioned;
        200 StockAnswer;
        refuses NoSuchSale WrongState BelowSold UnitsAllotted;
    /// Add units to a sale, or take unsold ones back
    ///
    /// Send it with an `Idempotency-Key`: the units count once, however often it is repeated.
    POST "/api/v1/sales/{sale}/stock" addStock = add, repeatable, versioned;
        200 StockAnswer;
        refuses NoSuchSale WrongState BelowSold UnitsAllotted;
}
