//! Shadow mode of a sale: where another shop decided otherwise than this one would have.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::sales::view::sale_tabs;
use crate::{StaffVisitTo, Tab};
use domain::front::{DecisionCounts, Difference, Verdict};
use domain::{Sale, SaleId, SaleMode};
use pages::{Chrome, filters};
use web::extract::{PathIds, State, ViewConsole};
use web::{Code, Problem, personal};

/// Differences of each list. Programs read all of them.
const MAX_SHOWN: usize = 100;

#[derive(Debug, Template)]
#[template(path = "sales/console_decisions.html")]
struct DecisionsPage {
    chrome: Chrome,
    tabs: Vec<Tab>,
    sale: Sale,
    counts: DecisionCounts,
    /// Orders with units beyond the stock.
    oversold: Vec<Difference>,
    others: Vec<Difference>,
    has_more: bool,
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
) -> Result<Response, Problem> {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NotFound)?;
    if sale.mode != SaleMode::Rush {
        return Err(Code::NotARush.into());
    }
    let (mut oversold, mut others, mut has_more) = (Vec::new(), Vec::new(), false);
    let mut add = |difference: Difference| {
        let list = if difference.oversold > 0 { &mut oversold } else { &mut others };
        if list.len() < MAX_SHOWN { list.push(difference) } else { has_more = true }
    };
    let counts = shop.store.decisions().compare(&sale, &mut add).await?;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}/decisions?lang={}", visitor.locale));
    let tabs = sale_tabs(&chrome, &sale, "/decisions");
    personal(StatusCode::OK, &DecisionsPage { chrome, tabs, sale, counts, oversold, others, has_more })
}

impl DecisionsPage {
    fn verdict(&self, verdict: &Verdict) -> &'static str {
        let t = &self.chrome.text().decisions;
        match verdict {
            Verdict::Sold => t.sold,
            Verdict::NotOpen => t.not_open,
            Verdict::Ended => t.ended,
            Verdict::AccountTooNew => t.account_too_new,
            Verdict::ContactNotVerified => t.contact_not_verified,
            Verdict::HoldsUnits => t.holds_units,
            Verdict::OverLimit => t.over_limit,
            Verdict::SoldOut => t.sold_out,
        }
    }

    /// What the other shop calls the order; its id of the decision if it has told none.
    fn name<'d>(&self, difference: &'d Difference) -> &'d str {
        difference.decision.reference.as_deref().unwrap_or(&difference.decision.id)
    }
}
