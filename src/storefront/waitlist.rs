//! A shopper's own place on the waitlist of a sale: for programs, its page, and the forms that join and leave.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SaleCall, UserVisit, eligibility};
use domain::{Order, OrderId, OrderStatus, Phase, SaleId, Waiter, WaiterState};
use engine::catalogue::CatalogueEntry;
use engine::waitlist::OwnPlace;
use pages::onward::OnwardSale;
use pages::{Chrome, filters};
use store::MAX_COUNTED_WAITERS;
use web::extract::{ClientAddress, Form, Json, PathIds, SalePath, SignedIn, State};
use web::shared::onward_from;
use web::shared::paths::waitlist_path;
use web::{Answer, Cache, Code, no_content, personal, private, see_other};
use words::fill;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WaitlistBody")]
pub struct JoinBody {
    /// The most units that the account wants.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    quantity: i64,
}

fn one() -> i64 {
    1
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitlistPlaceResponse")]
struct PlaceResponse {
    waitlist: PlaceJson,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitlistPlace")]
struct PlaceJson {
    sale_id: SaleId,
    /// `offered`: the turn came, and there is an order. `skipped`: the turn came, and the account could not buy.
    state: WaiterState,
    /// The most units that the account wants.
    #[schemars(range(min = 1))]
    quantity: u32,
    joined_at: Timestamp,
    /// Counted from 1; `null` unless the account waits.
    #[schemars(range(min = 1))]
    position: Option<i64>,
    /// The accounts before it, as far as they are counted.
    #[schemars(range(min = 0, max = 10000))]
    ahead: Option<i64>,
    /// The order that was offered to the account.
    order_id: Option<OrderId>,
    /// Until when that order can be paid; `null` once it cannot.
    pay_by: Option<Timestamp>,
}

fn response(sale_id: SaleId, OwnPlace { waiter, ahead, order }: OwnPlace) -> PlaceResponse {
    PlaceResponse {
        waitlist: PlaceJson {
            sale_id,
            state: waiter.state,
            quantity: waiter.quantity,
            joined_at: waiter.joined_at,
            position: ahead.map(|ahead| ahead + 1),
            ahead,
            order_id: order.as_ref().map(|order| order.id),
            pay_by: order.filter(|order| order.status == OrderStatus::Unpaid).map(|order| order.pay_by),
        },
    }
}

/// Joins the waitlist of a sold-out sale. 201 with the new place; 200 with the same place if the account already waits.
pub async fn join(
    (State(shop), SignedIn(session), SalePath(sale)): SaleCall,
    ClientAddress(client): ClientAddress,
    Json(body): Json<JoinBody>,
) -> Answer {
    let (place, is_new) = shop.waitlist.join(sale, session.user_id, body.quantity, client).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Cache::Private, Json(response(sale, place))).into_response())
}

/// The account's own place.
pub async fn own((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer {
    let place = shop.waitlist.place(sale, session.user_id).await?.ok_or(Code::NotWaiting)?;
    Ok(private(response(sale, place)))
}

/// Takes the account off the waitlist.
pub async fn leave(
    (State(shop), SignedIn(session), SalePath(sale)): SaleCall,
    ClientAddress(client): ClientAddress,
) -> Answer {
    shop.waitlist.leave(sale, session.user_id, client).await?;
    Ok(no_content())
}

pub async fn page((State(shop), SignedIn(session), visitor): UserVisit, PathIds(sale): PathIds<SaleId>) -> Answer {
    let status = shop.gate.status(sale).ok_or(Code::NoSuchSale)?;
    let known =
        shop.catalogue.entry(sale).await?.filter(|entry| entry.sale.mode.has_waitlist()).ok_or(Code::NoWaitlist)?;
    let page = WaitlistPage {
        onward: onward_from(&shop.catalogue, visitor.locale, &known),
        phase: status.phase,
        per_user_limit: status.per_user_limit,
        place: shop.waitlist.place(sale, session.user_id).await?,
        live_order: shop.store.orders().live_order_of(sale, session.user_id).await?,
        waiting: shop.store.waitlists().count_waiters(sale).await?,
        unpaid: shop.store.orders().unpaid(sale).await?,
        free_by: shop.store.orders().last_pay_by(sale).await?,
        known,
        chrome: visitor.chrome(),
    };
    personal(StatusCode::OK, &page)
}

#[derive(Deserialize)]
pub struct JoinForm {
    #[serde(default)]
    quantity: String,
}

pub async fn join_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
    Form(form): Form<JoinForm>,
) -> Answer {
    let quantity = form.quantity.trim().parse().map_err(|_| Code::BadQuantity)?;
    match shop.waitlist.join(sale, session.user_id, quantity, client).await {
        Ok(_) => Ok(see_other(&waitlist_path(visitor.locale, sale))),
        Err(refusal) => eligibility::refused(refusal, visitor.locale, sale),
    }
}

pub async fn leave_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    ClientAddress(client): ClientAddress,
) -> Answer {
    shop.waitlist.leave(sale, session.user_id, client).await?;
    Ok(see_other(&waitlist_path(visitor.locale, sale)))
}

