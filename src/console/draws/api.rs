//! Draws: the public round that staff paste, and entries that they exclude.

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::StaffCallTo;
use control::draws::{PasteRefusal, paste_round};
use domain::SaleId;
use domain::draw::{EntryId, Exclusion};
use domain::order::check_hold_reason;
use store::ExcludeOutcome;
use web::extract::{Json, ManageSales, PathIds, State};
use web::{Code, Problem, no_content};

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
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(RoundRequest { round }): Json<RoundRequest>,
) -> Result<Response, Problem> {
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

/// Calls off a draw whose public round never came.
pub async fn call_off(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(MissingRoundRequest { reason }): Json<MissingRoundRequest>,
) -> Result<Response, Problem> {
    let reason = check_hold_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    match shop.store.draws().call_off(sale, &reason, staff.actor()).await? {
        true => Ok(no_content()),
        false => Err(Code::RoundNotOverdue.into()),
    }
}

/// Lets a later public round decide a draw whose own never came.
pub async fn await_later_round(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(MissingRoundRequest { reason }): Json<MissingRoundRequest>,
) -> Result<Response, Problem> {
    let reason = check_hold_reason(&reason).map_err(|code| Problem::invalid_field("reason", code))?;
    shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    match shop.store.draws().await_later_round(sale, &reason, staff.actor()).await? {
        true => Ok(no_content()),
        false => Err(Code::RoundNotOverdue.into()),
    }
}

/// Excludes an entry until the list is locked.
pub async fn exclude(
    (State(shop), staff, PathIds((sale, entry))): StaffCallTo<ManageSales, (SaleId, EntryId)>,
    Json(ExclusionRequest { reason }): Json<ExclusionRequest>,
) -> Result<Response, Problem> {
    match shop.store.draws().exclude(sale, entry, reason, staff.actor()).await? {
        ExcludeOutcome::Done => Ok(no_content()),
        ExcludeOutcome::Locked => Err(Code::EntriesLocked.into()),
        ExcludeOutcome::NoSuchEntry => Err(Code::NotFound.into()),
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
