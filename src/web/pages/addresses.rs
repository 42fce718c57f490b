//! The addresses of a shopper's account, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::address::Mistake;
use crate::domain::{Address, AddressId, Locale};
use crate::store::AddressSaved;
use crate::web::Shop;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::views::{AddressCard, AddressForm, AddressPage, AddressesPage};

/// The fields of an address as a form sends them, and what the forms around them add.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Typed {
    recipient: String,
    phone: String,
    country: String,
    region: String,
    city: String,
    line1: String,
    line2: String,
    postal_code: String,
    /// `yes` to make it the default.
    as_default: String,
    /// Of the page of an order: a saved address, or `new`.
    pub choice: String,
    /// `yes` to keep the new address in the account.
    pub keep: String,
    /// `pay` to go on to the payment.
    pub then: String,
    /// `wallet` to pay from it.
    pub from: String,
}

impl Typed {
    /// As it was typed, for showing it again.
    pub fn address(&self) -> Address {
        Address {
            recipient: self.recipient.clone(),
            phone: self.phone.clone(),
            country: self.country.clone(),
            region: self.region.clone(),
            city: self.city.clone(),
            line1: self.line1.clone(),
            line2: self.line2.clone(),
            postal_code: self.postal_code.clone(),
        }
    }
}

/// A form with what was typed and what is wrong with it.
pub fn form_of(locale: Locale, typed: Address, mistakes: Vec<Mistake>) -> AddressForm {
    let errors = mistakes.into_iter().map(|(field, code)| FieldError { field, code }).collect();
    AddressForm { locale, typed, errors }
}

fn list_path(locale: Locale, done: &str) -> String {
    format!("/{locale}/account/addresses?done={done}")
}

#[derive(Deserialize)]
pub struct Done {
    done: Option<String>,
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    Query(Done { done }): Query<Done>,
) -> Result<Response, Problem> {
    let addresses = shop.store.addresses_of(session.user_id).await?;
    let addresses = addresses.iter().map(|saved| AddressCard::of(saved, visitor.locale)).collect();
    let mut chrome = visitor.chrome();
    chrome.path = format!("/{}/account/addresses", visitor.locale);
    personal(StatusCode::OK, &AddressesPage { chrome, addresses, done })
}

pub async fn blank(_: SignedIn, visitor: Visitor) -> Result<Response, Problem> {
    show(&visitor, StatusCode::OK, None, AddressForm::blank(visitor.locale), false, false)
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds(id): PathIds<AddressId>,
) -> Result<Response, Problem> {
    let saved = shop.store.address(session.user_id, id).await?.ok_or(Code::NotFound)?;
    let form = form_of(visitor.locale, saved.address, Vec::new());
    show(&visitor, StatusCode::OK, Some(id), form, saved.is_default, false)
}

fn show(
    visitor: &Visitor,
    status: StatusCode,
    id: Option<AddressId>,
    form: AddressForm,
    as_default: bool,
    full: bool,
) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome();
    let page = id.map_or_else(|| "new".to_owned(), |id| id.to_string());
    chrome.path = format!("/{}/account/addresses/{page}", visitor.locale);
    personal(status, &AddressPage { chrome, id, form, as_default, full })
}

pub async fn create(
    shop: State<Arc<Shop>>,
    signed_in: SignedIn,
    visitor: Visitor,
    Form(typed): Form<Typed>,
) -> Result<Response, Problem> {
    keep(shop, signed_in, &visitor, None, typed).await
}

pub async fn change(
    shop: State<Arc<Shop>>,
    signed_in: SignedIn,
    visitor: Visitor,
    PathIds(id): PathIds<AddressId>,
    Form(typed): Form<Typed>,
) -> Result<Response, Problem> {
    keep(shop, signed_in, &visitor, Some(id), typed).await
}

async fn keep(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: &Visitor,
    id: Option<AddressId>,
    typed: Typed,
) -> Result<Response, Problem> {
    let as_default = typed.as_default == "yes";
    let again = |status, mistakes, full| {
        show(visitor, status, id, form_of(visitor.locale, typed.address(), mistakes), as_default, full)
    };
    let address = match typed.address().checked() {
        Ok(address) => address,
        Err(mistakes) => return again(StatusCode::UNPROCESSABLE_ENTITY, mistakes, false),
    };
    match shop.store.keep_address(session.user_id, id, &address, as_default, shop.clock.now()).await? {
        AddressSaved::Done(_) => Ok(see_other(&list_path(visitor.locale, "saved"))),
        AddressSaved::TooMany => again(Code::TooManyAddresses.status(), Vec::new(), true),
        AddressSaved::NoSuchAddress => Err(Code::NotFound.into()),
    }
}

pub async fn make_default(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds(id): PathIds<AddressId>,
) -> Result<Response, Problem> {
    match shop.store.set_default_address(session.user_id, id).await? {
        true => Ok(see_other(&list_path(visitor.locale, "default"))),
        false => Err(Code::NotFound.into()),
    }
}

pub async fn delete(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    visitor: Visitor,
    PathIds(id): PathIds<AddressId>,
) -> Result<Response, Problem> {
    match shop.store.forget_address(session.user_id, id).await? {
        true => Ok(see_other(&list_path(visitor.locale, "deleted"))),
        false => Err(Code::NotFound.into()),
    }
}
