//! Draws: the public round that staff paste, entries that they exclude, and a dry run; for programs, and the console's page.

use crate::prelude::*;
use control::draws::{DryRun, PasteRefusal, dry_run, paste_round};
use domain::draw::{Beacon, EntryId, Exclusion, PublicRound, WrongRandomness};
use domain::order::check_hold_reason;
use domain::{DrawStage, DrawState, EntryState};
use store::{Draw, ExcludeOutcome, MAX_COUNTED_ENTRIES, OrderTotals, StaffEntry};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundRequest {
    /// The JSON of the round as the beacon gives it, as one text; or its signature in hexadecimal digits.
    round: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExclusionRequest {
    reason: Exclusion,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingRoundRequest {
    /// Shown to entrants and visitors, as it is.
    #[schemars(length(min = 1, max = 300))]
    reason: String,
}

/// Gives the draw its public round.
pub async fn give_round(
    (State(shop), staff, PathIds(sale)): Call,
    Json(RoundRequest { round }): Json<RoundRequest>,
) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    match paste_round(&shop.store, &draw, &round, staff.actor()).await {
        Ok(_) => Ok(no_content()),
        Err(PasteRefusal::NotAwaited) => Err(Code::RoundNotAwaited.into()),
        Err(PasteRefusal::Wrong(wrong)) => {
            Err(Problem::invalid_field("round", "wrong_round").detail(wrong.to_string()))
        }
        Err(PasteRefusal::Store(error)) => Err(error.into()),
    }
}

/// What staff do about a draw whose public round never came: end it, or let a later round decide it.
#[derive(Clone, Copy)]
enum MissingRound {
    CallOff,
    AwaitLater,
}

impl MissingRound {
    /// `false` if the round is not overdue.
    async fn settle(self, shop: &Shop, sale: SaleId, reason: &str, actor: &str) -> StoreResult<bool> {
        match self {
            MissingRound::CallOff => shop.store.draws().call_off(sale, reason, actor).await,
            MissingRound::AwaitLater => shop.store.draws().await_later_round(sale, reason, actor).await,
        }
    }
}

type Call = StaffCallTo<ManageSales, SaleId>;

handlers! {
    without_round(call: Call, request: Json<MissingRoundRequest>)
    call_off MissingRound::CallOff;
    await_later_round MissingRound::AwaitLater;
}

async fn without_round(
    (State(shop), staff, PathIds(sale)): Call,
    Json(MissingRoundRequest { reason }): Json<MissingRoundRequest>,
    way: MissingRound,
) -> Answer {
    let reason = check_hold_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    match way.settle(&shop, sale, &reason, staff.actor()).await? {
        true => Ok(no_content()),
        false => Err(Code::RoundNotOverdue.into()),
    }
}

/// Excludes an entry until the list is locked.
pub async fn exclude(
    (State(shop), staff, PathIds((sale, entry))): StaffCallTo<ManageSales, (SaleId, EntryId)>,
    Json(ExclusionRequest { reason }): Json<ExclusionRequest>,
) -> Answer {
    match shop.store.draws().exclude(sale, entry, reason, staff.actor()).await? {
        ExcludeOutcome::Done => Ok(no_content()),
        ExcludeOutcome::Locked => Err(Code::EntriesLocked.into()),
        ExcludeOutcome::NoSuchEntry => Err(Code::NotFound.into()),
    }
}

inputs! {
    /// Where the table of entries begins (at an entry, or at a rank once the draw was held), and what the page reports as
    /// done.
    AdminDrawQuery { from, done }
    RoundForm { round }
}

/// What an action adds to the page.
#[derive(Debug, Default)]
struct Shown {
    status: StatusCode,
    /// Where the table begins, as typed.
    from: String,
    notice: Option<&'static str>,
    warning: Option<&'static str>,
    /// The public round that was typed and refused, and why.
    typed_round: String,
    wrong_round: Option<WrongRandomness>,
    dry_run: Option<DryRun>,
}

impl Shown {
    fn refused(from: String, code: Code, locale: Locale) -> Shown {
        let warning = Some(words::problem(code.as_str()).text(locale));
        Shown { status: code.status(), from, warning, ..Shown::default() }
    }

    fn invalid(warning: &'static str) -> Shown {
        Shown { status: StatusCode::UNPROCESSABLE_ENTITY, warning: Some(warning), ..Shown::default() }
    }
}

pub async fn page(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(AdminDrawQuery { from, done }): Query<AdminDrawQuery>,
) -> Answer {
    let t = &words::text(visitor.locale).draw_console;
    let notice = match done.as_str() {
        "exclude" => Some(t.excluded_done),
        "round" => Some(t.round_done),
        "call-off" => Some(t.call_off_done),
        "later-round" => Some(t.later_round_done),
        _ => None,
    };
    render(&shop, &visitor, sale, staff.may::<ManageSales>(), Shown { from, notice, ..Shown::default() }).await
}

async fn render(shop: &Shop, visitor: &Visitor, sale: SaleId, may_act: bool, shown: Shown) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let now = shop.clock.now();
    let (stage, until) = draw.stage(&known.sale, now);
    let mut rows = entries(shop, sale, stage.is_held(), &shown.from).await?;
    let next = (rows.len() > LARGE_PAGE_SIZE).then(|| rows.pop()).flatten();
    let page = AdminDrawPage {
        chrome: visitor.chrome_at(format!("/admin/sales/{sale}/draw?lang={}", visitor.locale)),
        goods_name: goods_name_and_cover(Some(&*known), visitor.locale).0,
        sale: known.sale.clone(),
        stage,
        until,
        counted: shop.store.draws().count_entries(sale).await?,
        excluded: shop.store.draws().exclusions(sale).await?.into_iter().map(|(_, entries)| entries).sum(),
        orders: shop.store.orders().order_totals(&[sale]).await?.remove(&sale).unwrap_or_default(),
        may_exclude: may_act && draw.takes_exclusions(now),
        may_call_off: may_act && draw.may_be_called_off(now),
        may_await_later_round: may_act && draw.may_await_later_round(now),
        may_act,
        draw,
        rows,
        next,
        shown,
    };
    personal(page.shown.status, &page)
}

