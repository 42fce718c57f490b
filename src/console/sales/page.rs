//! The console's list of sales, and the actions on a sale.

use crate::cockpit::page as cockpit;
use crate::lists::saved_views::own_list_bar;
use crate::prelude::*;
use crate::report::computing::PAGE_PATIENCE;
use crate::sales::overview::first_steps;
use crate::sales::view::{AdminSale, AdminSalesPage, SaleGroup, SaleScope, SaleTabCounts, admin_notice};
use control::sales_admin::{AppliedParts, ChangedSale, PastSales, SaleCommand, SaleRow};
use store::{MAX_SALE_UNITS, OverlapPolicy, PastPage, SaleRefusal};

/// Ended sales on one page.
const PAST_PAGE_SIZE: i64 = 10;

inputs! {
    /// The search, and the action that the page reports as done.
    SaleListQuery {
        q,
        /// A [`SaleScope`]. For any other text, `scope` chooses one from the other fields.
        state,
        /// The cursor of the page of ended sales.
        before: Cursor,
        done, sale, applied,
        /// The whole query as it came.
        #[serde(skip)]
        raw: Option<String>,
    }
    /// The form of every action on a sale. Each action is confirmed, so that a wrong tap changes nothing.
    SaleActionForm {
        confirm,
        /// The sale's number, typed again. Stopping needs it because it cannot be undone.
        typed,
        units,
        /// `sale` when the form stands on the sale's own page.
        back,
    }
}

impl SaleListQuery {
    /// The scope that was asked for. Without one, a search looks at all sales, and after an action the list shows the
    /// sales that the changed one is now among.
    fn scope(&self) -> SaleScope {
        self.state.parse().unwrap_or_else(|()| match self.done.as_str() {
            _ if self.before.is_given() => SaleScope::Past,
            _ if !self.q.trim().is_empty() => SaleScope::All,
            "drafted" | "unscheduled" | "deleted" => SaleScope::Drafts,
            "stopped" => SaleScope::Past,
            _ => SaleScope::Current,
        })
    }
}

/// Redirects the address with a slash at its end, as people type it.
pub async fn without_slash(_: StaffVisit<ViewConsole>, RawQuery(query): RawQuery) -> Response {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    see_other(&format!("/admin{query}"))
}

