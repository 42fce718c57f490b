//! The addresses of a shopper's account.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::domain::{Address, AddressId};
use crate::store::{AddressSaved, SavedAddress};
use crate::web::Shop;
use crate::web::cache_policy::Cache;
use crate::web::extract;
use crate::web::extract::PathIds;
use crate::web::extract::session::SignedIn;
use crate::web::problem::{Code, FieldProblem, Problem};

/// An address as a program sends it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    address: Address,
    #[serde(default)]
    is_default: bool,
}

#[derive(Serialize)]
struct One {
    address: SavedAddress,
}

#[derive(Serialize)]
struct Many {
    addresses: Vec<SavedAddress>,
}

/// The address as it is kept, or what is wrong with it by field.
pub fn checked(address: Address, within: &str) -> Result<Address, Problem> {
    address.checked().map_err(|mistakes| {
        let problem = |(field, code)| FieldProblem { field: format!("{within}{field}"), code };
        Problem::invalid(mistakes.into_iter().map(problem).collect())
    })
}

pub async fn list(State(shop): State<Arc<Shop>>, SignedIn(session): SignedIn) -> Result<Response, Problem> {
    let addresses = shop.store.addresses_of(session.user_id).await?;
    Ok((Cache::Private, Json(Many { addresses })).into_response())
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds(id): PathIds<AddressId>,
) -> Result<Response, Problem> {
    let address = shop.store.address(session.user_id, id).await?.ok_or(Code::NotFound)?;
    Ok((Cache::Private, Json(One { address })).into_response())
}

pub async fn create(
    shop: State<Arc<Shop>>,
    signed_in: SignedIn,
    extract::Json(wanted): extract::Json<Wanted>,
) -> Result<Response, Problem> {
    keep(shop, signed_in, None, wanted, StatusCode::CREATED).await
}

pub async fn change(
    shop: State<Arc<Shop>>,
    signed_in: SignedIn,
    PathIds(id): PathIds<AddressId>,
    extract::Json(wanted): extract::Json<Wanted>,
) -> Result<Response, Problem> {
    keep(shop, signed_in, Some(id), wanted, StatusCode::OK).await
}

async fn keep(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    id: Option<AddressId>,
    wanted: Wanted,
    done: StatusCode,
) -> Result<Response, Problem> {
    let address = checked(wanted.address, "address.")?;
    match shop.store.keep_address(session.user_id, id, &address, wanted.is_default, shop.clock.now()).await? {
        AddressSaved::Done(address) => Ok((done, Json(One { address: *address })).into_response()),
        AddressSaved::TooMany => Err(Code::TooManyAddresses.into()),
        AddressSaved::NoSuchAddress => Err(Code::NotFound.into()),
    }
}

pub async fn delete(
    State(shop): State<Arc<Shop>>,
    SignedIn(session): SignedIn,
    PathIds(id): PathIds<AddressId>,
) -> Result<StatusCode, Problem> {
    match shop.store.forget_address(session.user_id, id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Code::NotFound.into()),
    }
}