/// One entry more than a page shows, if there are that many.
async fn entries(shop: &Shop, sale: SaleId, is_held: bool, from: &str) -> Result<Vec<StaffEntry>, Problem> {
    let from = from.trim();
    let limit = LARGE_PAGE_SIZE + 1;
    if !is_held {
        let is_prefix = from.len() <= 32 && from.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let from = Some(from).filter(|_| is_prefix).ok_or(bad_cursor())?;
        return Ok(shop.store.draws().entries_from(sale, from, limit).await?);
    }
    let rank = match (from, from.parse::<EntryId>()) {
        ("", _) => 0,
        (_, Ok(entry)) => shop.store.draws().rank_of_entry(sale, entry).await?.ok_or(Code::NotFound)?,
        (rank, Err(_)) => rank.parse::<i64>().ok().filter(|rank| *rank > 0).ok_or(bad_cursor())? - 1,
    };
    Ok(shop.store.draws().ranked_entries(sale, rank, limit).await?)
}

fn bad_cursor() -> Problem {
    FieldError::new("from", "bad_cursor").into()
}

fn done_path(locale: Locale, sale: SaleId, done: &str, from: &str) -> String {
    let from: String = url::form_urlencoded::byte_serialize(from.as_bytes()).collect();
    format!("/admin/sales/{sale}/draw?lang={locale}&done={done}&from={from}")
}

/// Verifies the pasted round.
pub async fn give_round_by_form(
    (State(shop), staff, visitor, PathIds(sale)): Visit,
    Form(RoundForm { round }): Form<RoundForm>,
) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let shown = match paste_round(&shop.store, &draw, &round, staff.actor()).await {
        Ok(_) => return Ok(see_other(&done_path(visitor.locale, sale, "round", ""))),
        Err(PasteRefusal::NotAwaited) => Shown::refused(String::new(), Code::RoundNotAwaited, visitor.locale),
        Err(PasteRefusal::Wrong(wrong)) => Shown {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            typed_round: round,
            wrong_round: Some(wrong),
            ..Shown::default()
        },
        Err(PasteRefusal::Store(error)) => return Err(error.into()),
    };
    render(&shop, &visitor, sale, true, shown).await
}

/// The reason of a confirmed form, or what the page says about it.
fn confirmed_reason(form: &ReasonForm, locale: Locale) -> Result<String, &'static str> {
    if form.confirm != "yes" {
        return Err(words::problem("not_confirmed").text(locale));
    }
    check_hold_reason(&form.reason).map_err(|code| words::field_error(locale, code))
}

type Visit = StaffVisitTo<ManageSales, SaleId>;

