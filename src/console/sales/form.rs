//! The form that creates a sale, edits one that has not begun, or creates a copy.

use jiff::ToSpan;

use crate::prelude::*;
use crate::sales::form_input::SaleForm;
use crate::sales::page::{changed_path, done_path};
use crate::sales::view::admin_notice;
use control::checklist::{CheckState, ChecklistItem};
use control::sales_admin::SaleCommand;
use domain::{Rush, Window};
use pages::filters::{action, discount_label};
use store::{Redefinition, SaleRefusal};
use web::shared::SaleNoticeQuery;
use words::text;

inputs! {
    /// The values that a new form is filled with.
    NewSaleQuery {
        goods,
        /// The sale to copy.
        from,
        /// The opening time that the calendar proposes.
        opens_at,
    }
}

/// What the page shows besides the form's values.
#[derive(Debug, Default)]
pub(crate) struct SaleFormState {
    pub(crate) status: StatusCode,
    pub(crate) errors: Vec<FieldError>,
    /// An error of the form as a whole.
    pub(crate) warning: Option<&'static str>,
    /// Another sale of the same goods at the same time.
    pub(crate) overlap: Option<SaleId>,
    /// Information above the form.
    pub(crate) note: Option<String>,
}

pub async fn blank((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<NewSaleQuery>) -> Answer {
    let model = match query.from.parse::<SaleId>() {
        Ok(id) => shop.store.sales().get(id).await?,
        Err(_) => None,
    };
    let mut state = SaleFormState::default();
    let mut form = match model {
        None => SaleForm {
            per_user_limit: "1".to_owned(),
            goods_id: query.goods,
            currency: visitor.shop.currency.as_str().to_owned(),
            ..SaleForm::default()
        },
        Some(model) => {
            let window = moved_into_future(model.window, shop.clock.now());
            let t = &words::text(visitor.locale).sales;
            let note = if window.opens_at.is_some() { t.cloned } else { t.cloned_plain };
            state.note = Some(words::fill(note, model.id));
            SaleForm::of(&Sale { window, ..model }, visitor.locale)
        }
    };
    if time(&query.opens_at).is_some_and(|at| at > shop.clock.now()) {
        form.opens_at = query.opens_at;
    }
    form.key = Uuid::now_v7().to_string();
    form.version = String::new();
    page(&shop, &visitor, None, form, state).await
}

/// Moves the window by whole days, as few as bring its opening into the future. Its length stays.
fn moved_into_future(window: Window, now: Timestamp) -> Window {
    const DAY_MS: i64 = 86_400_000;
    let Some(opens) = window.opens_at else { return Window { opens_at: None, closes_at: None } };
    let late = now.as_millisecond() - opens.as_millisecond();
    let days = if late < 0 { 1 } else { late / DAY_MS + 1 };
    let [opens_at, closes_at] = [Some(opens), window.closes_at].map(|at| at?.checked_add((days * 24).hours()).ok());
    Window { opens_at, closes_at }
}

pub async fn create((State(shop), admin, visitor): StaffVisit<ManageSales>, Form(mut form): Form<SaleForm>) -> Answer {
    form.draw_beacon = shop.config.draw_beacon;
    let refusal = match form.parse(shop.clock.now()) {
        Err(errors) => return page(&shop, &visitor, None, form, SaleFormState::with_errors(errors)).await,
        Ok(draft) => match shop.sales_admin.create_sale(draft, &form.save_options(), admin.actor()).await {
            Ok(sale) => {
                let done = if sale.state == domain::SaleState::Draft { "drafted" } else { "created" };
                return Ok(see_other(&done_path(visitor.locale, "/admin", done, sale.id)));
            }
            Err(refusal) => refusal,
        },
    };
    let state = SaleFormState::of_refusal(refusal, visitor.locale)?;
    page(&shop, &visitor, None, form, state).await
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
    Query(SaleNoticeQuery { done, applied }): Query<SaleNoticeQuery>,
) -> Answer {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NotFound)?;
    if !sale.state.is_planned() {
        return locked(&visitor, sale);
    }
    let note = admin_notice(visitor.locale, &done, Some(id), &applied);
    page(
        &shop,
        &visitor,
        Some(&sale),
        SaleForm::of(&sale, visitor.locale),
        SaleFormState { note, ..SaleFormState::default() },
    )
    .await
}

