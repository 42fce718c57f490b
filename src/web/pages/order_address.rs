//! Where an order goes: chosen or entered between hold and payment, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::accounts::Session;
use crate::domain::address::Mistake;
use crate::domain::{Address, AddressId, Order, OrderId, OrderStatus, SaleId, UserId};
use crate::orders::Addressed;
use crate::store::{StoreError, WALLET};
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds};
use crate::web::pages::addresses::{Typed, form_of};
use crate::web::pages::orders::{looks, order_path, pay_by, payable};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::views::{AddressCard, AddressForm, OrderAddressPage};

pub async fn show(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds((sale, id)): PathIds<(SaleId, OrderId)>,
) -> Result<Response, Problem> {
    let here = order_path(visitor.locale, sale, id);
    let found = shop.orders.find(session.user_id, sale, id).await?;
    // The order's own page says why there is nothing to choose yet, or any more.
    match payable(found) {
        Ok(order) if order.status == OrderStatus::Unpaid => {
            let form = blank(&visitor, &order);
            page(&shop, &session, &visitor, order, Asked { form, ..Asked::default_of(&visitor) }).await
        }
        Ok(_) => Ok(see_other(&here)),
        Err(problem) if problem.code() == Code::NotPayable => Ok(see_other(&here)),
        Err(problem) => Err(problem),
    }
}

/// The order's present address is what one begins with.
fn blank(visitor: &Visitor, order: &Order) -> AddressForm {
    match &order.address {
        Some(address) => form_of(visitor.locale, (**address).clone(), Vec::new()),
        None => AddressForm::blank(visitor.locale),
    }
}

/// What the page shows besides the order.
pub struct Asked {
    status: StatusCode,
    choice: String,
    form: AddressForm,
    keep: bool,
    needed: bool,
    from: String,
}

impl Asked {
    fn default_of(visitor: &Visitor) -> Asked {
        Asked {
            status: StatusCode::OK,
            choice: String::new(),
            form: AddressForm::blank(visitor.locale),
            keep: true,
            needed: false,
            from: String::new(),
        }
    }

    /// Somebody wants to pay (`from` the wallet, it may be), but the order does not know where it goes.
    pub fn before_payment(visitor: &Visitor, from: String) -> Asked {
        Asked { status: StatusCode::UNPROCESSABLE_ENTITY, needed: true, from, ..Asked::default_of(visitor) }
    }
}

/// The page on which an address is chosen or entered.
pub async fn page(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    order: Order,
    asked: Asked,
) -> Result<Response, Problem> {
    let saved = shop.store.addresses_of(session.user_id).await?;
    let same = |address: &Address| order.address.as_deref().is_none_or(|present| present == address);
    let present = saved.iter().find(|saved| same(&saved.address)).map(|saved| saved.id.to_string());
    let choice = Some(asked.choice).filter(|choice| !choice.is_empty()).or(present).unwrap_or_else(|| "new".to_owned());
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let mut chrome = visitor.chrome();
    chrome.path = format!("{}/address", order_path(visitor.locale, order.sale_id, order.id));
    let page = OrderAddressPage {
        chrome,
        sale_id: order.sale_id,
        id: order.id,
        goods_name: looks(entry.as_deref(), visitor.locale).0,
        amount: order.amount,
        saved: saved.iter().map(|saved| AddressCard::of(saved, visitor.locale)).collect(),
        choice,
        form: asked.form,
        keep: asked.keep,
        needed: asked.needed,
        from_wallet: asked.from == WALLET,
    };
    personal(asked.status, &page)
}

pub async fn choose(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds((sale, id)): PathIds<(SaleId, OrderId)>,
    Form(typed): Form<Typed>,
) -> Result<Response, Problem> {
    let order = payable(shop.orders.find(session.user_id, sale, id).await?)?;
    let keep = typed.keep == "yes";
    let address = match wanted(&shop, session.user_id, &typed).await? {
        Ok(address) => address,
        Err(mistakes) => {
            let asked = Asked {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                choice: "new".to_owned(),
                form: form_of(visitor.locale, typed.address(), mistakes),
                keep,
                needed: false,
                from: typed.from,
            };
            return page(&shop, &session, &visitor, order, asked).await;
        }
    };
    let order = addressed(shop.orders.deliver_to(session.user_id, sale, id, &address).await?)?;
    if keep && is_new(&typed) {
        // One that is there already, or one too many, is not worth a word: the order has its address.
        let known = shop.store.addresses_of(session.user_id).await?.iter().any(|saved| saved.address == address);
        if !known {
            shop.store.keep_address(session.user_id, None, &address, false, shop.clock.now()).await?;
        }
    }
    if typed.then == "pay" {
        return pay_by(&shop, &visitor, &order, &typed.from).await;
    }
    Ok(see_other(&order_path(visitor.locale, sale, id)))
}

fn is_new(typed: &Typed) -> bool {
    typed.choice.parse::<AddressId>().is_err()
}

/// The saved address that was chosen, or the one that was typed.
async fn wanted(shop: &Shop, user: UserId, typed: &Typed) -> Result<Result<Address, Vec<Mistake>>, StoreError> {
    if let Ok(id) = typed.choice.parse() {
        // Deleted in another tab meanwhile: the choice is shown again without it.
        let saved = shop.store.address(user, id).await?;
        return Ok(saved.map(|saved| saved.address).ok_or_else(Vec::new));
    }
    Ok(typed.address().checked())
}

/// The order with its address, or why there is none.
pub fn addressed(outcome: Addressed) -> Result<Order, Problem> {
    match outcome {
        Addressed::Done(order) => Ok(order),
        Addressed::NotYet => Err(Problem::new(Code::AddressFixed)
            .detail("The order is on its way to the database. It can take an address once it is unpaid.")),
        Addressed::TooLate => Err(Code::AddressFixed.into()),
        Addressed::NoSuchOrder => Err(Code::NotFound.into()),
    }
}