pub async fn sales(
    (State(shop), _, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(query): Query<SaleListQuery>,
) -> Answer {
    page(&shop, &visitor, StatusCode::OK, SaleListQuery { raw, ..query }, None).await
}

/// A warning on top of a page, and the other sale that it is about.
struct SaleWarning {
    text: &'static str,
    other: Option<SaleId>,
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    query: SaleListQuery,
    warning: Option<SaleWarning>,
) -> Answer {
    let now = shop.clock.now();
    let before = query.before.read::<PastCursor>("before")?.map(|PastCursor(closed, id)| (closed, id));
    let current = shop.sales_admin.current().await?;
    let (scope, filter) = (query.scope(), SaleFilter::parse(&query.q, &current.goods));
    let is_first = scope == SaleScope::Current && query.q.trim().is_empty() && warning.is_none();
    let today = match is_first {
        true => Some(shop.sales_admin.today(&current, &visitor.shop, PAGE_PATIENCE).await?),
        false => None,
    };
    let page = PastPage { before, goods: filter.goods.clone(), number: filter.number, limit: PAST_PAGE_SIZE };
    let past = match scope.shows(SaleGroup::Past) {
        true => shop.sales_admin.past(&page, &current).await?,
        false => PastSales::default(),
    };
    let found = current.sales.into_iter().filter(|row| filter.matches(&row.sale));
    let rows: Vec<AdminSale> = found.map(|row| admin_sale(row, visitor.locale, now)).collect();
    let drafts = rows.iter().filter(|row| SaleGroup::of(row.sale.state) == SaleGroup::Drafts).count();
    let counts = SaleTabCounts {
        current: rows.len() - drafts,
        drafts,
        past: shop.store.sales().count_past_sales(&page).await? as usize,
    };
    let ended = past.sales.into_iter().map(|row| admin_sale(row, visitor.locale, now)).collect();
    let (text, other) = warning.map_or((None, None), |warning| (Some(warning.text), warning.other));
    let chrome = visitor.chrome_at(format!("/admin?lang={}", visitor.locale));
    let bar = own_list_bar(shop, visitor, ConsoleList::Sales, query.raw.as_deref()).await?;
    let steps = match is_first {
        true => first_steps(shop, visitor, !current.goods.is_empty(), counts.current + counts.past > 0).await?,
        false => Vec::new(),
    };
    let page = AdminSalesPage {
        bar,
        steps,
        groups: AdminSalesPage::grouped(rows, ended, scope),
        counts,
        goods: current.goods,
        payments: shop.payments.offered().join(", "),
        q: query.q,
        scope,
        is_later_page: before.is_some(),
        next: past.next.map(|(closed, id)| format!("{closed}-{id}")),
        warning: text,
        other,
        done: admin_notice(visitor.locale, &query.done, query.sale.parse().ok(), &query.applied),
        today,
        password_is_enough: !shop.accounts.requires_second_factor(),
        takes_crowds: shop.send_crowd.is_some(),
        chrome,
    };
    personal(status, &page)
}

fn admin_sale(row: SaleRow, locale: Locale, now: Timestamp) -> AdminSale {
    AdminSale {
        goods_name: row.goods.name.get(locale).to_owned(),
        picture: row.goods.cover().cloned(),
        phase: row.status.map_or_else(|| row.sale.phase(now), |status| status.phase),
        booked: row.status.and_then(|status| status.booked),
        unpaid: row.unpaid,
        paid_units: row.paid_units,
        sale: row.sale,
    }
}

/// Matches a sale by its number, or sales of goods whose name contains the words.
struct SaleFilter {
    number: Option<SaleId>,
    /// `None` without a search.
    goods: Option<Vec<GoodsId>>,
}

impl SaleFilter {
    /// The most goods that a search considers. Words that match more are too common to be useful.
    const MAX_GOODS: usize = 500;

    fn parse(q: &str, goods: &[Goods]) -> SaleFilter {
        let words = q.trim().to_lowercase();
        if words.is_empty() {
            return SaleFilter { number: None, goods: None };
        }
        let found = goods.iter().filter(|g| Locale::ALL.iter().any(|l| g.name.get(*l).to_lowercase().contains(&words)));
        let goods = found.map(|goods| goods.id).take(Self::MAX_GOODS).collect();
        SaleFilter { number: words.trim_start_matches('#').parse().ok(), goods: Some(goods) }
    }

    fn matches(&self, sale: &Sale) -> bool {
        let Some(goods) = &self.goods else { return true };
        self.number == Some(sale.id) || goods.contains(&sale.goods_id)
    }
}

/// Where a page of ended sales begins: a closing time in milliseconds, `-`, an id.
struct PastCursor(i64, SaleId);

impl FromStr for PastCursor {
    type Err = ();
    fn from_str(text: &str) -> Result<PastCursor, ()> {
        let read = |(closed, id): (&str, &str)| Some(PastCursor(closed.parse().ok()?, id.parse().ok()?));
        text.split_once('-').and_then(read).ok_or(())
    }
}

/// The address of a page of the console that reports an action on a sale as done.
pub fn done_path(locale: Locale, page: &str, done: &str, sale: SaleId) -> String {
    format!("{page}?lang={locale}&done={done}&sale={sale}")
}

/// As [`done_path`], with the number of the stock's parts that have the change, unless all have it.
pub fn changed_path(locale: Locale, page: &str, done: &str, ChangedSale { sale, applied }: &ChangedSale) -> String {
    let path = done_path(locale, page, done, sale.id);
    let AppliedParts { parts, applied } = applied;
    if applied == parts { path } else { format!("{path}&applied={applied}-{parts}") }
}

impl SaleActionForm {
    fn is_confirmed(&self) -> bool {
        self.confirm == "yes"
    }

    /// The sale on whose own page the form is; `None` for a form on the list.
    fn page_of(&self, id: SaleId) -> Option<SaleId> {
        (self.back == "sale").then_some(id)
    }
}

type SaleActionRequest = StaffVisitTo<ManageSales, SaleId>;

handlers! {
    confirmed(request: SaleActionRequest, form: Form<SaleActionForm>)
    start ("started", SaleCommand::Start);
    pause ("paused", SaleCommand::Pause);
    resume ("resumed", SaleCommand::Resume);
    schedule ("scheduled", SaleCommand::Schedule(OverlapPolicy::Refuse));
    unschedule ("unscheduled", SaleCommand::Unschedule);
}

/// An action that only has to be confirmed.
async fn confirmed(
    request: SaleActionRequest,
    Form(form): Form<SaleActionForm>,
    (done, command): (&str, SaleCommand),
) -> Answer {
    let command = form.is_confirmed().then_some(command);
    apply(request, &form, command, done).await
}

pub async fn stop(request: SaleActionRequest, Form(form): Form<SaleActionForm>) -> Answer {
    let (State(shop), _, visitor, PathIds(id)) = &request;
    if form.typed.trim() != id.to_string() {
        return unconfirmed(shop, visitor, form.page_of(*id), "not_the_number").await;
    }
    let command = form.is_confirmed().then_some(SaleCommand::Stop);
    apply(request, &form, command, "stopped").await
}

pub async fn top_up(
    request: SaleActionRequest,
    Repeatable(id): Repeatable,
    Form(form): Form<SaleActionForm>,
) -> Answer {
    let units = form.units.trim().parse().ok().filter(|units| (1..=MAX_SALE_UNITS).contains(units));
    let Some(units) = units else {
        let (State(shop), _, visitor, PathIds(id)) = request;
        let text = words::field_error(visitor.locale, "bad_number");
        let warning = SaleWarning { text, other: None };
        return warn(&shop, &visitor, form.page_of(id), StatusCode::UNPROCESSABLE_ENTITY, warning).await;
    };
    apply(request, &form, form.is_confirmed().then_some(SaleCommand::TopUp(units, id)), "topped_up").await
}

/// Sends a simulated crowd through the shop, and shows the cockpit of the sale to which it comes.
pub async fn send_crowd((State(shop), _, visitor): StaffVisit<ManageSales>) -> Answer {
    let send = shop.send_crowd.as_ref().ok_or(Code::NotFound)?;
    let sale = send().await.map_err(Problem::internal)?;
    Ok(see_other(&format!("/admin/sales/{sale}?lang={}", visitor.locale)))
}

pub async fn delete(
    (State(shop), admin, visitor, PathIds(id)): SaleActionRequest,
    Form(form): Form<SaleActionForm>,
) -> Answer {
    if !form.is_confirmed() {
        return unconfirmed(&shop, &visitor, None, "not_confirmed").await;
    }
    match shop.sales_admin.delete_draft(id, admin.actor()).await {
        Ok(()) => Ok(see_other(&done_path(visitor.locale, "/admin", "deleted", id))),
        Err(refusal) => refuse(&shop, &visitor, None, refusal).await,
    }
}

/// Applies a confirmed command and redirects to the page of the form. If it is not confirmed or is refused, shows that
/// page with a warning.
async fn apply(
    (State(shop), admin, visitor, PathIds(id)): SaleActionRequest,
    form: &SaleActionForm,
    confirmed: Option<SaleCommand>,
    done: &str,
) -> Answer {
    let sale_page = form.page_of(id);
    let Some(command) = confirmed else { return unconfirmed(&shop, &visitor, sale_page, "not_confirmed").await };
    match shop.sales_admin.change(id, command, admin.actor()).await {
        Ok(changed) => {
            let path = sale_page.map_or_else(|| "/admin".to_owned(), |id| format!("/admin/sales/{id}"));
            Ok(see_other(&changed_path(visitor.locale, &path, done, &changed)))
        }
        Err(refusal) => refuse(&shop, &visitor, sale_page, refusal).await,
    }
}

async fn unconfirmed(shop: &Shop, visitor: &Visitor, sale_page: Option<SaleId>, why: &str) -> Answer {
    let text = words::problem(why).text(visitor.locale);
    warn(shop, visitor, sale_page, StatusCode::UNPROCESSABLE_ENTITY, SaleWarning { text, other: None }).await
}

async fn refuse(shop: &Shop, visitor: &Visitor, sale_page: Option<SaleId>, refusal: SaleRefusal) -> Answer {
    let (words, other) = match &refusal {
        SaleRefusal::Store(_) => return Err(refusal.into()),
        SaleRefusal::InPast => (Some("in_past"), None),
        SaleRefusal::Overlap(other) => (None, Some(*other)),
        _ => (None, None),
    };
    let problem = Problem::from(refusal);
    let text = words::problem(words.unwrap_or_else(|| problem.code().as_str())).text(visitor.locale);
    warn(shop, visitor, sale_page, problem.code().status(), SaleWarning { text, other }).await
}

/// Shows the page of the form again, with a warning.
async fn warn(
    shop: &Shop,
    visitor: &Visitor,
    sale_page: Option<SaleId>,
    status: StatusCode,
    warning: SaleWarning,
) -> Answer {
    match sale_page {
        Some(id) => cockpit::show_with_warning(shop, visitor, id, status, warning.text).await,
        None => {
            let all = SaleListQuery { state: SaleScope::All.to_string(), ..SaleListQuery::default() };
            page(shop, visitor, status, all, Some(warning)).await
        }
    }
}
