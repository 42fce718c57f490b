//! The purchase form, and the pages of a shopper's orders.

use axum::http::StatusCode;
use serde::Deserialize;

use crate::addresses::AddressCard;
use crate::orders::address_page as order_address;
use crate::orders::address_page::OrderAddressState;
use crate::orders::api::{OrderListQuery, on_its_way, too_early};
use crate::orders::invoice::InvoiceFormState;
use crate::orders::payments::{is_paid_elsewhere, pay_from};
use crate::orders::returns::ReturnForm;
use crate::orders::view::{AppealFormState, OrderCard, OrderFacts, OrderPage, OrdersPage, SaleOfOrder};
use crate::{OrderVisit, UserVisit, eligibility};
use accounts::Session;
use domain::ledger::money;
use domain::order::OrderEvent;
use domain::order::check_appeal;
use domain::{
    Locale, ModeName, Money, Order, OrderId, OrderStatus, ParcelState, Phase, Refusal, Sale, SaleId, SaleMode, UserId,
};
use engine::purchase::PurchaseOutcome;
use orders::OrderLookup;
use orders::holds::AppealRefusal;
use web::extract::{Form, PathIds, PayingPhone, Query, SignedIn, State, Visitor};
use web::shared::orders::parse_statuses;
use web::shared::paths::{line_path, order_address_path, order_path};
use web::shared::{balance_of, current_sales, onward_from, purchase_token};
use web::{Answer, Code, DEFAULT_PAGE_SIZE, Problem, Shop, goods_name_and_cover, personal, see_other};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PurchaseForm {
    quantity: String,
    /// The purchase token of a shopper who was called in a waiting room. The page of the turn contains it.
    token: String,
}

/// The form on the page of a sale. It has no purchase token, because fetching one needs a script. In a sale with a
/// waiting room, the page of the turn has a form with a token.
pub async fn buy(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(sale): PathIds<SaleId>,
    Form(form): Form<PurchaseForm>,
) -> Answer {
    let quantity = form.quantity.trim().parse().map_err(|_| Code::BadQuantity)?;
    if shop.catalogue.front(sale).is_some() {
        return Ok(see_other(&line_path(visitor.locale, sale)));
    }
    let token = Some(form.token.as_str()).filter(|token| !token.is_empty());
    let refused = |refusal| match refusal {
        refusal if token.is_some() => Problem::from(refusal).back(line_path(visitor.locale, sale)),
        Refusal::TooEarly => too_early(&shop, &session, sale).again(quantity),
        refusal => Problem::from(refusal).again(quantity),
    };
    let request = shop.purchases.request_admission(session.user_id, sale).map_err(refused)?;
    let fetched = match token {
        None if shop.catalogue.known(sale).is_some_and(|known| has_rules(&known.sale)) => {
            match purchase_token(&shop, sale, session.user_id, None).await {
                Ok(issued) => Some(issued.token),
                Err(problem) => return eligibility::refused(problem, visitor.locale, sale),
            }
        }
        _ => None,
    };
    let token = fetched.as_deref().or(token);
    let order = match shop.purchases.buy(request, quantity, token).await.map_err(refused)? {
        PurchaseOutcome::New { order, .. } | PurchaseOutcome::Repeated { order, .. } => order,
    };
    Ok(see_other(&order_path(visitor.locale, sale, order)))
}

/// Whether the rules of the sale are checked here for a form without a token.
fn has_rules(sale: &Sale) -> bool {
    sale.mode == SaleMode::Rush && !sale.eligibility.are_none()
}

/// If a shopper has more orders than this, the filters have no counts, because counting would take long.
const MAX_COUNTED_ORDERS: i64 = 200;
/// Orders of a sale beyond this number show no number, because counting them would take long.
const MAX_ORDER_NUMBER: i64 = 1000;
/// Waitlists shown on the list of orders.
const MAX_WAITS: i64 = 20;

