//! One sale's definition: read with its version, and changed, if wanted, only while it still has that version.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ETAG;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::StaffCallTo;
use crate::sales::api::{PlannedSale, overlap, plan_warnings, planned, yes};
use control::sales_admin::{ChangedSale, SaleCommand};
use domain::draw::Beacon;
use domain::{EligibilityChange, GoodsId, ModeChange, ModeName, Money, Sale, SaleId, SaleState};
use store::{Announce, Redefinition, SaleDraft, SalePatch, SaleRefusal, SaveOptions};
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

/// Absent fields stay as they are; `null` removes a value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaleEdit {
    goods_id: Option<GoodsId>,
    price: Option<Money>,
    #[serde(default, deserialize_with = "present")]
    list_price: Option<Option<Money>>,
    #[schemars(range(min = 1))]
    total: Option<i64>,
    #[schemars(range(min = 1))]
    per_user_limit: Option<i64>,
    #[serde(default, deserialize_with = "present")]
    opens_at: Option<Option<Timestamp>>,
    #[serde(default, deserialize_with = "present")]
    closes_at: Option<Option<Timestamp>>,
    /// Number of Redis buckets that the stock is split into; 1 means no split. Fixed once the sale is loaded (422
    /// `split_fixed`).
    #[schemars(range(min = 1, max = 64))]
    buckets: Option<u8>,
    /// Units that a bucket gets at a time; 0 distributes everything at once.
    #[schemars(range(min = 0))]
    lot: Option<i64>,
    /// Milliseconds after the start over which accounts spread their first requests. From 1000 on the shop enforces it:
    /// each account has a moment of its own.
    #[schemars(range(min = 0, max = 600000))]
    spread_ms: Option<i64>,
    /// `queue`: a waiting room, whose order is shuffled after the opening; needs an opening time. `draw`: people enter,
    /// and a draw decides; needs both times and a limit of one.
    mode: Option<ModeName>,
    /// Seconds before the opening from which shoppers may join a waiting room; by default half an hour.
    #[schemars(range(min = 0, max = 86400))]
    queue_prequeue_s: Option<i64>,
    /// Seconds after the opening in which shoppers who join still count as come at once; by default ten.
    #[schemars(range(min = 0, max = 600))]
    queue_gather_s: Option<i64>,
    /// Seconds that a shopper who is called has to buy; by default three minutes.
    #[schemars(range(min = 10, max = 3600))]
    queue_seat_s: Option<i64>,
    /// Seconds that winners of a draw have to pay; by default a day.
    #[schemars(range(min = 60, max = 2592000))]
    draw_window_s: Option<i64>,
    /// Seconds between the closing and the lock of the list; by default ten minutes.
    #[schemars(range(min = 0, max = 604800))]
    draw_review_s: Option<i64>,
    /// Accounts that were registered later may not take part.
    #[serde(default, deserialize_with = "present")]
    accounts_before: Option<Option<Timestamp>>,
    /// Whether the sale asks for a verified mail address.
    verified_contact: Option<bool>,
    /// Whether one account takes part for each mailbox.
    one_per_contact: Option<bool>,
    /// Whether one account takes part for each delivery address.
    one_per_address: Option<bool>,
    /// Whether the sale asks for an invitation code.
    invitation: Option<bool>,
    /// ¥1 to ¥10,000, set aside from the wallet of an account that takes part, and given back in full.
    #[serde(default, deserialize_with = "present")]
    deposit: Option<Option<Money>>,
    /// `true` hides the sale from shoppers, `false` schedules it. When absent, the state changes only if an opening
    /// time was given or removed.
    draft: Option<bool>,
    /// `false`: refused if another sale of the same product overlaps.
    #[serde(default = "yes")]
    allow_overlap: bool,
}

impl SaleEdit {
    fn announce(&self) -> Announce {
        match self.draft {
            None => Announce::ByWindow,
            Some(true) => Announce::Draft,
            Some(false) => Announce::Schedule,
        }
    }

    fn patch(self, draw_beacon: Option<Beacon>) -> SalePatch {
        SalePatch {
            goods_id: self.goods_id,
            price: self.price,
            list_price: self.list_price,
            total: self.total,
            per_user_limit: self.per_user_limit,
            opens_at: self.opens_at,
            closes_at: self.closes_at,
            buckets: self.buckets,
            lot: self.lot,
            spread_ms: self.spread_ms,
            mode: ModeChange {
                name: self.mode,
                queue_prequeue_s: self.queue_prequeue_s,
                queue_gather_s: self.queue_gather_s,
                queue_seat_s: self.queue_seat_s,
                draw_window_s: self.draw_window_s,
                draw_review_s: self.draw_review_s,
                draw_beacon,
            },
            eligibility: EligibilityChange {
                accounts_before: self.accounts_before,
                verified_contact: self.verified_contact,
                one_per_contact: self.one_per_contact,
                one_per_address: self.one_per_address,
                invitation: self.invitation,
                deposit: self.deposit,
            },
        }
    }
}

/// Distinguishes `null` from an absent field.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Changes a sale that has not begun. With `If-Match`, only if it has a version that it names. Without it, absent
/// fields stay as they are at that moment.
pub async fn edit(
    (State(shop), admin, PathIds(id)): StaffCallTo<ManageSales, SaleId>,
    headers: HeaderMap,
    Json(edit): Json<SaleEdit>,
) -> Result<Response, Problem> {
    let options = SaveOptions {
        announce: edit.announce(),
        overlap: overlap(edit.allow_overlap),
        versions: expected_versions(&headers),
        ..SaveOptions::default()
    };
    let is_draft = edit.draft == Some(true);
    let command = SaleCommand::Edit(Box::new(Redefinition::Patch(edit.patch(shop.config.draw_beacon))), options);
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
