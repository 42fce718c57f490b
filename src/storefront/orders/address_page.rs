//! Choosing or entering the address of an order: between purchase and payment, or later if it is missing.

use askama::Template;
use axum::http::StatusCode;

use crate::OrderVisit;
use crate::addresses::{AddressCard, AddressForm, AddressInput, address_form};
use crate::orders::payments::pay_from;
use accounts::Session;
use domain::address::AddressError;
use domain::{Address, AddressId, Order, OrderStatus, UserId};
use orders::OrderRefusal;
use pages::{Chrome, filters};
use store::{AddressRefusal, SavedAddress, StoreResult, WALLET};
use web::extract::{Form, PathIds, PayingPhone, SignedIn, State, Visitor};
use web::shared::paths::{order_address_path, order_path};
use web::{Answer, Problem, Shop, goods_name_and_cover, personal, see_other};

pub async fn show((State(shop), SignedIn(session), visitor, PathIds((sale, id))): OrderVisit) -> Answer {
    match shop.orders.find_persisted(session.user_id, sale, id).await {
        Ok(order) if order.takes_address() => {
            let form = blank_form(&visitor, &order);
            let state = OrderAddressState { form, ..OrderAddressState::blank(&visitor) };
            page(&shop, &session, &visitor, order, state).await
        }
        // The order's own page says why no address can be chosen yet, or any more.
        Ok(_) | Err(OrderRefusal::NotPayable) => Ok(see_other(&order_path(visitor.locale, sale, id))),
        Err(refusal) => Err(refusal.into()),
    }
}

/// The form with the order's present address, if it has one.
fn blank_form(visitor: &Visitor, order: &Order) -> AddressForm {
    match &order.address {
        Some(address) => address_form(visitor.locale, (**address).clone(), Vec::new()),
        None => AddressForm::blank(visitor.locale),
    }
}

/// What the page shows besides the order.
#[derive(Debug)]
pub struct OrderAddressState {
    status: StatusCode,
    /// The id of a saved address, or `new`. Empty for the order's present one.
    choice: String,
    form: AddressForm,
    keep: bool,
    /// Whether the shopper came here by a payment that needs an address first.
    needed: bool,
    /// The source of that payment's money; empty for the shop's first provider.
    from: String,
}

/// The choice of the address for an order.
#[derive(Debug, Template)]
#[template(path = "addresses/order_address.html")]
struct OrderAddressPage {
    chrome: Chrome,
    order: Order,
    goods_name: String,
    saved: Vec<AddressCard>,
    state: OrderAddressState,
    /// Whether a payment can follow.
    can_pay: bool,
}

impl OrderAddressPage {
    fn is_chosen(&self, id: &AddressId) -> bool {
        self.state.choice == id.to_string()
    }
}

impl OrderAddressState {
    fn blank(visitor: &Visitor) -> OrderAddressState {
        OrderAddressState {
            status: StatusCode::OK,
            choice: String::new(),
            form: AddressForm::blank(visitor.locale),
            keep: true,
            needed: false,
            from: String::new(),
        }
    }

    /// For a payment from `from`, of an order without an address.
    pub fn before_payment(visitor: &Visitor, from: String) -> OrderAddressState {
        let blank = OrderAddressState::blank(visitor);
        OrderAddressState { status: StatusCode::UNPROCESSABLE_ENTITY, needed: true, from, ..blank }
    }
}

pub async fn page(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    order: Order,
    mut state: OrderAddressState,
) -> Answer {
    let is_unpaid = order.status == OrderStatus::Unpaid;
    let saved = shop.store.accounts().addresses_of(session.user_id).await?;
    if state.choice.is_empty() {
        let is_present =
            |saved: &&SavedAddress| order.address.as_deref().is_none_or(|address| *address == saved.address);
        state.choice = saved.iter().find(is_present).map_or_else(|| "new".to_owned(), |saved| saved.id.to_string());
    }
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let table = shop.catalogue.shipping();
    let charges = is_unpaid && table.charges(order.amount.currency);
    let card = |saved: &SavedAddress| AddressCard {
        shipping: charges.then(|| table.cost(order.goods(), &saved.address)),
        ..AddressCard::of(saved, visitor.locale)
    };
    let page = OrderAddressPage {
        chrome: visitor.chrome_at(order_address_path(visitor.locale, order.sale_id, order.id)),
        goods_name: goods_name_and_cover(entry.as_deref(), visitor.locale).0,
        saved: saved.iter().map(card).collect(),
        can_pay: is_unpaid && (state.from == WALLET || !shop.payments.offers(order.amount).is_empty()),
        order,
        state,
    };
    personal(page.state.status, &page)
}

pub async fn choose(
    (State(shop), SignedIn(session), visitor, PathIds((sale, id))): OrderVisit,
    phone: PayingPhone,
    Form(input): Form<AddressInput>,
) -> Answer {
    let order = shop.orders.find_persisted(session.user_id, sale, id).await?;
    let keep = input.keep == "yes";
    let address = match chosen_address(&shop, session.user_id, &input).await? {
        Ok(address) => address,
        Err(mistakes) => {
            let state = OrderAddressState {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                choice: "new".to_owned(),
                form: address_form(visitor.locale, input.address(), mistakes),
                keep,
                needed: false,
                from: input.from,
            };
            return page(&shop, &session, &visitor, order, state).await;
        }
    };
    let delivered = shop.orders.deliver_to(session.user_id, sale, id, &address).await;
    let order =
        delivered.map_err(|refusal| Problem::from(refusal).back(order_address_path(visitor.locale, sale, id)))?;
    if keep && is_new(&input) {
        // If the address is saved already, or the account has too many, nothing is reported: the order has its address.
        let known =
            shop.store.accounts().addresses_of(session.user_id).await?.iter().any(|saved| saved.address == address);
        if !known {
            let saved =
                shop.store.accounts().save_address(session.user_id, None, &address, false, shop.clock.now()).await;
            if let Err(AddressRefusal::Store(error)) = saved {
                return Err(error.into());
            }
        }
    }
    if input.then == "pay" {
        return pay_from(&shop, &session, &visitor, &order, (&input.from, &input.amount), phone).await;
    }
    Ok(see_other(&order_path(visitor.locale, sale, id)))
}

fn is_new(input: &AddressInput) -> bool {
    input.choice.parse::<AddressId>().is_err()
}

/// The saved address that was chosen, or the one that was entered.
async fn chosen_address(
    shop: &Shop,
    user: UserId,
    input: &AddressInput,
) -> StoreResult<Result<Address, Vec<AddressError>>> {
    if let Ok(id) = input.choice.parse() {
        // If it was deleted in another tab, the choice is shown again without it.
        let saved = shop.store.accounts().address(user, id).await?;
        return Ok(saved.map(|saved| saved.address).ok_or_else(Vec::new));
    }
    Ok(input.address().checked())
}