pub async fn list((State(shop), SignedIn(session), visitor): UserVisit, Query(query): Query<OrderListQuery>) -> Answer {
    // Statuses that no link contains count as all.
    let statuses = parse_statuses(&query.status).unwrap_or_default();
    let page = shop.orders.list(session.user_id, &statuses, query.before.read("before")?, DEFAULT_PAGE_SIZE).await?;
    let declined = shop.orders.declined_among(&page.items).await?;
    let mut parcels = shop.orders.parcels(&page.items).await?;
    let goes_out = |order: &&Order| {
        let is_here = parcels.get(&order.id).is_none_or(|parcel| parcel.state() == ParcelState::Packed);
        order.status == OrderStatus::Paid && order.address.is_some() && is_here
    };
    let waiting: Vec<OrderId> = page.items.iter().filter(goes_out).map(|order| order.id).collect();
    let held = shop.store.orders().lasting_holds(&waiting).await?;
    let mut paid = shop.store.orders().paid_at(&waiting).await?;
    paid.retain(|id, _| !held.contains_key(id));
    let mut cards = Vec::with_capacity(page.items.len());
    for order in page.items {
        let entry = shop.catalogue.entry(order.sale_id).await?;
        let (goods_name, picture) = goods_name_and_cover(entry.as_deref(), visitor.locale);
        let (payment_declined, parcel) = (declined.contains(&order.id), parcels.remove(&order.id));
        let goes_out_since = paid.remove(&order.id);
        cards.push(OrderCard { payment_declined, parcel, goes_out_since, order, goods_name, picture });
    }
    let older = page.next.map(|id| id.to_string());
    let statuses = shop.store.orders().order_statuses_of(session.user_id, MAX_COUNTED_ORDERS + 1).await?;
    let counted = (statuses.len() as i64 <= MAX_COUNTED_ORDERS).then_some(statuses);
    let (filter, is_later, online) = (query.status, query.before.is_given(), shop.payments.is_online());
    let waits = waits(&shop, session.user_id, visitor.locale).await?;
    let has_none = cards.is_empty() && filter.is_empty() && !is_later;
    let onward = if has_none { current_sales(&shop.catalogue, visitor.locale) } else { Vec::new() };
    let chrome = visitor.chrome();
    let orders = cards;
    personal(StatusCode::OK, &OrdersPage { chrome, orders, older, filter, counted, waits, is_later, online, onward })
}

/// Sales that the shopper waits for, while they go on.
async fn waits(shop: &Shop, user: UserId, locale: Locale) -> Result<Vec<(SaleId, String)>, Problem> {
    let mut waits = Vec::new();
    for sale in shop.store.waitlists().waits_of(user, MAX_WAITS).await? {
        let known = shop.catalogue.known(sale).filter(|entry| entry.sale.phase(shop.clock.now()) != Phase::Ended);
        if let Some(known) = known {
            waits.push((sale, goods_name_and_cover(Some(&*known), locale).0));
        }
    }
    Ok(waits)
}

pub async fn show((State(shop), SignedIn(session), visitor, PathIds((sale, order))): OrderVisit) -> Answer {
    page(&shop, &session, &visitor, (sale, order), OrderPageForms::default()).await
}

/// The forms of the page, as entered.
#[derive(Default)]
pub struct OrderPageForms {
    pub appeal: AppealFormState,
    pub invoice: InvoiceFormState,
    pub returned: ReturnForm,
}

