//! The console's list of sales.

use crate::lists::bulk::BulkAction;
use crate::lists::bulk::sales::BulkSaleAction;
use crate::lists::saved_views::ListBar;
use crate::prelude::*;
use crate::sales::overview::{FirstStep, OverviewPart};
use control::today::Today;
use domain::sale::SaleMove;
use domain::{Phase, Picture};
use store::MAX_COUNTED_PAST;
use words::text;

/// A sale with its counters. A counter is `None` if its backend is not configured or did not answer.
#[derive(Debug)]
pub struct AdminSale {
    pub sale: Sale,
    pub goods_name: String,
    /// The cover of the goods.
    pub picture: Option<Picture>,
    pub phase: Phase,
    pub booked: Option<i64>,
    pub unpaid: i64,
    /// The units of paid orders.
    pub paid_units: i64,
}

wire_enum! {
    /// How the list of sales is divided.
    pub enum SaleGroup {
        Live = "live",
        Next = "next",
        Drafts = "drafts",
        Past = "past",
    }
}

wire_enum! {
    /// Which sales the list shows: the values of `state` in its address.
    pub enum SaleScope {
        /// Announced, running and paused sales.
        Current = "current",
        Live = "live",
        Next = "next",
        Drafts = "drafts",
        Past = "past",
        All = "all",
    }
}

impl SaleScope {
    /// The scopes that are tabs. Saved views and addresses use the others.
    const TABS: [SaleScope; 4] = [SaleScope::Current, SaleScope::Drafts, SaleScope::Past, SaleScope::All];

    pub fn shows(self, group: SaleGroup) -> bool {
        match self {
            SaleScope::Current => matches!(group, SaleGroup::Live | SaleGroup::Next),
            SaleScope::Live => group == SaleGroup::Live,
            SaleScope::Next => group == SaleGroup::Next,
            SaleScope::Drafts => group == SaleGroup::Drafts,
            SaleScope::Past => group == SaleGroup::Past,
            SaleScope::All => true,
        }
    }
}

/// How many sales match a search, in every state.
#[derive(Debug, Clone, Copy)]
pub struct SaleTabCounts {
    pub current: usize,
    pub drafts: usize,
    /// At most [`MAX_COUNTED_PAST`].
    pub past: usize,
}

impl SaleTabCounts {
    fn of(self, scope: SaleScope) -> usize {
        match scope {
            SaleScope::Drafts => self.drafts,
            SaleScope::Past => self.past,
            SaleScope::All => self.current + self.drafts + self.past,
            SaleScope::Current | SaleScope::Live | SaleScope::Next => self.current,
        }
    }

    /// The count in words, with a plus if there may be more.
    fn words(self, scope: SaleScope, locale: Locale) -> String {
        let count = filters::grouped(self.of(scope) as i64);
        let has_more = scope.shows(SaleGroup::Past) && self.past as i64 >= MAX_COUNTED_PAST;
        if has_more { fill(text(locale).overview.more, count) } else { count }
    }
}

impl SaleGroup {
    pub fn of(state: SaleState) -> SaleGroup {
        match state {
            SaleState::Live | SaleState::Paused => SaleGroup::Live,
            SaleState::Scheduled => SaleGroup::Next,
            SaleState::Draft => SaleGroup::Drafts,
            SaleState::Ended => SaleGroup::Past,
        }
    }
}

impl AdminSale {
    /// The moves that the present state allows.
    fn moves(&self) -> impl Iterator<Item = SaleMove> {
        let state = self.sale.state;
        let all = [
            SaleMove::Schedule,
            SaleMove::Start,
            SaleMove::Resume,
            SaleMove::Pause,
            SaleMove::Unschedule,
            SaleMove::Stop,
        ];
        all.into_iter().filter(move |action| state.after(*action).is_ok())
    }

    /// Whether the phase says more than the state. A draw that is open takes entries, and sells nothing yet.
    fn tells_phase(&self) -> bool {
        !self.sale.state.is_planned()
            && self.sale.state != SaleState::Ended
            && (self.sale.mode.name() != ModeName::Draw || self.phase != Phase::Open)
    }