handlers! {
    without_round_by_form(visit: Visit, form: Form<ReasonForm>)
    call_off_by_form ("call-off", MissingRound::CallOff);
    await_later_round_by_form ("later-round", MissingRound::AwaitLater);
}

async fn without_round_by_form(
    (State(shop), staff, visitor, PathIds(sale)): Visit,
    Form(form): Form<ReasonForm>,
    (name, way): (&str, MissingRound),
) -> Answer {
    let shown = match confirmed_reason(&form, visitor.locale) {
        Err(warning) => Shown::invalid(warning),
        Ok(reason) => match way.settle(&shop, sale, &reason, staff.actor()).await? {
            true => return Ok(see_other(&done_path(visitor.locale, sale, name, ""))),
            false => Shown::refused(String::new(), Code::RoundNotOverdue, visitor.locale),
        },
    };
    render(&shop, &visitor, sale, true, shown).await
}

#[derive(Deserialize)]
pub struct ExclusionForm {
    reason: Exclusion,
    #[serde(default)]
    confirm: String,
    /// The page of the table that has the form.
    #[serde(default)]
    from: String,
}

/// Excludes an entry until the list is locked.
pub async fn exclude_by_form(
    (State(shop), staff, visitor, PathIds((sale, entry))): StaffVisitTo<ManageSales, (SaleId, String)>,
    Form(ExclusionForm { reason, confirm, from }): Form<ExclusionForm>,
) -> Answer {
    let entry = entry.parse().map_err(|_| Code::NotFound)?;
    if confirm != "yes" {
        let shown = Shown { from, ..Shown::invalid(words::problem("not_confirmed").text(visitor.locale)) };
        return render(&shop, &visitor, sale, true, shown).await;
    }
    match shop.store.draws().exclude(sale, entry, reason, staff.actor()).await? {
        ExcludeOutcome::Done => Ok(see_other(&done_path(visitor.locale, sale, "exclude", &from))),
        ExcludeOutcome::Locked => {
            let shown = Shown::refused(from, Code::EntriesLocked, visitor.locale);
            render(&shop, &visitor, sale, true, shown).await
        }
        ExcludeOutcome::NoSuchEntry => Err(Code::NotFound.into()),
    }
}

/// Ranks the present entries with a throwaway secret.
pub async fn try_out((State(shop), _, visitor, PathIds(sale)): Visit) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let dry_run = dry_run(&shop.store, &draw).await.map_err(|error| Problem::internal(error.into_boxed_dyn_error()))?;
    render(&shop, &visitor, sale, true, Shown { dry_run: Some(dry_run), ..Shown::default() }).await
}

/// A draw as staff see it.
#[derive(Debug, Template)]
#[template(path = "draws/console_draw.html")]
struct AdminDrawPage {
    chrome: Chrome,
    goods_name: String,
    sale: Sale,
    draw: Draw,
    stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    until: Option<Timestamp>,
    /// Entries of all states, up to a limit.
    counted: i64,
    excluded: i64,
    orders: OrderTotals,
    may_act: bool,
    may_exclude: bool,
    may_call_off: bool,
    may_await_later_round: bool,
    rows: Vec<StaffEntry>,
    /// The first row of the next page.
    next: Option<StaffEntry>,
    shown: Shown,
}

/// A step of a draw, and its time if it has one.
struct DrawStep {
    label: &'static str,
    at: Option<Timestamp>,
    is_done: bool,
    is_now: bool,
}