pub async fn page(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    (sale, order): (SaleId, OrderId),
    forms: OrderPageForms,
) -> Answer {
    let found = shop.orders.find(session.user_id, sale, order).await?;
    let (mut order, facts) = read(shop, session, visitor, (sale, order), found).await?;
    let proposed = match order.needs_address() {
        true => shop.store.accounts().addresses_of(session.user_id).await?.into_iter().find(|saved| saved.is_default),
        false => None,
    };
    let rates = shop.catalogue.shipping();
    if let Some(saved) = &proposed {
        order.set_shipping(rates.cost(order.goods(), &saved.address));
    }
    let is_before_payment = matches!(order.status, OrderStatus::Reserved | OrderStatus::Unpaid);
    let charges = is_before_payment && rates.charges(order.amount.currency);
    let sale = sale_of_order(shop, visitor.locale, &order).await?;
    let proposed = proposed.map(|saved| AddressCard::of(&saved, visitor.locale));
    let (mut wallet, mut deposit) = (None, None);
    if order.accepts_wallet() {
        deposit = deposit_of(shop, session.user_id, order.sale_id).await?;
        let balance = balance_of(&shop.store, session.user_id).await?;
        wallet = Some(money(balance.amount + deposit.map_or(0, |deposit| deposit.amount)));
    }
    let amount = order.amount;
    let offers = shop.payments.offers(amount);
    let elsewhere = match order.status {
        OrderStatus::Unpaid if is_paid_elsewhere(shop, order.sale_id, order.id).await? => {
            Some(shop.catalogue.front(order.sale_id).is_some())
        }
        _ => None,
    };
    let OrderPageForms { appeal, invoice, returned: return_form } = forms;
    let is_refused = appeal.error.is_some() || !invoice.errors.is_empty() || !return_form.errors.is_empty();
    let status = if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let chrome = visitor.chrome_at(order_path(visitor.locale, order.sale_id, order.id));
    let now = shop.clock.now();
    let page = OrderPage {
        chrome,
        order,
        facts,
        charges,
        proposed,
        wallet,
        deposit,
        offers,
        needs_other_browser: visitor.is_in_wechat && !shop.payments.open_in_wechat(amount),
        elsewhere,
        sale,
        now,
        appeal,
        invoice,
        return_form,
    };
    personal(status, &page)
}

/// The deposit for a sale. It is returned once the order is paid.
async fn deposit_of(shop: &Shop, user: UserId, sale: SaleId) -> Result<Option<Money>, Problem> {
    if shop.catalogue.known(sale).is_some_and(|known| known.sale.eligibility.deposit.is_none()) {
        return Ok(None);
    }
    let held = shop.store.deposits().held_deposits_of(user).await?;
    Ok(held.iter().find(|deposit| deposit.sale_id == sale).map(|deposit| money(deposit.amount)))
}

/// What the page says about the sale of an order.
async fn sale_of_order(shop: &Shop, locale: Locale, order: &Order) -> Result<Option<SaleOfOrder>, Problem> {
    let Some(entry) = shop.catalogue.known(order.sale_id) else { return Ok(None) };
    let sale = &entry.sale;
    let (mode, has_won) = (sale.mode.name(), order.status == OrderStatus::Unpaid);
    // In other modes chance decides, so the number would say nothing. A number beyond the total means that units of
    // other orders came back.
    let number = match has_won && mode == ModeName::Rush {
        true => shop
            .store
            .orders()
            .order_number(sale.id, order.id, MAX_ORDER_NUMBER)
            .await?
            .filter(|number| *number <= sale.total),
        false => None,
    };
    let onward = match order.status {
        OrderStatus::Cancelled | OrderStatus::Rejected | OrderStatus::Paid => {
            onward_from(&shop.catalogue, locale, &entry)
        }
        _ => Vec::new(),
    };
    let total = (sale.per_user_limit == 1).then_some(sale.total);
    let goes_on = sale.phase(shop.clock.now()) != Phase::Ended;
    Ok(Some(SaleOfOrder { mode, number, total, goes_on, onward }))
}

