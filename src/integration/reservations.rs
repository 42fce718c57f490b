//! Reservations of another shop: it holds units for a customer, takes the money itself, and confirms or releases.
//!
//! A reservation is the purchase of a customer's account: the same gate, the same batch, the same stock and the same way to
//! the database as the purchase in a browser. It is safe to repeat, because an account holds units once.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use domain::order::generated_at;
use domain::{ExternalReservation, Money, OrderId, OrderStatus, Page, Refusal, ReservationStatus, SaleId, UserId};
use engine::purchase::PurchaseOutcome;
use store::ProgramActor;
use web::extract::program::{Caller, Reserve};
use web::extract::{Json, PathIds, Query, SalePath};
use web::idempotency::Repeatable;
use web::problem::{Code, Problem};
use web::shared::negotiation::created;
use web::shared::pagination::Cursor;
use web::shared::purchase_token;
use web::shared::validation::check;
use web::{Answer, Shop, private};

/// How long a repeated reservation waits for what the database knows of the first one.
const STATUS_TIMEOUT: Duration = Duration::from_millis(300);
/// The longest reference, in characters.
const MAX_REFERENCE_CHARS: usize = 100;

#[derive(Serialize, JsonSchema)]
struct ReservationJson {
    id: OrderId,
    sale_id: SaleId,
    /// The other shop's own id of the customer.
    shopper: String,
    quantity: u32,
    status: ReservationStatus,
    /// Until when the units are held. Of no meaning once they are not held any more.
    expires_at: Timestamp,
    /// What the other shop calls the order, once it is confirmed.
    reference: Option<String>,
    /// The sale's price of all units.
    amount: Money,
}

