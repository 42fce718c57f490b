//! Sales: planning, running, and the list with live counters. The definition of one sale is read with its version, and
//! changed, if wanted, only while it still has that version.

use std::borrow::Cow;

use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use schemars::{Schema, SchemaGenerator, json_schema};

use crate::prelude::*;
use crate::sales::form::finding_sentence;
use control::checklist::{CheckState, ChecklistItem};
use control::sales_admin::{AppliedParts, ChangedSale, SaleCommand};
use domain::{Phase, SalePatch};
use store::{Announce, MAX_SALE_UNITS, OverlapPolicy, Redefinition, SaleDraft, SaleRefusal, SaveOptions};
use web::shared::validation::{check_sale, check_window, doubts};

/// A sale to create: what has no default, and any other values.
#[derive(Deserialize)]
#[serde(try_from = "SalePatch")]
pub struct NewSale(SalePatch);

impl TryFrom<SalePatch> for NewSale {
    type Error = String;

    fn try_from(new: SalePatch) -> Result<NewSale, String> {
        let given = [new.goods_id.is_some(), new.price.is_some(), new.total.is_some(), new.per_user_limit.is_some()];
        match NewSale::REQUIRED.into_iter().zip(given).find(|(_, is_given)| !is_given) {
            Some((field, _)) => Err(format!("missing field `{field}`")),
            None => Ok(NewSale(new)),
        }
    }
}

impl NewSale {
    const REQUIRED: [&str; 4] = ["goods_id", "price", "total", "per_user_limit"];
}

impl JsonSchema for NewSale {
    fn schema_name() -> Cow<'static, str> {
        "NewSale".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SalePatch::json_schema(generator);
        // In a patch `null` is as good as an absent field. A new sale needs these.
        let number = json_schema!({"type": "integer", "format": "int64", "minimum": 1});
        let (goods, price) = (generator.subschema_for::<GoodsId>(), generator.subschema_for::<Money>());
        let fields = schema.ensure_object();
        for (field, needed) in NewSale::REQUIRED.into_iter().zip([goods, price, number.clone(), number]) {
            fields["properties"][field] = needed.into();
        }
        schema.insert("required".into(), NewSale::REQUIRED.into());
        schema
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    allow_overlap: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StockTopUpRequest {
    #[schemars(range(min = 1))]
    units: i64,
}

answers! {
    OneSale { sale: Sale, stock: AppliedParts }
    SaleList { sales: Vec<SaleListItem>, queue: QueueDepth; next: SaleId }
    QueueDepth { ready: Option<i64> }
    SaleResponse { sale: Sale }
}

/// A sale that was accepted, with warnings about values that are probably not intended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlannedSale {
    sale: Sale,
    /// How many parts of the stock have the change. Absent for a new sale.
    #[serde(skip_serializing_if = "Option::is_none")]
    stock: Option<AppliedParts>,
    /// Accepted, but probably not intended.
    warnings: Vec<PlanWarning>,
}

/// A value that was accepted and is probably not intended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlanWarning {
    field: &'static str,
    #[schemars(extend("enum" = ["in_past", "too_short", "not_lower", "overlap"]))]
    pub(crate) code: &'static str,
    /// The other sale that the warning is about, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    sale_id: Option<SaleId>,
}

pub async fn create(
    (State(shop), admin): StaffCall<ManageSales>,
    Repeatable(request): Repeatable,
    Json(NewSale(new)): Json<NewSale>,
) -> Answer {
    let new = SalePatch { draw_beacon: shop.config.draw_beacon, ..new };
    let is_draft = new.draft == Some(true);
    let announce = if is_draft { Announce::Draft } else { Announce::ByWindow };
    let form_key = request.map(|RequestId(id)| id.to_string());
    let options = SaveOptions { announce, overlap: overlap(new.allow_overlap), form_key, ..SaveOptions::default() };
    let draft = checked(SaleDraft::blank().with(&new))?;
    let warnings = plan_warnings(&draft, is_draft, shop.clock.now());
    let sale = shop.sales_admin.create_sale(draft, &options, admin.actor()).await?;
    let location = [(LOCATION, format!("/api/admin/sales/{}", sale.id))];
    Ok((StatusCode::CREATED, location, planned(&shop, sale, None, warnings).await?).into_response())
}

pub(crate) fn overlap(allowed: Option<bool>) -> OverlapPolicy {
    if allowed == Some(false) { OverlapPolicy::Refuse } else { OverlapPolicy::Allow }
}