/// Highest choice of the quantity field.
const MAX_QUANTITY_CHOICE: i64 = 10;

/// The account's place, and the actions that it allows.
#[derive(Debug, Template)]
#[template(path = "waitlist/waitlist.html")]
struct WaitlistPage {
    chrome: Chrome,
    known: Arc<CatalogueEntry>,
    /// The phase of the sale.
    phase: Phase,
    per_user_limit: i64,
    /// `None` if the account never joined.
    place: Option<OwnPlace>,
    /// The account's live order in this sale, whether it came from an offer or not.
    live_order: Option<OrderId>,
    /// Accounts that wait, as far as they are counted.
    waiting: i64,
    /// Orders of the sale that are not paid yet, and until when their units come back.
    unpaid: i64,
    free_by: Option<Timestamp>,
    /// Sales to go on to.
    onward: Vec<OnwardSale>,
}

impl WaitlistPage {
    fn state(&self) -> Option<WaiterState> {
        self.place.as_ref().map(|place| place.waiter.state)
    }

    fn waiting_as(&self) -> Option<&Waiter> {
        self.place.as_ref().map(|place| &place.waiter).filter(|waiter| waiter.state == WaiterState::Waiting)
    }

    fn is_waiting(&self) -> bool {
        self.state() == Some(WaiterState::Waiting)
    }

    /// State and position as the page's script compares them.
    fn shown_place(&self) -> Option<String> {
        let place = self.place.as_ref().filter(|_| self.is_waiting())?;
        Some(format!("{} {}", place.waiter.state, place.ahead? + 1))
    }

    /// An offer that has not been paid or lost yet.
    fn offer(&self) -> Option<&Order> {
        self.place.as_ref()?.order.as_ref().filter(|order| order.status == OrderStatus::Unpaid)
    }

    /// The order of an offer that was accepted.
    fn paid(&self) -> Option<&Order> {
        self.place.as_ref()?.order.as_ref().filter(|order| order.status == OrderStatus::Paid)
    }

    /// An order that did not come from an offer; the sale refuses a second one.
    fn bought(&self) -> Option<OrderId> {
        self.live_order.filter(|_| self.offer().is_none() && self.paid().is_none() && !self.is_waiting())
    }

    fn has_order(&self) -> bool {
        self.offer().is_some() || self.paid().is_some() || self.bought().is_some()
    }

    fn can_join(&self) -> bool {
        self.phase == Phase::SoldOut && !self.is_waiting() && !self.has_order()
    }

    fn takes_one(&self) -> bool {
        self.per_user_limit <= 1
    }

    fn quantities(&self) -> std::ops::RangeInclusive<i64> {
        1..=self.per_user_limit.clamp(1, MAX_QUANTITY_CHOICE)
    }

    /// The position, counted from 1; `None` if there is nothing to wait for any more.
    fn position(&self) -> Option<String> {
        let ahead = self.place.as_ref()?.ahead.filter(|_| self.phase != Phase::Ended)?;
        Some(counted(ahead + 1))
    }

    /// How far the account has come among all who wait, in percent.
    fn percent(&self) -> i64 {
        let ahead = self.place.as_ref().and_then(|place| place.ahead).unwrap_or_default();
        let all = self.waiting.max(ahead + 1);
        100 * (all - ahead) / all
    }

    fn waiting(&self) -> String {
        counted(self.waiting)
    }