pub async fn edit(
    (State(shop), admin, visitor, PathIds(id)): StaffVisitTo<ManageSales, SaleId>,
    Form(mut form): Form<SaleForm>,
) -> Answer {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NotFound)?;
    if !sale.state.is_planned() {
        return locked(&visitor, sale);
    }
    form.draw_beacon = shop.config.draw_beacon;
    let refusal = match form.parse(shop.clock.now()) {
        Err(errors) => return page(&shop, &visitor, Some(&sale), form, SaleFormState::with_errors(errors)).await,
        Ok(draft) => {
            let edit = SaleCommand::Edit(Box::new(Redefinition::Whole(draft)), form.save_options());
            match shop.sales_admin.change(id, edit, admin.actor()).await {
                Ok(changed) => {
                    let path = format!("/admin/sales/{id}/edit");
                    return Ok(see_other(&changed_path(visitor.locale, &path, "saved", &changed)));
                }
                // The sale began after it was read above.
                Err(SaleRefusal::HasBegun) => return locked(&visitor, sale),
                Err(refusal) => refusal,
            }
        }
    };
    if matches!(refusal, SaleRefusal::ChangedMeanwhile) {
        // The form gets the current version, so saving it again overwrites what others changed.
        form.version = sale.version.to_string();
    }
    let state = SaleFormState::of_refusal(refusal, visitor.locale)?;
    page(&shop, &visitor, Some(&sale), form, state).await
}

impl SaleFormState {
    fn with_errors(errors: Vec<FieldError>) -> SaleFormState {
        SaleFormState { status: StatusCode::UNPROCESSABLE_ENTITY, errors, ..SaleFormState::default() }
    }

    /// The form's state after a refusal. A refusal that concerns no field remains a problem.
    fn of_refusal(refusal: SaleRefusal, locale: domain::Locale) -> Result<SaleFormState, Problem> {
        let (error, overlap) = match refusal {
            SaleRefusal::NoSuchGoods => (FieldError::new("goods_id", "no_such_goods"), None),
            SaleRefusal::GoodsArchived => (FieldError::new("goods_id", "goods_archived"), None),
            SaleRefusal::Overlap(other) => (FieldError::new("opens_at", "overlap"), Some(other)),
            SaleRefusal::ChangedMeanwhile => {
                let warning = Some(words::problem("changed_meanwhile").text(locale));
                return Ok(SaleFormState { status: StatusCode::CONFLICT, warning, ..SaleFormState::default() });
            }
            SaleRefusal::Invalid(fields) => {
                let errors = fields.into_iter().map(|(field, code)| FieldError::new(field, code));
                return Ok(SaleFormState::with_errors(errors.collect()));
            }
            other => return Err(other.into()),
        };
        let status = if overlap.is_some() { StatusCode::CONFLICT } else { StatusCode::UNPROCESSABLE_ENTITY };
        Ok(SaleFormState { status, overlap, ..SaleFormState::with_errors(vec![error]) })
    }
}

/// The page with the form of a new sale or a planned one.
async fn page(shop: &Shop, visitor: &Visitor, sale: Option<&Sale>, form: SaleForm, state: SaleFormState) -> Answer {
    let path = sale.map_or_else(|| "new".to_owned(), |sale| format!("{}/edit", sale.id));
    let chrome = visitor.chrome_at(format!("/admin/sales/{path}?lang={}", visitor.locale));
    let checklist = match sale {
        Some(sale) => shop.sales_admin.checklist(sale).await?,
        None => Vec::new(),
    };
    let mut goods = shop.store.goods().list().await?;
    goods.retain(|goods| !goods.is_archived() || sale.is_some_and(|sale| sale.goods_id == goods.id));
    let page = AdminSaleForm {
        chrome,
        sale: sale.map(|sale| (sale.id, sale.state)),
        goods,
        announced: announced(&form, shop.clock.now()),
        form,
        state,
        checklist,
    };
    personal(page.state.status, &page)
}

