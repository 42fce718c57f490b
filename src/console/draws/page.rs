//! The console's page of a draw: its steps, the round that staff paste, entries and their exclusion, and a dry run.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::StaffVisitTo;
use crate::draws::view::{AdminDrawPage, RoundFormState};
use control::draws::{DryRun, PasteRefusal, dry_run, paste_round};
use domain::draw::{EntryId, Exclusion};
use domain::hold::check_review_reason;
use domain::{Locale, SaleId};
use store::{ExcludeOutcome, StaffEntry};
use web::Shop;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::problem::{Code, Problem};
use web::shared::FieldError;
use web::shared::goods::goods_name_and_cover;
use web::shared::pagination::LARGE_PAGE_SIZE;
use web::shared::response::{personal, see_other};

/// Where the table of entries begins (at an entry, or at a rank once the draw was held), and what the page reports as
/// done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AdminDrawQuery {
    from: String,
    done: String,
}

/// What an action adds to the page.
#[derive(Default)]
struct Shown {
    status: StatusCode,
    from: String,
    notice: Option<&'static str>,
    warning: Option<&'static str>,
    round: RoundFormState,
    dry_run: Option<DryRun>,
}

impl Shown {
    fn refused(from: String, code: Code, locale: Locale) -> Shown {
        let warning = Some(words::problem(code.as_str()).text(locale));
        Shown { status: code.status(), from, warning, ..Shown::default() }
    }
}

pub async fn show(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(AdminDrawQuery { from, done }): Query<AdminDrawQuery>,
) -> Result<Response, Problem> {
    let t = &words::text(visitor.locale).draw_console;
    let notice = match done.as_str() {
        "exclude" => Some(t.excluded_done),
        "round" => Some(t.round_done),
        "call-off" => Some(t.call_off_done),
        _ => None,
    };
    page(&shop, &visitor, sale, staff.may::<ManageSales>(), Shown { from, notice, ..Shown::default() }).await
}

async fn page(shop: &Shop, visitor: &Visitor, sale: SaleId, may_act: bool, shown: Shown) -> Result<Response, Problem> {
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
        may_act,
        draw,
        rows,
        next,
        from: shown.from,
        notice: shown.notice,
        warning: shown.warning,
        round: shown.round,
        dry_run: shown.dry_run,
    };
    personal(shown.status, &page)
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

#[derive(Deserialize)]
pub struct RoundForm {
    #[serde(default)]
    round: String,
}

/// Verifies the pasted round.
pub async fn give_round(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    Form(RoundForm { round }): Form<RoundForm>,
) -> Result<Response, Problem> {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let shown = match paste_round(&shop.store, &draw, &round, staff.actor()).await {
        Ok(_) => return Ok(see_other(&done_path(visitor.locale, sale, "round", ""))),
        Err(PasteRefusal::NotAwaited) => Shown::refused(String::new(), Code::RoundNotAwaited, visitor.locale),
        Err(PasteRefusal::Wrong(wrong)) => Shown {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            round: RoundFormState { typed: round, wrong: Some(wrong) },
            ..Shown::default()
        },
        Err(PasteRefusal::Store(error)) => return Err(error.into()),
    };
    page(&shop, &visitor, sale, true, shown).await
}

#[derive(Deserialize)]
pub struct CallOffForm {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
}

/// Calls off a draw whose public round never came.
pub async fn call_off(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    Form(CallOffForm { reason, confirm }): Form<CallOffForm>,
) -> Result<Response, Problem> {
    let invalid = |warning| Shown { status: StatusCode::UNPROCESSABLE_ENTITY, warning, ..Shown::default() };
    let shown = match check_review_reason(&reason) {
        _ if confirm != "yes" => invalid(Some(words::problem("not_confirmed").text(visitor.locale))),
        Err(code) => invalid(Some(words::field_error(visitor.locale, code))),
        Ok(reason) => match shop.store.draws().call_off(sale, &reason, staff.actor()).await? {
            true => return Ok(see_other(&done_path(visitor.locale, sale, "call-off", ""))),
            false => Shown::refused(String::new(), Code::RoundNotOverdue, visitor.locale),
        },
    };
    page(&shop, &visitor, sale, true, shown).await
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
pub async fn exclude(
    (State(shop), staff, visitor, PathIds((sale, entry))): StaffVisitTo<ManageSales, (SaleId, String)>,
    Form(ExclusionForm { reason, confirm, from }): Form<ExclusionForm>,
) -> Result<Response, Problem> {
    let entry = entry.parse().map_err(|_| Code::NotFound)?;
    if confirm != "yes" {
        let warning = Some(words::problem("not_confirmed").text(visitor.locale));
        let shown = Shown { status: StatusCode::UNPROCESSABLE_ENTITY, from, warning, ..Shown::default() };
        return page(&shop, &visitor, sale, true, shown).await;
    }
    match shop.store.draws().exclude(sale, entry, reason, staff.actor()).await? {
        ExcludeOutcome::Done => Ok(see_other(&done_path(visitor.locale, sale, "exclude", &from))),
        ExcludeOutcome::Locked => {
            let shown = Shown::refused(from, Code::EntriesLocked, visitor.locale);
            page(&shop, &visitor, sale, true, shown).await
        }
        ExcludeOutcome::NoSuchEntry => Err(Code::NotFound.into()),
    }
}

/// Ranks the present entries with a throwaway secret.
pub async fn try_out(
    (State(shop), _, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
) -> Result<Response, Problem> {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let dry_run = dry_run(&shop.store, &draw).await.map_err(|error| Problem::internal(error.into_boxed_dyn_error()))?;
    page(&shop, &visitor, sale, true, Shown { dry_run: Some(dry_run), ..Shown::default() }).await
}