    /// The look of the state. The looks belong to the states on the page of a turn in a waiting room.
    fn look(&self) -> &'static str {
        match self.state() {
            _ if self.offer().is_some() => "called",
            _ if self.has_order() => "bought",
            Some(WaiterState::Skipped | WaiterState::Offered) => "missed",
            _ => "waiting",
        }
    }

    fn heading(&self) -> &'static str {
        let t = &self.chrome.text().waitlist;
        match self.state() {
            _ if self.offer().is_some() => t.head_offered,
            _ if self.paid().is_some() => t.head_paid,
            _ if self.bought().is_some() => t.head_bought,
            _ if self.phase == Phase::Ended => t.head_over,
            Some(WaiterState::Waiting) => t.head_waiting,
            Some(WaiterState::Skipped | WaiterState::Offered) => t.head_passed,
            _ if self.phase == Phase::SoldOut => t.head_sold_out,
            _ => t.head_not_needed,
        }
    }

    fn state_text(&self) -> String {
        let t = &self.chrome.text().waitlist;
        let text = match self.state() {
            _ if self.offer().is_some() => t.offered,
            _ if self.paid().is_some() => t.paid,
            _ if self.bought().is_some() => t.bought,
            _ if self.phase == Phase::Ended => t.over,
            Some(WaiterState::Waiting) => return fill(t.waiting, self.position().unwrap_or_default()),
            Some(WaiterState::Skipped) => t.skipped,
            Some(WaiterState::Offered) => t.lapsed,
            Some(WaiterState::Left) => t.left,
            None if self.phase == Phase::SoldOut => t.not_joined,
            None => t.not_needed,
        };
        text.to_owned()
    }
}

/// The number as shown. Beyond what is counted, `10000+`.
fn counted(n: i64) -> String {
    if n < MAX_COUNTED_WAITERS { n.to_string() } else { format!("{MAX_COUNTED_WAITERS}+") }
}

web::operations! { "buying"
    /// The account's place on the waitlist of a sale
    GET "/api/sales/{sale}/waitlist" showWaitlistPlace = own;
        200 PlaceResponse, "The place, or the order that it led to.";
        refuses NotWaiting;
    /// Wait for units of a sold-out sale
    ///
    /// One place per account, safe to repeat on any device. Accounts that join within 15 s of the first of them are
    /// shuffled. A unit that comes back becomes an unpaid order of the next account.
    POST "/api/sales/{sale}/waitlist" joinWaitlist = join, example(r#"{"quantity": 1}"#);
        200 PlaceResponse, "The account waits already: the same place.";
        201 PlaceResponse;
        refuses AccountTooNew ContactNotVerified InvitationNeeded NoWaitlist NotSoldOut HasOrder NotOpen Ended
            AddressNeeded AddressTaken ContactTaken DepositNeeded BadQuantity OverLimit RateLimited;
    /// Leave the waitlist
    DELETE "/api/sales/{sale}/waitlist" leaveWaitlist = leave;
        204 (), "The account does not wait any more. It may join again, behind those who wait.";
        refuses NotWaiting RateLimited;
}

#[cfg(test)]
mod tests {
    use askama::Template;

    use super::*;
    use domain::Locale;
    use testing::samples::sample;
    use web::views::test_chrome;

    fn render(phase: Phase) -> WaitlistPage {
        let (sale, goods) = sample(7, "Phone");
        WaitlistPage {
            chrome: test_chrome(Locale::En, "/en/sales/7/waitlist"),
            known: Arc::new(CatalogueEntry { sale, goods, is_drawn: false }),
            phase,
            per_user_limit: 1,
            place: None,
            live_order: None,
            waiting: 0,
            unpaid: 0,
            free_by: None,
            onward: Vec::new(),
        }
    }

    #[test]
    fn page_has_one_large_button() {
        for (phase, button) in [
            (Phase::SoldOut, "<button class=\"big\">Join the waitlist"),
            (Phase::Open, "href=\"/en/sales/7\">Back to the sale</a>"),
            (Phase::Ended, "href=\"/en/\">See other sales"),
        ] {
            let html = render(phase).render().unwrap();
            assert_eq!(html.matches("class=\"big\"").count(), 1, "{html}");
            assert!(html.contains(button), "{html}");
        }
    }

    #[test]
    fn long_line_is_counted_to_a_bound() {
        assert_eq!((counted(9_999), counted(10_000)), ("9999".to_owned(), "10000+".to_owned()));
    }
}