/// The card of a sale as a form is filled in, for the script that follows what is typed.
pub async fn preview((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(form): Query<SaleForm>) -> Answer {
    let goods = match form.goods_id.parse() {
        Ok(id) => shop.store.goods().get(id).await?,
        Err(_) => None,
    };
    let chrome = visitor.chrome_at(String::new());
    let shown = announced(&form, shop.clock.now()).zip(goods.as_ref());
    personal(StatusCode::OK, &SaleCard { chrome: &chrome, shown })
}

/// The sale of a form as shoppers will see it before its start; `None` without a price. What else cannot be read is left
/// out.
fn announced(form: &SaleForm, now: Timestamp) -> Option<Sale> {
    let (draft, errors) = form.read(now);
    errors.iter().all(|error| error.field != "price").then(|| draft.sale(SaleId(0), SaleState::Scheduled))
}

/// The card of the shop's list. Without goods or a price, a line in its place.
#[derive(Debug, Template)]
#[template(path = "sales/console_sale_card.html")]
struct SaleCard<'a> {
    chrome: &'a Chrome,
    shown: Option<(Sale, &'a Goods)>,
}

/// A sale that has begun cannot be edited; only its stock can be topped up.
fn locked(visitor: &Visitor, sale: Sale) -> Answer {
    let chrome = visitor.chrome_at(format!("/admin/sales/{}/edit?lang={}", sale.id, visitor.locale));
    personal(StatusCode::CONFLICT, &AdminSaleLocked { chrome, id: sale.id })
}

/// The form of a new sale, or of a sale that has not begun. All values are as entered.
#[derive(Debug, Template)]
#[template(path = "sales/console_sale_form.html")]
pub struct AdminSaleForm {
    pub chrome: Chrome,
    /// `None` for a new sale.
    pub sale: Option<(SaleId, SaleState)>,
    pub goods: Vec<Goods>,
    /// The sale as shoppers will see it; `None` without a price.
    pub announced: Option<Sale>,
    pub form: SaleForm,
    pub(crate) state: SaleFormState,
    pub checklist: Vec<ChecklistItem>,
}

impl AdminSaleForm {
    /// The currency of the amounts that are entered.
    fn currency(&self) -> &str {
        if self.form.currency.is_empty() { "CNY" } else { &self.form.currency }
    }

    fn chosen(&self, goods: &Goods) -> bool {
        self.form.goods_id == goods.id.to_string()
    }

    fn card(&self) -> SaleCard<'_> {
        let goods = self.goods.iter().find(|goods| self.chosen(goods));
        SaleCard { chrome: &self.chrome, shown: self.announced.clone().zip(goods) }
    }

    /// Whether the price is not below the list price and has to be confirmed.
    fn needs_price_confirmation(&self) -> bool {
        self.state.errors.iter().any(|error| error.code == "not_lower")
    }

    /// What the expected demand says about the mode. `None` until the demand is entered.
    fn advice(&self) -> Option<String> {
        let t = &self.chrome.text().waiting_room_console;
        let [accounts, units] = [&self.form.expected_accounts, &self.form.total].map(|text| text.trim().parse::<i64>());
        let (accounts, units) = (accounts.ok()?, units.ok().filter(|units| *units > 0)?);
        let (text, times) = if accounts > units { (t.advice_rush, accounts / units) } else { (t.advice_enough, 1) };
        Some([accounts, units, times].into_iter().fold(text.to_owned(), |text, number| fill(&text, number)))
    }

    fn queue_fields(&self) -> [(&'static str, &str, &'static str); 3] {
        let t = &self.chrome.text().waiting_room_console;
        [
            ("queue_prequeue_s", &self.form.queue_prequeue_s, t.prequeue_help),
            ("queue_gather_s", &self.form.queue_gather_s, t.gather_help),
            ("queue_seat_s", &self.form.queue_seat_s, t.seat_help),
        ]
    }

    fn rush_fields(&self) -> [(&'static str, &str, &'static str); 3] {
        let t = &self.chrome.text().sales;
        let SaleForm { buckets, lot, spread_ms, .. } = &self.form;
        [("spread_ms", spread_ms, t.spread_help), ("buckets", buckets, t.buckets_help), ("lot", lot, t.lot_help)]
    }

    /// The rules about who may take part: field, words, and whether it is ticked.
    fn rules(&self) -> [(&'static str, &'static str, bool); 5] {
        let (t, form) = (&self.chrome.text().eligibility_console, &self.form);
        [
            ("old_accounts", t.old_accounts, form.old_accounts == "yes"),
            ("verified_contact", t.verified_contact, form.verified_contact == "yes"),
            ("one_per_contact", t.one_per_contact, form.one_per_contact == "yes"),
            ("one_per_address", t.one_per_address, form.one_per_address == "yes"),
            ("invitation", t.invitation, form.invitation == "yes"),
        ]
    }

    /// The modes: value, name, when it fits, what speaks for it, what speaks against it.
    fn modes(&self) -> [[&'static str; 5]; 3] {
        let (t, room, sales) =
            (self.chrome.text(), &self.chrome.text().waiting_room_console, &self.chrome.text().sales);
        [
            ["rush", t.draws.mode_rush, room.mode_rush_text, sales.rush_for, sales.rush_against],
            ["queue", room.mode_waiting_room, room.mode_queue_text, sales.queue_for, sales.queue_against],
            ["draw", t.draws.mode_draw, room.mode_draw_text, sales.draw_for, sales.draw_against],
        ]
    }

    /// Whether this mode is chosen. Without a choice it is a rush.
    fn is_mode(&self, mode: &str) -> bool {
        self.form.mode == mode || (mode == "rush" && !["queue", "draw"].contains(&self.form.mode.as_str()))
    }

    /// What the folded rules are set to.
    fn rules_summary(&self) -> String {
        let t = self.chrome.text();
        let ticked =
            self.rules().into_iter().filter(|(.., is_ticked)| *is_ticked).map(|(_, words, _)| words.to_owned());
        let deposit = Some(self.form.deposit.trim()).filter(|deposit| !deposit.is_empty());
        let deposit = deposit.map(|deposit| format!("{} {deposit}", t.eligibility_console.deposit));
        let set: Vec<String> = ticked.chain(deposit).collect();
        if set.is_empty() { t.sales.no_rules.to_owned() } else { set.join(" · ") }
    }

    /// What the folded settings for high traffic are set to, as far as they differ from the defaults.
    fn rush_summary(&self) -> String {
        let default = Rush::default();
        let defaults = [default.spread_ms, i64::from(default.buckets), default.lot].map(|number| number.to_string());
        let set = self.rush_fields().into_iter().zip(defaults);
        let set = set.filter(|((_, value, _), default)| !value.trim().is_empty() && value.trim() != default);
        let set: Vec<String> =
            set.map(|((key, value, _), _)| format!("{} {value}", label(&self.chrome, key))).collect();
        if set.is_empty() { self.chrome.text().sales.by_default.to_owned() } else { set.join(" · ") }
    }

    /// Whether one of these fields has an error, so that its part is unfolded.
    fn is_wrong(&self, fields: &[&str]) -> bool {
        self.state.errors.iter().any(|error| fields.contains(&error.field))
    }

    /// Whether the sale is a draw that was announced.
    fn has_draw(&self) -> bool {
        self.form.mode == "draw" && self.sale.is_some() && !self.is_draft()
    }

    fn is_draft(&self) -> bool {
        self.sale.is_some_and(|(_, state)| state == SaleState::Draft)
    }

    fn checks(&self) -> CheckList<'_> {
        CheckList { locale: self.chrome.locale, checks: &self.checklist }
    }
}

