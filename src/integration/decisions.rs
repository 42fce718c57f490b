//! Shadow mode: another shop decides for itself and tells afterwards; this one compares and sells nothing.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use accounts::is_external_id;
use domain::front::{DecisionCounts, Difference, ShopDecision};
use domain::{Sale, SaleId, SaleMode};
use web::extract::program::{Caller, Reserve};
use web::extract::{PathIds, Query, body, from_json};
use web::problem::{Code, FieldProblem, Problem};
use web::shared::pagination::Cursor;
use web::shared::validation::check;
use web::{Answer, Shop, private};

use crate::reservations::{is_reference, page_size};

/// Decisions of one request, and bytes of its body.
const MAX_DECISIONS: usize = 500;
const MAX_BYTES: usize = 256 * 1024;
const MAX_QUANTITY: u32 = 1_000_000;
/// How far the other shop's clock may be ahead.
const MAX_AHEAD: SignedDuration = SignedDuration::from_mins(5);

type Call = (State<Arc<Shop>>, Caller<Reserve>, PathIds<SaleId>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionsBody {
    #[schemars(length(min = 1, max = 500))]
    decisions: Vec<ShopDecision>,
}

#[derive(Serialize, JsonSchema)]
struct TakenDecisions {
    /// Decisions with ids that were not known.
    taken: u64,
    /// Decisions that were told before. They stay as they were told first.
    known: u64,
}

/// A sale that sells to the first who ask: in the other ways to sell, no request is decided on its own.
async fn rush(shop: &Shop, sale: SaleId) -> Result<Sale, Problem> {
    let sale = shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    if sale.mode == SaleMode::Rush { Ok(sale) } else { Err(Code::NotARush.into()) }
}

/// Notes what the other shop decided.
pub async fn tell((State(shop), _, PathIds(sale)): Call, headers: HeaderMap, content: Body) -> Answer {
    let sale = rush(&shop, sale).await?;
    let DecisionsBody { decisions } = from_json(&body(&headers, content, MAX_BYTES).await?)?;
    check([((1..=MAX_DECISIONS).contains(&decisions.len()), "decisions", "out_of_range")])?;
    let latest = shop.clock.now() + MAX_AHEAD;
    let wrong = decisions.iter().enumerate().flat_map(|(n, decision)| {
        let checks = [
            ("id", is_external_id(&decision.id), "bad_text"),
            ("shopper", is_external_id(&decision.shopper), "bad_text"),
            ("quantity", (1..=MAX_QUANTITY).contains(&decision.quantity), "out_of_range"),
            ("at", decision.at <= latest, "in_future"),
            ("reference", decision.reference.as_deref().is_none_or(is_reference), "bad_text"),
        ];
        let wrong = checks.into_iter().filter(|(_, is_right, _)| !is_right);
        wrong.map(move |(field, _, code)| FieldProblem { field: format!("decisions[{n}].{field}"), code })
    });
    let wrong: Vec<FieldProblem> = wrong.collect();
    if !wrong.is_empty() {
        return Err(Problem::invalid(wrong));
    }
    let taken = shop.store.decisions().add(sale.id, &decisions).await?.ok_or(Code::TooManyDecisions)?;
    let known = decisions.len() as u64 - taken;
    Ok(private(TakenDecisions { taken, known }))
}

#[derive(Deserialize, JsonSchema)]
pub struct DifferencesQuery {
    /// The `next` of the page before.
    #[serde(default)]
    after: Cursor,
    /// Differences of one page: 100 unless it says otherwise.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u16>,
}

#[derive(Serialize, JsonSchema)]
struct ComparisonAnswer {
    /// Sums over all decisions, whatever the page.
    comparison: DecisionCounts,
    /// By time.
    differences: Vec<Difference>,
    /// For `?after=`; `null` on the last page.
    next: Option<String>,
}

/// What would have been decided otherwise here.
pub async fn differences(
    (State(shop), _, PathIds(sale)): Call,
    Query(DifferencesQuery { after, limit }): Query<DifferencesQuery>,
) -> Answer {
    let limit = page_size(limit)?;
    let after: Option<String> = after.read("after")?;
    let sale = rush(&shop, sale).await?;
    let (mut differences, mut has_begun, mut next) = (Vec::<Difference>::new(), after.is_none(), None);
    let mut add = |difference: Difference| {
        if !has_begun {
            has_begun = after.as_ref() == Some(&difference.decision.id);
        } else if differences.len() < limit {
            differences.push(difference);
        } else if next.is_none() {
            next = differences.last().map(|last| last.decision.id.clone());
        }
    };
    let comparison = shop.store.decisions().compare(&sale, &mut add).await?;
    if !has_begun {
        return Err(Problem::invalid_field("after", "bad_cursor"));
    }
    Ok(private(ComparisonAnswer { comparison, differences, next }))
}

web::operations! { "other shops"
    /// Tell what your shop decided, for a comparison
    ///
    /// Shadow mode: nothing is sold or held. Afterwards, and in any order; a decision with an id that was told before stays as it
    /// was. The sale may be a draft.
    POST "/api/v1/sales/{sale}/decisions" tellDecisions = tell,
        body<DecisionsBody>;
        200 TakenDecisions;
        refuses NoSuchSale NotARush TooManyDecisions;
    /// Where your shop decided otherwise than this one would have
    GET "/api/v1/sales/{sale}/decisions/differences" listDifferences = differences;
        200 ComparisonAnswer;
        refuses NoSuchSale NotARush;
}