impl AdminDrawPage {
    fn text(&self) -> &'static words::DrawConsoleText {
        &self.chrome.text().draw_console
    }

    fn steps(&self) -> Vec<DrawStep> {
        let (t, draw) = (self.text(), &self.draw);
        let all = [
            (t.step_announced, None, DrawStage::Announced),
            (t.step_entries, Some(draw.rules.opens_at), DrawStage::Entries),
            (t.step_review, Some(draw.rules.closes_at), DrawStage::Review),
            (t.step_locked, Some(draw.locked_at.unwrap_or(draw.lock_at)), DrawStage::Locked),
            (t.step_round, draw.round_due(), DrawStage::Due),
            (t.step_drawn, draw.drawn_at, DrawStage::Drawn),
            (t.step_offers, None, DrawStage::Drawn),
            (t.step_settled, None, DrawStage::Settled),
        ];
        let now = match self.stage {
            DrawStage::Paused => DrawStage::Entries,
            stage => stage,
        };
        let is_past = |stage: DrawStage| stage < now || (stage == now && stage == DrawStage::Settled);
        let steps = all.into_iter().map(|(label, at, stage)| {
            let is_drawn = label == t.step_drawn && now == DrawStage::Drawn;
            DrawStep { label, at, is_done: is_past(stage) || is_drawn, is_now: stage == now && !is_drawn }
        });
        steps.filter(|step| draw.rules.randomness.is_some() || step.label != t.step_round).collect()
    }

    /// The numbers, with their names.
    fn numbers(&self) -> Vec<(&'static str, String)> {
        let t = self.text();
        let counted = match self.counted {
            MAX_COUNTED_ENTRIES => fill(t.entries_many, MAX_COUNTED_ENTRIES - 1),
            few => few.to_string(),
        };
        let orders = |status| self.orders.of(status).orders.to_string();
        let mut numbers = vec![(t.units, self.sale.total.to_string()), (t.entries, counted)];
        if let Some(entries) = self.draw.entries {
            numbers.push((t.taking_part, entries.to_string()));
        }
        numbers.push((t.excluded, self.excluded.to_string()));
        if self.stage.is_held() {
            numbers.extend([
                (t.offered, self.draw.next_rank.to_string()),
                (t.paid, orders(OrderStatus::Paid)),
                (t.unpaid, orders(OrderStatus::Unpaid)),
                (t.lapsed, orders(OrderStatus::Cancelled)),
                (t.refunded, orders(OrderStatus::Refunded)),
            ]);
        }
        numbers
    }

    /// The round of quicknet that is awaited.
    fn awaited(&self) -> Option<PublicRound> {
        self.draw.round().filter(|round| self.draw.awaits_round() && round.beacon == Beacon::Quicknet)
    }

    fn wrong_round(&self) -> Option<String> {
        self.shown.wrong_round.as_ref().map(|wrong| self.text().wrong(wrong))
    }

    fn state(&self, row: &StaffEntry) -> String {
        let t = self.text();
        let words = match row.entry.state {
            EntryState::In => t.state_in,
            EntryState::Withdrawn => t.state_withdrawn,
            EntryState::Excluded => t.state_excluded,
            EntryState::Skipped => t.state_skipped,
        };
        match &row.entry.reason {
            Some(reason) => format!("{words}: {}", self.reason(reason)),
            None => words.to_owned(),
        }
    }

    fn reason(&self, reason: &Exclusion) -> &'static str {
        self.chrome.text().draws.reason(reason)
    }

    fn is_reason(&self, row: &StaffEntry, reason: &Exclusion) -> bool {
        row.entry.reason == Some(*reason)
    }

    fn can_exclude(&self, row: &StaffEntry) -> bool {
        self.may_exclude && matches!(row.entry.state, EntryState::In | EntryState::Excluded)
    }

    /// The rank, counted from 1.
    fn rank(&self, row: &StaffEntry) -> Option<i64> {
        row.entry.rank.filter(|_| self.stage.is_held()).map(|rank| rank + 1)
    }

    /// Where the next page of the table begins.
    fn next_from(&self) -> Option<String> {
        let next = self.next.as_ref()?;
        Some(self.rank(next).map_or_else(|| next.entry.id.to_string(), |rank| rank.to_string()))
    }
}

web::operations! { "administrators"
    /// Exclude an entry, until the list is locked
    POST "/api/admin/sales/{sale}/draw/entries/{entry}/exclude" excludeEntry = exclude;
        204 (), "Excluded. The entrant reads the reason; the public list has it.";
        refuses NoSuchSale EntriesLocked;
    /// Give a draw its public round
    POST "/api/admin/sales/{sale}/draw/round" giveRound = give_round;
        204 (), "The signature is right; the draw is held within moments.";
        refuses NoSuchDraw RoundNotAwaited;
    /// Call off a draw whose public round is an hour overdue
    ///
    /// No entry wins, deposits go back, and entrants are told the reason.
    POST "/api/admin/sales/{sale}/draw/call-off" callOffDraw = call_off;
        204 (), "Called off.";
        refuses NoSuchDraw RoundNotOverdue;
    /// Let a later public round decide a draw whose own is an hour overdue
    ///
    /// It is the first round that appears more than ten minutes from now. Entrants are told it and the reason.
    POST "/api/admin/sales/{sale}/draw/later-round" awaitLaterRound = await_later_round;
        204 (), "The draw awaits the later round; `changes` of the draw names it.";
        refuses NoSuchDraw RoundNotOverdue;
}