    /// Reserved or sold units.
    fn taken(&self) -> i64 {
        self.booked.unwrap_or(self.sale.sold).clamp(0, self.sale.total.max(0))
    }

    /// The same in percent of the total.
    fn percent(&self) -> i64 {
        if self.sale.total > 0 { self.taken().saturating_mul(100) / self.sale.total } else { 0 }
    }

    /// What was paid for the goods, without shipping.
    fn money(&self) -> Money {
        Money::new(self.sale.price.amount.saturating_mul(self.paid_units), self.sale.price.currency)
    }
}

/// The pages of a sale. `here` is the last segment of the path of the one that is shown. Those for another shop are named
/// once it has a token; a waiting room can stand in front of it without one.
pub(crate) fn sale_tabs(chrome: &Chrome, sale: &Sale, here: &str) -> Vec<Tab> {
    let (t, is_draft) = (chrome.text(), sale.state == SaleState::Draft);
    let path = |page: &str| format!("/admin/sales/{}{page}", sale.id);
    let is_beside = |page: &str| here == page || chrome.has_programs;
    let all = [
        (path(""), t.cockpit.title, true),
        (format!("/admin/orders?sale={}", sale.id), t.support.title, !is_draft),
        (path("/report"), t.report.title, !is_draft),
        (path("/clusters"), t.holds.link, !is_draft),
        (path("/draw"), t.draw_console.link, sale.mode.is_draw() && !is_draft),
        (path("/codes"), t.eligibility_console.link, sale.eligibility.invitation),
        (path("/front"), t.front.link, sale.mode.is_waiting_room() || is_beside("/front")),
        (path("/decisions"), t.decisions.title, sale.mode == SaleMode::Rush && is_beside("/decisions")),
        (path("/edit"), t.sales.settings, sale.state.is_planned()),
    ];
    let here = path(here);
    let shown = all.into_iter().filter(|(.., is_shown)| *is_shown);
    shown.map(|(path, name, _)| Tab::new(chrome, &path, name, path == here)).collect()
}

/// The sales that match a search, with live counters and actions.
#[derive(Debug, Template)]
#[template(path = "sales/console_sales.html")]
pub struct AdminSalesPage {
    pub chrome: Chrome,
    pub groups: Vec<(SaleGroup, Vec<AdminSale>)>,
    pub counts: SaleTabCounts,
    pub goods: Vec<Goods>,
    /// The providers that take payments, with commas; empty without one. The sandbox costs shoppers nothing.
    pub payments: String,
    /// The search as entered.
    pub q: String,
    pub scope: SaleScope,
    /// Whether this is not the first page of ended sales.
    pub is_later_page: bool,
    /// The cursor of the next page of ended sales.
    pub next: Option<String>,
    /// A warning on top of the page, and the other sale that it is about.
    pub warning: Option<&'static str>,
    pub other: Option<SaleId>,
    pub done: Option<String>,
    /// `None` on later pages, in a search, and on every tab except current sales.
    pub today: Option<Today>,
    /// Whether a password alone opens the console.
    pub password_is_enough: bool,
    /// Whether staff can send a simulated crowd.
    pub takes_crowds: bool,
    pub bar: ListBar,
    /// What a new shop needs; empty once it has it.
    pub steps: Vec<FirstStep>,
}

impl AdminSalesPage {
    /// How many of the first steps are done.
    fn steps_done(&self) -> String {
        format!("{}/{}", self.steps.iter().filter(|step| step.is_done).count(), self.steps.len())
    }

