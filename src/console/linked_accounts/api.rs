//! Linked accounts of a sale, and the hold and release of orders, for programs. What a person does about linked
//! accounts is done to their orders, one by one and for a reason. A program does it in the name of a member of the
//! staff.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::StaffCallTo;
use crate::orders::api::{FoundOrderJson, OWN_ORDER, OneOrder, detail, existing_order, found_orders};
use domain::order::check_hold_reason;
use domain::{LinkReason, Money, OrderId, SaleId, UserId};
use orders::holds::{HoldAction, HoldOutcome};
use orders::linked_accounts::{GroupDetail, GroupList, GroupSummary};
use store::AuditReason;
use web::extract::{Json, PathIds, Query, State, SupportShoppers, ViewConsole};
use web::{Answer, Code, Cursor, LARGE_PAGE_SIZE, Problem, Shop, private};

/// How long a program waits while linked accounts are found for the first time. Then the answer asks it to try again.
const PATIENCE: Duration = Duration::from_secs(5);
/// Seconds after which the program tries again.
const RETRY_AFTER_S: u64 = 2;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupsQuery {
    /// The number of groups before the page.
    #[schemars(with = "usize")]
    after: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct GroupsResponse {
    #[serde(rename = "clusters")]
    groups: Vec<GroupJson>,
    /// The number of groups on all pages.
    count: usize,
    /// When the accounts were compared.
    read_at: Timestamp,
    /// For `?after=`; `null` on the last page.
    next: Option<usize>,
}

/// A group of linked accounts, without its members.
#[derive(Serialize, JsonSchema)]
struct GroupJson {
    /// The account that stands for the group.
    id: UserId,
    #[schemars(range(min = 2))]
    members: usize,
    /// For each reason, the number of members that it links to another member.
    reasons: BTreeMap<LinkReason, usize>,
    /// Of unpaid and paid orders.
    totals: TotalsJson,
}

/// Sums over the live orders of a group.
#[derive(Serialize, JsonSchema)]
struct TotalsJson {
    /// Accounts whose orders are summed.
    accounts: usize,
    orders: usize,
    units: u64,
    paid: Option<Money>,
    held: usize,
    /// Those that wait for an answer.
    appeals: usize,
}

impl From<&GroupSummary> for GroupJson {
    fn from(of: &GroupSummary) -> GroupJson {
        let totals = of.totals;
        GroupJson {
            id: of.id,
            members: of.members,
            reasons: of.reasons.clone(),
            totals: TotalsJson {
                accounts: totals.accounts,
                orders: totals.orders,
                units: totals.units,
                paid: totals.paid,
                held: totals.held,
                appeals: totals.appeals,
            },
        }
    }
}

/// The groups of linked accounts of a sale, the largest first.
pub async fn list(
    (State(shop), _, PathIds(sale)): StaffCallTo<ViewConsole, SaleId>,
    Query(GroupsQuery { after }): Query<GroupsQuery>,
) -> Answer {
    let after: usize = after.read("after")?.unwrap_or_default();
    existing_sale(&shop, sale).await?;
    let list = shop.orders.groups(sale, (after, LARGE_PAGE_SIZE), PATIENCE).await?;
    let GroupList { groups, count, read_at, .. } = list.ok_or_else(being_computed)?;
    let next = Some(after.saturating_add(groups.len())).filter(|next| *next < count && !groups.is_empty());
    let groups = groups.iter().map(GroupJson::from).collect();
    Ok(private(GroupsResponse { groups, count, read_at, next }))
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupQuery {
    /// The last member on the page before.
    after: Cursor,
}

#[derive(Serialize, JsonSchema)]
struct GroupResponse {
    #[serde(rename = "cluster")]
    group: GroupJson,
    /// The orders of one page of members, newest first, with masked recipients.
    orders: Vec<FoundOrderJson>,
    /// When the accounts were compared.
    read_at: Timestamp,
    /// For `?after=`; `null` on the last page.
    next: Option<UserId>,
}

/// The group of an account, with the orders of one page of its members.
pub async fn show(
    (State(shop), _, PathIds((sale, user))): StaffCallTo<ViewConsole, (SaleId, UserId)>,
    Query(GroupQuery { after }): Query<GroupQuery>,
) -> Answer {
    let after = after.read("after")?;
    existing_sale(&shop, sale).await?;
    let found = shop.orders.group_of(sale, user, after, PATIENCE).await?;
    let GroupDetail { summary, orders, next, read_at } = found.ok_or_else(being_computed)?.ok_or(Code::NotFound)?;
    let orders = orders.into_iter().map(|order| order.found).collect();
    let orders = found_orders(&shop.store, orders).await?;
    let group = GroupJson::from(&summary);
    Ok(private(GroupResponse { group, orders, read_at, next }))
}

async fn existing_sale(shop: &Shop, sale: SaleId) -> Result<(), Problem> {
    shop.catalogue.entry(sale).await?.map(drop).ok_or(Code::NoSuchSale.into())
}

fn being_computed() -> Problem {
    Problem::new(Code::Unavailable).retry_after(RETRY_AFTER_S)
}

/// Why an order is held or released. Its owner reads it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// Shown to the owner of the order, as it is.
    #[schemars(length(min = 1, max = 300))]
    reason: String,
}

pub async fn hold(call: StaffCallTo<SupportShoppers, OrderId>, Json(request): Json<HoldRequest>) -> Answer {
    change(call, HoldAction::Hold, request).await
}

pub async fn release(call: StaffCallTo<SupportShoppers, OrderId>, Json(request): Json<HoldRequest>) -> Answer {
    change(call, HoldAction::Release, request).await
}

/// Acts on one order. Doing it twice changes nothing more.
async fn change(
    (State(shop), staff, PathIds(id)): StaffCallTo<SupportShoppers, OrderId>,
    action: HoldAction,
    HoldRequest { reason }: HoldRequest,
) -> Answer {
    let order = existing_order(&shop, id).await?;
    let reason = check_hold_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    match shop.orders.change_hold(&order, action, staff.session.user_id, reason).await? {
        HoldOutcome::Done | HoldOutcome::Unchanged => detail(&shop, id).await,
        HoldOutcome::OwnOrder => Err(Problem::new(Code::Yourself).detail(OWN_ORDER)),
        HoldOutcome::OrderEnded | HoldOutcome::Waits => Err(Code::ChangedMeanwhile.into()),
    }
}

web::operations! { "administrators"
    /// Keep an order from delivery until a question is answered
    ///
    /// Repeating it changes nothing.
    POST "/api/admin/orders/{order}/hold" holdOrder = hold;
        200 OneOrder, "The order with its timeline and payments.";
        refuses ChangedMeanwhile Yourself;
    /// End the hold of an order
    ///
    /// Repeating it changes nothing.
    POST "/api/admin/orders/{order}/release" releaseOrder = release;
        200 OneOrder, "The order with its timeline and payments.";
        refuses ChangedMeanwhile Yourself;
    /// Accounts of a sale that seem to belong together, the largest groups first
    ///
    /// Computed in the background; 503 with `Retry-After` while that is done for the first time.
    GET "/api/admin/sales/{sale}/clusters" listClusters = list;
        200 GroupsResponse;
        refuses NoSuchSale;
    /// The group of an account of a sale, with the orders of a page of its members
    GET "/api/admin/sales/{sale}/clusters/{user}" showCluster = show;
        200 GroupResponse, "The group, and orders with masked recipients, newest first.";
        refuses NoSuchSale;
}