/// The part of a page that shows a checklist: `{{ checks.render()?|safe }}`.
#[derive(Debug, Template)]
#[template(path = "sales/console_checklist.html")]
pub struct CheckList<'a> {
    pub locale: Locale,
    pub checks: &'a [ChecklistItem],
}

impl CheckList<'_> {
    fn count(&self, state: CheckState) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    pub(crate) fn worst_state(&self) -> CheckState {
        let states = [CheckState::NotOk, CheckState::Warning];
        states.into_iter().find(|state| self.count(*state) > 0).unwrap_or(CheckState::Ok)
    }

    /// One sentence about the whole list.
    pub(crate) fn summary(&self) -> String {
        let t = &text(self.locale).checklist;
        match self.worst_state() {
            CheckState::NotOk => fill(t.not_ready, self.count(CheckState::NotOk)),
            CheckState::Warning => fill(t.almost, self.count(CheckState::Warning)),
            CheckState::Ok => t.ready.to_owned(),
        }
    }

    fn title(&self) -> &'static str {
        text(self.locale).checklist.title
    }

    fn state(&self, check: &ChecklistItem) -> &'static str {
        let t = &text(self.locale).checklist;
        match check.state {
            CheckState::Ok => t.state_ok,
            CheckState::Warning => t.state_warning,
            CheckState::NotOk => t.state_not_ok,
        }
    }

    fn name(&self, check: &ChecklistItem) -> &'static str {
        checklist_words(self.locale, check.check)
    }

    pub(crate) fn sentence(&self, check: &ChecklistItem) -> String {
        finding_sentence(self.locale, check)
    }
}