fn plan_warnings(draft: &SaleDraft, is_draft: bool, now: Timestamp) -> Vec<PlanWarning> {
    let found = check_window(draft.window, is_draft, now).into_iter().chain(doubts(draft));
    found.map(|FieldError { field, code }| PlanWarning { field, code, sale_id: None }).collect()
}

pub(crate) async fn planned(
    shop: &Shop,
    sale: Sale,
    stock: Option<AppliedParts>,
    mut warnings: Vec<PlanWarning>,
) -> Result<impl IntoResponse, Problem> {
    let version = (ETAG, entity_tag(sale.version));
    if let Some(other) = shop.store.sales().overlapping(&sale).await? {
        warnings.push(PlanWarning { field: "opens_at", code: "overlap", sale_id: Some(other) });
    }
    Ok(([version], Json(PlannedSale { sale, stock, warnings })))
}

/// Schedules a draft.
pub async fn schedule((State(shop), admin, PathIds(id)): Call, request: Request) -> Answer {
    let body = match request.headers().contains_key(CONTENT_TYPE) {
        true => Json::<ScheduleRequest>::from_request(request, &shop).await?.0,
        false => ScheduleRequest::default(),
    };
    let overlap = overlap(body.allow_overlap);
    let ChangedSale { sale, applied } =
        shop.sales_admin.change(id, SaleCommand::Schedule(overlap), admin.actor()).await?;
    Ok(planned(&shop, sale, Some(applied), Vec::new()).await?.into_response())
}

/// Deletes a draft.
pub async fn delete((State(shop), admin, PathIds(id)): Call) -> Answer {
    shop.sales_admin.delete_draft(id, admin.actor()).await?;
    Ok(no_content())
}

#[derive(Serialize, JsonSchema)]
struct ChecklistResponse {
    sale_id: SaleId,
    /// No check failed; there may be warnings.
    ready: bool,
    checks: Vec<ChecklistItemJson>,
}

#[derive(Serialize, JsonSchema)]
struct ChecklistItemJson {
    #[serde(flatten)]
    check: ChecklistItem,
    /// One sentence, in the language of the request.
    text: String,
}

/// The checks before the sale begins.
pub async fn checklist(
    (State(shop), _): StaffCall<ViewConsole>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
) -> Answer {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NoSuchSale)?;
    let checks = shop.sales_admin.checklist(&sale).await?;
    let ready = checks.iter().all(|check| check.state != CheckState::NotOk);
    let checks = checks.into_iter();
    let checks =
        checks.map(|check| ChecklistItemJson { text: finding_sentence(visitor.locale, &check), check }).collect();
    Ok(private(ChecklistResponse { sale_id: id, ready, checks }))
}

fn checked(draft: SaleDraft) -> Result<SaleDraft, Problem> {
    let errors = check_sale(&draft);
    match errors.is_empty() {
        true => Ok(draft),
        false => Err(Problem::invalid(errors)),
    }
}

type Call = StaffCallTo<ManageSales, SaleId>;

handlers! {
    change(call: Call)
    unschedule SaleCommand::Unschedule;
    start SaleCommand::Start;
    pause SaleCommand::Pause;
    resume SaleCommand::Resume;
    stop SaleCommand::Stop;
}

pub async fn top_up(
    call: Call,
    Repeatable(request): Repeatable,
    Json(StockTopUpRequest { units }): Json<StockTopUpRequest>,
) -> Answer {
    if !(1..=MAX_SALE_UNITS).contains(&units) {
        return Err(Problem::invalid_field("units", "bad_number"));
    }
    change(call, SaleCommand::TopUp(units, request)).await
}

async fn change((State(shop), admin, PathIds(id)): Call, change: SaleCommand) -> Answer {
    let ChangedSale { sale, applied } = shop.sales_admin.change(id, change, admin.actor()).await?;
    Ok(Json(OneSale { sale, stock: applied }).into_response())
}

