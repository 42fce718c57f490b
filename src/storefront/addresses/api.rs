//! The addresses saved in a shopper's account.

use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UserCall;
use domain::{Address, AddressId, GivenAddress};
use store::{AddressEdit, SavedAddress};
use web::extract::{Json, PathIds, SignedIn, State, entity_tag, expected_versions};
use web::{Cache, Code, FieldProblem, Problem, created, private};

/// A new or changed address.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressBody {
    #[schemars(with = "GivenAddress")]
    address: Address,
    #[serde(default)]
    is_default: bool,
}

#[derive(Serialize, JsonSchema)]
struct OneAddress {
    address: SavedAddress,
}

#[derive(Serialize, JsonSchema)]
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
    let addresses = shop.store.accounts().addresses_of(session.user_id).await?;
    Ok(private(AddressList { addresses }))
}

pub async fn show(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<AddressId>,
) -> Result<Response, Problem> {
    Ok(answer(shop.store.accounts().address(session.user_id, id).await?.ok_or(Code::NotFound)?))
}

pub async fn create(call: UserCall, Json(body): Json<AddressBody>) -> Result<Response, Problem> {
    let address = save(call, None, body).await?;
    let version = [(ETAG, entity_tag(address.version()))];
    Ok((version, created(format!("/api/addresses/{}", address.id), OneAddress { address })).into_response())
}

/// Changes an address. With `If-Match` only a version that it names.
pub async fn change(
    call: UserCall,
    PathIds(id): PathIds<AddressId>,
    headers: HeaderMap,
    Json(body): Json<AddressBody>,
) -> Result<Response, Problem> {
    Ok(answer(save(call, Some(&AddressEdit { id, versions: expected_versions(&headers) }), body).await?))
}

async fn save(
    (State(shop), SignedIn(session)): UserCall,
    edit: Option<&AddressEdit>,
    body: AddressBody,
) -> Result<SavedAddress, Problem> {
    let address = check_address(body.address, "address.")?;
    Ok(shop.store.accounts().save_address(session.user_id, edit, &address, body.is_default, shop.clock.now()).await?)
}

fn answer(address: SavedAddress) -> Response {
    let version = [(ETAG, entity_tag(address.version()))];
    (Cache::Private, version, Json(OneAddress { address })).into_response()
}

/// Deletes an address. With `If-Match` only a version that it names.
pub async fn delete(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<AddressId>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let edit = AddressEdit { id, versions: expected_versions(&headers) };
    shop.store.accounts().delete_address(session.user_id, &edit).await?;
    Ok(StatusCode::NO_CONTENT)
}

web::operations! { "accounts"
    /// The user's addresses, the default first
    GET "/api/addresses" listAddresses = list;
        200 AddressList;
    /// Save a new address
    POST "/api/addresses" createAddress = create, repeatable, versioned, located;
        201 OneAddress;
        refuses TooManyAddresses;
    /// An address of the user
    GET "/api/addresses/{address}" showAddress = show, versioned;
        200 OneAddress;
    /// Change an address; orders keep their copies
    PUT "/api/addresses/{address}" changeAddress = change, if_match, versioned;
        200 OneAddress;
    /// Delete an address; orders keep their copies
    DELETE "/api/addresses/{address}" deleteAddress = delete, if_match;
        204 ();
}