    /// The groups that are not empty, the running sales first.
    pub fn grouped(
        current: Vec<AdminSale>,
        ended: Vec<AdminSale>,
        scope: SaleScope,
    ) -> Vec<(SaleGroup, Vec<AdminSale>)> {
        let mut groups: Vec<(SaleGroup, Vec<AdminSale>)> = SaleGroup::ALL.map(|group| (group, Vec::new())).into();
        for sale in current.into_iter().chain(ended) {
            let group = SaleGroup::of(sale.sale.state);
            if let Some((_, sales)) = groups.iter_mut().find(|(g, _)| *g == group) {
                sales.push(sale);
            }
        }
        if let Some((_, next)) = groups.iter_mut().find(|(g, _)| *g == SaleGroup::Next) {
            next.sort_by_key(|row| (row.sale.window.opens_at.is_none(), row.sale.window.opens_at, row.sale.id));
        }
        groups.retain(|(group, sales)| !sales.is_empty() && scope.shows(*group));
        groups
    }

    fn overview(&self) -> Option<OverviewPart<'_>> {
        let today = self.today.as_ref()?;
        let live = self.groups.iter().find(|(group, _)| *group == SaleGroup::Live).map_or(&[][..], |(_, sales)| sales);
        Some(OverviewPart { chrome: &self.chrome, today, live, password_is_enough: self.password_is_enough })
    }

    /// The actions on several sales that at least one sale on the page allows.
    fn bulk_actions(&self) -> Vec<(BulkSaleAction, &'static str)> {
        let states = || self.groups.iter().flat_map(|(_, sales)| sales).map(|row| row.sale.state);
        let actions = BulkSaleAction::ALL.into_iter().filter(|_| self.chrome.runs_sales());
        let actions = actions.filter(|action| states().any(|state| action.is_allowed_in(state)));
        actions.map(|action| (action, action.verb(self.chrome.text()))).collect()
    }

    fn is_filtered(&self) -> bool {
        !self.q.trim().is_empty() || !SaleScope::TABS.contains(&self.scope)
    }

    /// Whether the shop has no sale at all.
    fn has_no_sales(&self) -> bool {
        !self.is_filtered() && self.counts.of(SaleScope::All) == 0
    }

    /// The tabs, with links that preserve the search.
    fn tabs(&self) -> [Tab; 4] {
        let t = &self.chrome.text().sales;
        SaleScope::TABS.map(|scope| {
            // The state that the list shows by default is not named.
            let is_default = scope == SaleScope::Current && self.q.trim().is_empty();
            let state = if is_default { "" } else { scope.as_str() };
            Tab {
                path: self.bar.query.with("state", state).path(self.chrome.locale),
                name: match scope {
                    SaleScope::Drafts => t.group_drafts,
                    SaleScope::Past => t.group_past,
                    SaleScope::All => t.all,
                    SaleScope::Current | SaleScope::Live | SaleScope::Next => t.tab_current,
                },
                count: Some(self.counts.words(scope, self.chrome.locale)),
                is_here: self.scope == scope,
            }
        })
    }
}

/// The text that reports an action on a sale as done. `done`, `sale` and `applied`, such as `6-8` parts of the stock,
/// come from the query of a redirect; unknown values give no text.
pub fn admin_notice(locale: Locale, done: &str, sale: Option<SaleId>, applied: &str) -> Option<String> {
    let t = &text(locale).sales;
    let words = match done {
        "created" => t.done_created,
        "drafted" => t.done_drafted,
        "saved" => t.done_saved,
        "scheduled" => t.done_scheduled,
        "unscheduled" => t.done_unscheduled,
        "deleted" => t.done_deleted,
        "started" => t.done_started,
        "paused" => t.done_paused,
        "resumed" => t.done_resumed,
        "stopped" => t.done_stopped,
        "topped_up" => t.done_topped_up,
        "calls_held" => text(locale).waiting_room_console.done_held,
        "calls_resumed" => text(locale).waiting_room_console.done_resumed,
        "pace_changed" => text(locale).waiting_room_console.done_pace,
        _ => return None,
    };
    let mut notice = fill(words, sale?);
    let parts =
        applied.split_once('-').and_then(|(some, all)| Some((some.parse::<u8>().ok()?, all.parse::<u8>().ok()?)));
    if let Some((some, all)) = parts {
        if locale == Locale::En {
            notice.push(' ');
        }
        notice.push_str(&fill(&fill(t.done_partly, some), all));
    }
    Some(notice)
}
