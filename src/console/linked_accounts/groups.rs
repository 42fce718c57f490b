//! Accounts of a sale that seem to belong together, for programs and as pages. What a person does about them is done to
//! their orders, one by one and for a reason.

use crate::linked_accounts::holds::{HoldForm, HoldFormState, HoldNotice};
use crate::orders::api::{FoundOrderJson, found_orders};
use crate::prelude::*;
use crate::report::computing::{ComputingPage, PAGE_PATIENCE, computing, reloading};
use crate::sales::view::sale_tabs;
use domain::LinkReason;
use orders::holds::{HoldAction, HoldCounts};
use orders::linked_accounts::{GroupDetail, GroupList, GroupOrder, GroupSummary, MEMBERS_PAGE_SIZE};
use store::AuditReason;

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

pub async fn list_page(
    (State(shop), _, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(GroupsQuery { after }): Query<GroupsQuery>,
) -> Answer {
    let after: usize = after.read("after")?.unwrap_or_default();
    let entry = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let goods_name = goods_name_and_cover(Some(&*entry), visitor.locale).0;
    let chrome = visitor.chrome_at(match after {
        0 => format!("/admin/sales/{sale}/clusters?lang={}", visitor.locale),
        after => format!("/admin/sales/{sale}/clusters?lang={}&after={after}", visitor.locale),
    });
    let Some(list) = shop.orders.groups(sale, (after, LARGE_PAGE_SIZE), PAGE_PATIENCE).await? else {
        return being_compared(chrome, sale, goods_name);
    };
    let GroupList { groups, count, read_at, is_renewing } = list;
    let path = is_renewing.then(|| chrome.path.clone());
    let page = GroupsPage {
        tabs: sale_tabs(&chrome, &entry.sale, "/clusters"),
        chrome,
        sale,
        goods_name,
        next: Some(after.saturating_add(groups.len())).filter(|next| *next < count && !groups.is_empty()),
        groups,
        is_later: after > 0,
        read_at,
        is_renewing,
    };
    let page = personal(StatusCode::OK, &page)?;
    Ok(match path {
        Some(path) => reloading(page, &path),
        None => page,
    })
}

/// The page while the accounts of the sale are compared for the first time.
fn being_compared(chrome: Chrome, sale: SaleId, goods_name: String) -> Answer {
    let t = &words::text(chrome.locale).holds;
    let back = (format!("/admin/sales/{sale}"), format!("← {}", t.back));
    computing(ComputingPage { chrome, sale, goods_name, title: t.title, back })
}

inputs! {
    /// The action that the page reports as done, and the number of orders that it applied to.
    HoldQuery {
        done, changed: usize, unchanged: usize, ended: usize, own: usize, waits: usize,
        /// The last account on the page before.
        after: Cursor,
    }
    /// A form of the page. It names the orders that the member of the staff has seen, so that an order that joined the
    /// group since then is left alone.
    GroupForm {
        orders, reason, confirm,
        /// The page to return to.
        after: Cursor,
    }
}

impl HoldQuery {
    fn counts(&self) -> HoldCounts {
        let HoldQuery { changed: done, unchanged, ended, own, waits, .. } = *self;
        HoldCounts { done, unchanged, ended, own, waits }
    }
}

pub async fn show_page(
    (State(shop), staff, visitor, PathIds(ids)): StaffVisitTo<ViewConsole, (SaleId, UserId)>,
    Query(query): Query<HoldQuery>,
) -> Answer {
    let notice = HoldNotice::of(words::text(visitor.locale), &query.done, query.counts());
    render(&shop, &visitor, ids, &query.after, staff.may::<SupportShoppers>(), notice, HoldFormState::default()).await
}

async fn render(
    shop: &Shop,
    visitor: &Visitor,
    (sale, user): (SaleId, UserId),
    after: &Cursor,
    may_act: bool,
    notice: Option<HoldNotice>,
    form: HoldFormState,
) -> Answer {
    let entry = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let goods_name = goods_name_and_cover(Some(&*entry), visitor.locale).0;
    let after: Option<UserId> = after.read("after")?;
    let chrome = visitor.chrome_at(group_page(sale, user, after, visitor.locale));
    let Some(of) = shop.orders.group_of(sale, user, after, PAGE_PATIENCE).await? else {
        return being_compared(chrome, sale, goods_name);
    };
    let of = of.ok_or(Code::NotFound)?;
    let status = if form.action.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = GroupPage { chrome, sale, goods_name, of, after, may_act, notice, form };
    personal(status, &page)
}

/// The address of a page about one group of linked accounts: the members behind `after`.
fn group_page(sale: SaleId, user: UserId, after: Option<UserId>, locale: Locale) -> String {
    let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
    format!("/admin/sales/{sale}/clusters/{user}?lang={locale}{after}")
}

impl GroupForm {
    fn orders(&self) -> Result<Vec<OrderId>, Problem> {
        let ids: Option<Vec<OrderId>> = self.orders.split_whitespace().map(|id| id.parse().ok()).collect();
        ids.filter(|ids| ids.len() <= MAX_GROUP_ORDERS).ok_or_else(|| Problem::invalid_field("orders", "bad_id"))
    }
}

type Visit = StaffVisitTo<SupportShoppers, (SaleId, UserId)>;

handlers! {
    act(visit: Visit, form: Form<GroupForm>)
    hold_all ("hold", Some(HoldAction::Hold));
    release_all ("release", Some(HoldAction::Release));
    refund_all ("refund", None);
}

/// Holds or releases the orders; without an action it refunds them.
async fn act(
    (State(shop), staff, visitor, PathIds((sale, user))): Visit,
    Form(form): Form<GroupForm>,
    (name, action): (&'static str, Option<HoldAction>),
) -> Answer {
    let orders = form.orders()?;
    let reason = match HoldFormState::check(name, form.reason, &form.confirm) {
        Ok(reason) => reason,
        Err(state) => return render(&shop, &visitor, (sale, user), &form.after, true, None, state).await,
    };
    let by = staff.session.user_id;
    let reason = AuditReason { actor: staff.actor(), note: &reason, message: Some(&reason) };
    let done = match action {
        Some(action) => shop.orders.change_holds(sale, &orders, action, by, reason).await?,
        None => shop.staff_refunds.refund_held(sale, &orders, by, reason).await?,
    };
    let HoldCounts { done, unchanged, ended, own, waits } = done;
    let path = group_page(sale, user, form.after.read("after")?, visitor.locale);
    Ok(see_other(&format!(
        "{path}&done={name}&changed={done}&unchanged={unchanged}&ended={ended}&own={own}&waits={waits}"
    )))
}

/// The most orders that one request acts on. Each account on a page has at most one live order.
const MAX_GROUP_ORDERS: usize = MEMBERS_PAGE_SIZE;

/// The groups of linked accounts of a sale, the largest first.
#[derive(Debug, Template)]
#[template(path = "linked_accounts/groups.html")]
struct GroupsPage {
    chrome: Chrome,
    tabs: Vec<Tab>,
    sale: SaleId,
    goods_name: String,
    groups: Vec<GroupSummary>,
    /// Where the next page begins.
    next: Option<usize>,
    is_later: bool,
    /// When the accounts were compared.
    read_at: Timestamp,
    is_renewing: bool,
}

/// Why accounts are linked, in words.
fn in_words(chrome: &Chrome, reasons: &BTreeMap<LinkReason, usize>) -> Vec<String> {
    let t = &chrome.text().holds;
    let words = |reason: &LinkReason| match reason {
        LinkReason::Address => t.by_address,
        LinkReason::Contact => t.by_contact,
        LinkReason::Instrument => t.by_instrument,
        LinkReason::Registration => t.by_registration,
    };
    reasons.iter().map(|(reason, accounts)| fill(words(reason), grouped(accounts))).collect()
}

/// One group with its orders, and the forms that act on them.
#[derive(Debug, Template)]
#[template(path = "linked_accounts/group.html")]
struct GroupPage {
    chrome: Chrome,
    sale: SaleId,
    goods_name: String,
    of: GroupDetail,
    /// The last member on the page before.
    after: Option<UserId>,
    may_act: bool,
    notice: Option<HoldNotice>,
    form: HoldFormState,
}

impl GroupPage {
    /// The forms that apply to some of the orders.
    fn forms(&self) -> Vec<HoldForm> {
        let t = &self.chrome.text().holds;
        let held = |order: &GroupOrder| order.is_live() && order.hold.is_some();
        let free = |order: &GroupOrder| order.is_live() && order.hold.is_none();
        let forms = [
            self.form_for("hold", t.hold, t.hold_text, free),
            self.form_for("release", t.release, t.release_text, held),
            HoldForm { is_dangerous: true, ..self.form_for("refund", t.refund, t.refund_text, held) },
        ];
        forms.into_iter().filter(|form| !form.orders.is_empty()).collect()
    }

    fn form_for(
        &self,
        action: &'static str,
        verb: &'static str,
        words: &'static str,
        applies: impl Fn(&GroupOrder) -> bool,
    ) -> HoldForm {
        let orders: Vec<_> =
            self.of.orders.iter().filter(|order| applies(order)).map(|order| &order.found.order).collect();
        let amounts = orders.iter().map(|order| order.amount);
        let currency = orders.first().map(|order| order.amount.currency);
        let amount = currency.filter(|currency| orders.iter().all(|order| order.amount.currency == *currency));
        let amount = amount.map(|currency| domain::Money::new(amounts.map(|one| one.amount).sum(), currency));
        HoldForm {
            action,
            verb,
            words,
            units: orders.iter().map(|order| u64::from(order.quantity)).sum(),
            amount,
            after: self.after,
            orders: orders.iter().map(|order| order.id).collect(),
            is_dangerous: false,
        }
    }
}

web::operations! { "administrators"
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