/// A sale with its counters. A counter is `null` if its backend is not configured or did not answer.
#[derive(Serialize, JsonSchema)]
struct SaleListItem {
    id: SaleId,
    state: SaleState,
    phase: Phase,
    total: i64,
    sold: i64,
    booked: Option<i64>,
    access: Option<i64>,
    outbox: Option<i64>,
    unpaid: i64,
    paid: i64,
    /// What was paid for the goods, in words: the units of paid orders at the price of the sale.
    paid_amount: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SalesQuery {
    /// Only sales that have not ended.
    current: bool,
    #[schemars(with = "SaleId")]
    before: Cursor,
}

/// Sales in one answer, unless only the current ones are asked for.
const SALES_PAGE_SIZE: usize = 100;

/// Sales with their live counters, newest first.
pub async fn list((State(shop), _): StaffCall<ViewConsole>, Query(query): Query<SalesQuery>) -> Answer {
    let before = query.before.read("before")?;
    let overview = match query.current {
        true => shop.sales_admin.current().await?,
        false => shop.sales_admin.overview(before, SALES_PAGE_SIZE).await?,
    };
    let now = shop.clock.now();
    let sales = overview.sales.into_iter().map(|row| SaleListItem {
        id: row.sale.id,
        state: row.sale.state,
        phase: row.status.map_or_else(|| row.sale.phase(now), |status| status.phase),
        total: row.sale.total,
        sold: row.sale.sold,
        booked: row.status.and_then(|status| status.booked),
        access: row.status.and_then(|status| status.access),
        outbox: row.outbox,
        unpaid: row.unpaid,
        paid: row.paid,
        paid_amount: Money::new(row.sale.price.amount.saturating_mul(row.paid_units), row.sale.price.currency)
            .to_string(),
    });
    let list =
        SaleList { sales: sales.collect(), queue: QueueDepth { ready: overview.queue_ready }, next: overview.next };
    Ok(private(list))
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, SaleId>) -> Answer {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NoSuchSale)?;
    Ok(versioned(sale.version, SaleResponse { sale }))
}

/// Changes a sale that has not begun. With `If-Match`, only if it has a version that it names. Without it, absent
/// fields stay as they are at that moment.
pub async fn edit((State(shop), admin, PathIds(id)): Call, headers: HeaderMap, Json(patch): Json<SalePatch>) -> Answer {
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
    /// Sales with their live numbers, newest first
    GET "/api/admin/sales" listAllSales = list;
        200 SaleList, "`null` if the service is not configured or did not answer.";
    /// Create a sale
    POST "/api/admin/sales" createSale = create, located;
        201 PlannedSale, "Scheduled if it has a start time and `draft` is not set.";
        refuses Overlap GoodsArchived;
    /// Delete a draft
    DELETE "/api/admin/sales/{sale}" deleteSale = delete;
        204 ();
        refuses NoSuchSale WrongState;
    /// The checklist before a sale starts
    GET "/api/admin/sales/{sale}/checklist" showChecklist = checklist, language;
        200 ChecklistResponse, "Informative: a failed check does not prevent the start.";
        refuses NoSuchSale;
    /// Pause a sale
    POST "/api/admin/sales/{sale}/pause" pauseSale = pause;
        200 OneSale;
        refuses NoSuchSale WrongState;
    /// Resume a paused sale
    POST "/api/admin/sales/{sale}/resume" resumeSale = resume;
        200 OneSale;
        refuses NoSuchSale WrongState;
    /// Schedule a draft
    POST "/api/admin/sales/{sale}/schedule" scheduleSale = schedule, optional_body<ScheduleRequest>;
        200 PlannedSale;
        refuses NoSuchSale WrongState Overlap GoodsArchived;
    /// Start a sale now, regardless of its start time
    POST "/api/admin/sales/{sale}/start" startSale = start;
        200 OneSale;
        refuses NoSuchSale WrongState GoodsArchived;
    /// Stop a sale permanently
    POST "/api/admin/sales/{sale}/stop" stopSale = stop;
        200 OneSale;
        refuses NoSuchSale WrongState;
    /// Add units to a sale
    POST "/api/admin/sales/{sale}/top-up" topUpSale = top_up;
        200 OneSale;
        refuses NoSuchSale WrongState;
    /// Return a scheduled sale to draft
    POST "/api/admin/sales/{sale}/unschedule" unscheduleSale = unschedule;
        200 OneSale;
        refuses NoSuchSale WrongState;
    /// A sale with its version
    GET "/api/admin/sales/{sale}" showSale = show, versioned;
        200 SaleResponse;
        refuses NoSuchSale;
    /// Change a sale that has not started; absent fields stay as they are
    PATCH "/api/admin/sales/{sale}" editSale = edit, if_match, versioned;
        200 PlannedSale;
        refuses NoSuchSale WrongState Overlap GoodsArchived;
}