/// The order that was found, and what the page says of it.
async fn read(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    (sale_id, id): (SaleId, OrderId),
    found: OrderLookup,
) -> Result<(Order, OrderFacts), Problem> {
    let entry = shop.catalogue.entry(sale_id).await?;
    let (goods_name, picture) = goods_name_and_cover(entry.as_deref(), visitor.locale);
    match found {
        OrderLookup::Order(order, history) => {
            let parcel = shop.orders.parcels(std::slice::from_ref(&order)).await?.remove(&id);
            let facts = OrderFacts {
                partial_refunds: shop.orders.partial_refunds(&order).await?,
                payment_declined: shop.orders.is_declined(&order).await?,
                holds: shop.store.orders().holds_of(id).await?,
                returned: shop.orders.goods_return(&order).await?,
                returnable_until: shop.orders.returnable_until(order.status, parcel.as_ref(), &visitor.shop),
                delivered_at: shop.orders.counts_as_delivered(order.status, parcel.as_ref(), &visitor.shop),
                parcel,
                invoice: shop.orders.invoice(&order).await?,
                goods_name,
                picture,
                history,
            };
            Ok((order, facts))
        }
        OrderLookup::Reserved { quantity, reserved_at } => {
            let price = entry.ok_or(Code::NotFound)?.sale.price;
            let order = on_its_way(session.user_id, (sale_id, id), quantity, price, reserved_at);
            let history = vec![OrderEvent { at: reserved_at, status: order.status }];
            Ok((order, OrderFacts { goods_name, picture, history, ..OrderFacts::default() }))
        }
        OrderLookup::NotFound => Err(Code::NotFound.into()),
        OrderLookup::Unknown => Err(Code::Unavailable.into()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PaymentForm {
    /// The saved address shown next to the button, for an order without an address of its own.
    address: String,
    /// `wallet` to pay from the wallet, or the name of a provider.
    from: String,
    /// The amount on the button, in minor units.
    amount: String,
}

/// Pays from the wallet or at the provider. Shows the form of the address first if the order needs one.
pub async fn pay(
    (State(shop), SignedIn(session), visitor, PathIds((sale, id))): OrderVisit,
    phone: PayingPhone,
    Form(form): Form<PaymentForm>,
) -> Answer {
    let order = shop.orders.find_persisted(session.user_id, sale, id).await?;
    if !order.needs_address() || is_paid_elsewhere(&shop, sale, id).await? {
        return pay_from(&shop, &session, &visitor, &order, (&form.from, &form.amount), phone).await;
    }
    let saved = match form.address.parse() {
        Ok(id) => shop.store.accounts().address(session.user_id, id).await?,
        Err(_) => None,
    };
    let Some(saved) = saved else {
        let state = OrderAddressState::before_payment(&visitor, form.from);
        return order_address::page(&shop, &session, &visitor, order, state).await;
    };
    let delivered = shop.orders.deliver_to(session.user_id, sale, id, &saved.address).await;
    let order =
        delivered.map_err(|refusal| Problem::from(refusal).back(order_address_path(visitor.locale, sale, id)))?;
    pay_from(&shop, &session, &visitor, &order, (&form.from, &form.amount), phone).await
}

pub async fn cancel((State(shop), SignedIn(session), visitor, PathIds((sale, order))): OrderVisit) -> Answer {
    shop.orders.cancel(session.user_id, sale, order).await?;
    Ok(see_other(&order_path(visitor.locale, sale, order)))
}

/// The owner confirms that the parcel came.
pub async fn confirm_receipt((State(shop), SignedIn(session), visitor, PathIds((sale, order))): OrderVisit) -> Answer {
    let path = order_path(visitor.locale, sale, order);
    let confirmed = shop.orders.confirm_receipt(session.user_id, sale, order).await?;
    confirmed.map_err(|refusal| Problem::from(refusal).back(path.clone()))?;
    Ok(see_other(&path))
}

/// Sends the appeal of a held order's owner. If the order takes no appeal now, its page says so.
pub async fn appeal(
    (State(shop), SignedIn(session), visitor, PathIds((sale, order))): OrderVisit,
    Form(AppealFormState { text, .. }): Form<AppealFormState>,
) -> Answer {
    let path = order_path(visitor.locale, sale, order);
    let checked = match check_appeal(&text) {
        Ok(checked) => checked,
        Err(code) => {
            let appeal = AppealFormState { text, error: Some(code) };
            let forms = OrderPageForms { appeal, ..OrderPageForms::default() };
            return page(&shop, &session, &visitor, (sale, order), forms).await;
        }
    };
    match shop.orders.appeal(session.user_id, order, &checked).await {
        Ok(()) | Err(AppealRefusal::NotHeld | AppealRefusal::AnotherWaits) => Ok(see_other(&path)),
        Err(AppealRefusal::RateLimited) => Err(Problem::new(Code::RateLimited).back(path)),
        Err(AppealRefusal::Store(error)) => Err(error.into()),
    }
}