/// The page instead of the form of a sale that has begun.
#[derive(Debug, Template)]
#[template(path = "sales/console_sale_locked.html")]
struct AdminSaleLocked {
    chrome: Chrome,
    id: SaleId,
}

impl AdminSaleLocked {
    fn reason(&self) -> &'static str {
        words::problem("has_begun").text(self.chrome.locale)
    }
}

/// The value of a `datetime-local` field, in UTC, for a time as it was posted.
pub(crate) fn for_time_field(posted: &str) -> String {
    match posted.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        Err(_) => posted.to_owned(),
    }
}

// The checklist before a sale in words, for its page and the API.

/// The name of a check or a finding; its key where a translation is missing.
fn checklist_words(locale: Locale, key: &'static str) -> &'static str {
    text(locale).checklist.entries().find(|(name, _)| *name == key).map_or(key, |(_, words)| words)
}

/// One sentence: what was found, and what to do about it.
pub fn finding_sentence(locale: Locale, item: &ChecklistItem) -> String {
    fill(checklist_words(locale, item.finding.as_str()), item.value.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::checklist::Finding;

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn copy_opens_at_the_same_hour_of_a_later_day() {
        let at = |text: &str| text.parse::<Timestamp>().ok();
        let moved = |opens: &str, closes: &str| {
            let window = moved_into_future(Window { opens_at: at(opens), closes_at: at(closes) }, now());
            (window.opens_at, window.closes_at)
        };
        assert_eq!(
            moved("2026-11-01T20:00:00Z", "2026-11-02T01:00:00Z"),
            (at("2026-11-21T20:00:00Z"), at("2026-11-22T01:00:00Z"))
        );
        assert_eq!(moved("2026-11-21T12:00:00Z", ""), (at("2026-11-22T12:00:00Z"), None));
        assert_eq!(moved("2026-11-23T12:00:00Z", "").0, at("2026-11-24T12:00:00Z"), "a day after its model");
        assert_eq!(moved("", "2026-11-23T12:00:00Z"), (None, None));
    }

    #[test]
    fn summary_names_the_worst_state() {
        let html_of = |findings: &[Finding]| {
            let checks: Vec<ChecklistItem> = findings.iter().map(|f| ChecklistItem::from(*f)).collect();
            CheckList { locale: Locale::En, checks: &checks }.render().unwrap()
        };
        assert!(html_of(&[Finding::PageCurrent]).contains("Everything is ready."));
        assert!(html_of(&[Finding::PageCurrent, Finding::WindowEndless]).contains("Needs attention: 1."));
        let html = html_of(&[Finding::PageOld, Finding::WindowEndless, Finding::ControlMissing]);
        assert!(html.contains("Not ready: 2.") && html.contains("data-state=\"not_ok\""));
    }

    #[test]
    fn every_finding_has_words_in_both_languages() {
        for locale in Locale::ALL {
            for finding in Finding::ALL {
                assert_ne!(checklist_words(locale, finding.as_str()), finding.as_str());
                assert_ne!(checklist_words(locale, finding.check()), finding.check());
            }
        }
    }
}