impl ReservationJson {
    fn of(found: ExternalReservation) -> Self {
        let status = found.status();
        let ExternalReservation { order, shopper, reference } = found;
        ReservationJson {
            id: order.id,
            sale_id: order.sale_id,
            shopper,
            quantity: order.quantity,
            status,
            expires_at: order.pay_by,
            reference,
            amount: order.amount,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct ReservationAnswer {
    reservation: ReservationJson,
}

/// What every handler of one reservation extracts.
type Call = (State<Arc<Shop>>, Caller<Reserve>, PathIds<(SaleId, OrderId)>);

fn answer(found: ExternalReservation) -> Response {
    private(ReservationAnswer { reservation: ReservationJson::of(found) })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationBody {
    /// The customer, who was named before.
    #[schemars(length(min = 1, max = 64))]
    shopper: String,
    #[schemars(range(min = 1))]
    quantity: i64,
}

/// Holds units for a customer.
pub async fn create(
    (State(shop), _, SalePath(sale)): (State<Arc<Shop>>, Caller<Reserve>, SalePath),
    _: Repeatable,
    Json(ReservationBody { shopper, quantity }): Json<ReservationBody>,
) -> Answer {
    let user = shop.accounts.customers().find(&shopper).await?.ok_or(Code::NoSuchShopper)?;
    match buy(&shop, sale, user, quantity).await {
        Ok(PurchaseOutcome::New { order, status }) => {
            // The quantity was granted, so it is small.
            let held = held(&shop, (sale, order), shopper, quantity as u32).ok_or(Code::NoSuchSale)?;
            let reservation = ReservationJson { status: if_held(status), ..held };
            Ok(created(path(sale, order), ReservationAnswer { reservation }))
        }
        Ok(PurchaseOutcome::Repeated { order, quantity }) => {
            match timeout(STATUS_TIMEOUT, shop.store.orders().reservation(sale, order)).await {
                Ok(Ok(Some(found))) => Ok(answer(found)),
                // The units are held in any case.
                _ => {
                    let reservation = held(&shop, (sale, order), shopper, quantity).ok_or(Code::NoSuchSale)?;
                    Ok(private(ReservationAnswer { reservation }))
                }
            }
        }
        Err(problem) if matches!(problem.code(), Code::Ended | Code::NotOpen | Code::ByDraw) => {
            // The sale is over or paused: what the customer holds is still the answer to a repetition. So is what the
            // customer has won in a draw.
            match shop.store.orders().live_order_of(sale, user).await? {
                Some(order) => Ok(answer(shop.orders.reservation(sale, order).await?)),
                None => Err(problem),
            }
        }
        Err(problem) => Err(problem),
    }
}

/// The purchase, as a browser makes it with a token.
async fn buy(shop: &Shop, sale: SaleId, user: UserId, quantity: i64) -> Result<PurchaseOutcome, Problem> {
    let admission = match shop.purchases.request_admission(user, sale) {
        Ok(admission) => admission,
        Err(Refusal::TooEarly) => {
            return Err(Problem::too_early(shop.gate.awaited_moment(sale, user), shop.clock.now()));
        }
        Err(refusal) => return Err(refusal.into()),
    };
    let seat = shop.waiting_rooms.seat(sale, user).await?;
    let issued = purchase_token(shop, sale, user, seat).await?;
    Ok(shop.purchases.buy(admission, quantity, Some(&issued.token)).await?)
}

/// The reservation whose units were just granted. It reaches the database a moment later, and is held from then on.
fn held(shop: &Shop, (sale, id): (SaleId, OrderId), shopper: String, quantity: u32) -> Option<ReservationJson> {
    let amount = shop.catalogue.known(sale)?.sale.price.times(quantity)?;
    let expires_at = generated_at(id) + shop.payment_window;
    let status = ReservationStatus::Held;
    Some(ReservationJson { id, sale_id: sale, shopper, quantity, status, expires_at, reference: None, amount })
}

fn if_held(status: OrderStatus) -> ReservationStatus {
    if status == OrderStatus::Rejected { ReservationStatus::Rejected } else { ReservationStatus::Held }
}

fn path(sale: SaleId, id: OrderId) -> String {
    format!("/api/v1/sales/{sale}/reservations/{id}")
}

pub async fn show((State(shop), _, PathIds((sale, id))): Call) -> Answer {
    Ok(answer(shop.orders.reservation(sale, id).await?))
}

#[derive(Deserialize, JsonSchema)]
pub struct ReservationQuery {
    /// The `next` of the page before.
    #[serde(default)]
    after: Cursor,
    /// Only these.
    status: Option<ReservationStatus>,
    /// Reservations of one page: 100 unless it says otherwise.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u16>,
}

#[derive(Serialize, JsonSchema)]
struct ReservationList {
    reservations: Vec<ReservationJson>,
    /// For `?after=`; `null` on the last page.
    next: Option<OrderId>,
}

/// How many rows a page has: 100 unless the client says otherwise.
pub(crate) fn page_size(limit: Option<u16>) -> Result<usize, Problem> {
    let limit = limit.unwrap_or(100);
    check([((1..=500).contains(&limit), "limit", "out_of_range")])?;
    Ok(limit.into())
}

/// The reservations of a sale, by time.
pub async fn list(
    (State(shop), _, SalePath(sale)): (State<Arc<Shop>>, Caller<Reserve>, SalePath),
    Query(query): Query<ReservationQuery>,
) -> Answer {
    let limit = page_size(query.limit)?;
    let after: Option<OrderId> = query.after.read("after")?;
    let found = shop.store.orders().reservations(sale, query.status, after, limit as i64 + 1).await?;
    let Page { items, next } = Page::cut(found, limit, |found| found.order.id);
    let reservations = items.into_iter().map(ReservationJson::of).collect();
    Ok(private(ReservationList { reservations, next }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmBody {
    /// What the other shop calls the order. No two reservations have the same.
    #[schemars(length(min = 1, max = 100))]
    reference: String,
}

/// Whether a text can be what the other shop calls an order.
pub(crate) fn is_reference(text: &str) -> bool {
    let is_right = text.trim() == text && !text.chars().any(char::is_control);
    is_right && (1..=MAX_REFERENCE_CHARS).contains(&text.chars().count())
}

/// The other shop has the money.
pub async fn confirm(
    (State(shop), caller, PathIds((sale, id))): Call,
    Json(ConfirmBody { reference }): Json<ConfirmBody>,
) -> Answer {
    check([(is_reference(&reference), "reference", "bad_text")])?;
    let name = caller.program.token().actor();
    let found = shop.orders.confirm_reservation(sale, id, &reference, actor(&caller, &name)).await?;
    Ok(answer(found))
}

pub async fn release((State(shop), caller, PathIds((sale, id))): Call) -> Answer {
    let name = caller.program.token().actor();
    let found = shop.orders.release_reservation(sale, id, actor(&caller, &name)).await?;
    Ok(answer(found))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendBody {
    /// How long the units are to be held from now, at least.
    #[schemars(range(min = 1, max = 3600))]
    seconds: u32,
}

pub async fn extend(
    (State(shop), caller, PathIds((sale, id))): Call,
    Json(ExtendBody { seconds }): Json<ExtendBody>,
) -> Answer {
    check([((1..=3600).contains(&seconds), "seconds", "out_of_range")])?;
    let (by, name) = (Duration::from_secs(seconds.into()), caller.program.token().actor());
    let found = shop.orders.extend_reservation(sale, id, by, actor(&caller, &name)).await?;
    Ok(answer(found))
}

fn actor<'a>(caller: &Caller<Reserve>, name: &'a str) -> ProgramActor<'a> {
    ProgramActor { token: caller.program.token().id, name }
}

web::operations! { "other shops"
    /// Reserve units for a customer of another shop
    ///
    /// Safe to repeat, also without a key: a customer who holds units gets the same reservation again.
    POST "/api/v1/sales/{sale}/reservations" createReservation = create, repeatable, located;
        200 ReservationAnswer, "What the customer holds already.";
        201 ReservationAnswer;
        refuses Blocked NoSuchShopper NotOpen SoldOut Ended NotCalled ByDraw BadQuantity OverLimit Busy TooEarly Overloaded
            AccountTooNew ContactNotVerified InvitationNeeded AddressNeeded AddressTaken ContactTaken DepositNeeded;
    /// Reservations of a sale, by time
    GET "/api/v1/sales/{sale}/reservations" listReservations = list;
        200 ReservationList;
    /// One reservation
    GET "/api/v1/sales/{sale}/reservations/{id}" showReservation = show;
        200 ReservationAnswer;
    /// Confirm a reservation: the other shop has the money
    ///
    /// Safe to repeat with the same reference.
    POST "/api/v1/sales/{sale}/reservations/{id}/confirm" confirmReservation = confirm;
        200 ReservationAnswer;
        refuses ReservationExpired ReservationReleased ReservationConfirmed ReferenceTaken;
    /// Release a reservation; its units go back on sale
    ///
    /// Safe to repeat.
    POST "/api/v1/sales/{sale}/reservations/{id}/release" releaseReservation = release;
        200 ReservationAnswer, "Nothing is held any more.";
        refuses ReservationConfirmed;
    /// Hold a reservation for longer
    ///
    /// Until so many seconds from now, and for at most an hour in all. Safe to repeat.
    POST "/api/v1/sales/{sale}/reservations/{id}/extend" extendReservation = extend;
        200 ReservationAnswer;
        refuses ReservationExpired ReservationReleased ReservationConfirmed ReservationTooLong;
}
