//! The mail address of an account, and recovery by it.

use std::sync::Arc;

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::UserCall;
use crate::sign_in::api::request_recovery;
use web::extract::{ClientDevice, Json, Secret, SignedIn, State, locale};
use web::{Answer, Shop};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MailAddressBody")]
pub struct AddressBody {
    #[schemars(email, length(max = 254))]
    address: String,
    password: Secret,
}

/// Sends a link that verifies the address.
pub async fn enter_address(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    uri: Uri,
    headers: HeaderMap,
    Json(AddressBody { address, password }): Json<AddressBody>,
) -> Answer<StatusCode> {
    let locale = locale(&uri, &headers);
    shop.accounts.enter_address(&session, &device, password.0, &address, locale).await?;
    Ok(StatusCode::ACCEPTED)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressRemovalBody {
    password: Secret,
}

pub async fn remove_address(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<AddressRemovalBody>,
) -> Answer<StatusCode> {
    shop.accounts.remove_address(&session, &device, body.password.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    pub token: String,
}

pub async fn verify_address(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    Json(TokenBody { token }): Json<TokenBody>,
) -> Answer<StatusCode> {
    shop.accounts.verify_address(&device, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPasswordBody {
    token: String,
    #[schemars(length(min = 8, max = 256))]
    new_password: Secret,
    /// The code of the second factor, if the account has one.
    code: Option<String>,
}

pub async fn set_password(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    Json(NewPasswordBody { token, new_password, code }): Json<NewPasswordBody>,
) -> Answer {
    let known = shop.accounts.recover(&device, &token, new_password.0, code.as_deref()).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, known)]).into_response())
}

web::operations! { "accounts"
    /// Enter a mail address; a link that verifies it is sent there
    PUT "/api/account/mail" enterMailAddress = enter_address;
        202 (), "A message is on its way: the link, or, if another account has the address, a notice for that account.";
        refuses RateLimited;
    /// Remove the mail address
    POST "/api/account/mail/remove" removeMailAddress = remove_address;
        204 (), "Removed. The shop writes to the address that it was removed.";
        refuses RateLimited;
    /// Verify a mail address by the token of the link that was sent to it
    POST "/api/mail/verify" verifyMailAddress = verify_address;
        204 ();
        refuses BadLink;
    /// Ask for a link that sets a new password
    POST "/api/recovery" requestRecovery = request_recovery;
        202 (), "The same for every name and address. If there is such an account, with a verified address, a \
            message is on its way.";
        refuses RateLimited;
    /// Set a new password by the token of a link; all sessions end
    POST "/api/recovery/password" recoverPassword = set_password;
        204 (), "Set. No session is opened.";
        refuses CodeNeeded BadCode BadLink WeakPassword RateLimited;
}
