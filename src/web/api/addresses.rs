//! The addresses saved in a shopper's account.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::UserCall;
use crate::domain::{Address, AddressId};
use crate::store::{SaveAddressOutcome, SavedAddress};
use crate::web::cache_policy::Cache;
use crate::web::extract::session::SignedIn;
use crate::web::extract::{Json, PathIds};
use crate::web::problem::{Code, FieldProblem, Problem};
use crate::web::shared::response::created;

/// A new or changed address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressBody {
    address: Address,
    #[serde(default)]
    is_default: bool,
}

#[derive(Serialize)]
struct OneAddress {
    address: SavedAddress,
}

#[derive(Serialize)]
struct AddressList {
    addresses: Vec<SavedAddress>,
}

/// The address in the form in which it is stored. An error names its fields below `prefix`.
pub fn check_address(address: Address, prefix: &str) -> Result<Address, Problem> {
    address.checked().map_err(|errors| {
        let errors = errors.into_iter();
        Problem::invalid(errors.map(|(field, code)| FieldProblem { field: format!("{prefix}{field}"), code }))
    })
}

pub async fn list((State(shop), SignedIn(session)): UserCall) -> Result<Response, Problem> {
    let addresses = shop.store.addresses_of(session.user_id).await?;
    Ok((Cache::Private, Answer(AddressList { addresses })).into_response())
}

pub async fn show(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<AddressId>,
) -> Result<Response, Problem> {
    let address = shop.store.address(session.user_id, id).await?.ok_or(Code::NotFound)?;
    Ok((Cache::Private, Answer(OneAddress { address })).into_response())
}

pub async fn create(call: UserCall, Json(body): Json<AddressBody>) -> Result<Response, Problem> {
    let address = save(call, None, body).await?;
    Ok(created(format!("/api/addresses/{}", address.id), OneAddress { address }))
}

pub async fn change(
    call: UserCall,
    PathIds(id): PathIds<AddressId>,
    Json(body): Json<AddressBody>,
) -> Result<Response, Problem> {
    let address = save(call, Some(id), body).await?;
    Ok((Cache::Private, Answer(OneAddress { address })).into_response())
}

async fn save(
    (State(shop), SignedIn(session)): UserCall,
    id: Option<AddressId>,
    body: AddressBody,
) -> Result<SavedAddress, Problem> {
    let address = check_address(body.address, "address.")?;
    match shop.store.save_address(session.user_id, id, &address, body.is_default, shop.clock.now()).await? {
        SaveAddressOutcome::Done(address) => Ok(*address),
        SaveAddressOutcome::TooMany => Err(Code::TooManyAddresses.into()),
        SaveAddressOutcome::NoSuchAddress => Err(Code::NotFound.into()),
    }
}

pub async fn delete(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<AddressId>,
) -> Result<StatusCode, Problem> {
    match shop.store.delete_address(session.user_id, id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Code::NotFound.into()),
    }
}
