//! Passkeys: what browsers are asked to create and to sign, in the JSON of WebAuthn, and their answers.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::UserCall;
use crate::sign_in::api::session_response;
use accounts::{CHALLENGE_LIFETIME, CreatedPasskey, PasskeyCreation, PasskeyRequest, SignedChallenge};
use store::Passkey;
use web::Shop;
use web::cache_policy::Cache;
use web::extract::client::ClientDevice;
use web::extract::{Json, PathIds, Secret};
use web::problem::Problem;
use web::shared::validation::failed;
use webauthn::ALGORITHMS;

/// The name under which devices list the passkeys of this site.
const SHOP_NAME: &str = "Seckill";
const MAX_NAME_CHARS: usize = 60;

/// Bytes in base64url.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Bytes(Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Bytes, &'static str> {
        URL_SAFE_NO_PAD.decode(text).map(Bytes).map_err(|_| "expected base64url without padding")
    }
}

/// A credential that was created. Other fields that browsers send are not read.
#[derive(Deserialize)]
struct CreatedCredential {
    response: AttestationResponse,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttestationResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    attestation_object: Bytes,
}

/// A credential that has signed.
#[derive(Deserialize)]
struct SigningCredential {
    id: String,
    response: AssertionResponse,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    authenticator_data: Bytes,
    signature: Bytes,
    user_handle: Option<Bytes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedBody {
    credential: SigningCredential,
}

impl SignedBody {
    fn signed(self) -> SignedChallenge {
        let AssertionResponse { client_data, authenticator_data, signature, user_handle } = self.credential.response;
        SignedChallenge {
            credential_id: self.credential.id,
            client_data: client_data.0,
            authenticator_data: authenticator_data.0,
            signature: signature.0,
            user_handle: user_handle.map(|handle| handle.0),
        }
    }
}

fn private(value: Value) -> Response {
    (Cache::Private, Answer(value)).into_response()
}

/// `PublicKeyCredentialRequestOptionsJSON`.
fn request_json(request: PasskeyRequest) -> Response {
    let PasskeyRequest { challenge, rp_id, allowed } = request;
    private(json!({"public_key": {
        "challenge": challenge, "rpId": rp_id, "userVerification": "required",
        "timeout": CHALLENGE_LIFETIME.as_millis() as u64, "allowCredentials": descriptors(allowed),
    }}))
}

/// `PublicKeyCredentialCreationOptionsJSON`.
fn creation_json(creation: PasskeyCreation) -> Response {
    let PasskeyCreation { challenge, rp_id, user, username, excluded } = creation;
    let algorithms = ALGORITHMS.map(|algorithm| json!({"type": "public-key", "alg": algorithm}));
    private(json!({"public_key": {
        "challenge": challenge, "rp": {"id": rp_id, "name": SHOP_NAME}, "pubKeyCredParams": algorithms,
        "user": {"id": URL_SAFE_NO_PAD.encode(user.0), "name": username, "displayName": username},
        "timeout": CHALLENGE_LIFETIME.as_millis() as u64, "attestation": "none",
        "authenticatorSelection": {
            "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
        },
        "excludeCredentials": descriptors(excluded),
    }}))
}

fn descriptors(ids: Vec<String>) -> Vec<Value> {
    ids.into_iter().map(|id| json!({"type": "public-key", "id": id})).collect()
}

pub async fn log_in_challenge(State(shop): State<Arc<Shop>>) -> Result<Response, Problem> {
    Ok(request_json(shop.accounts.passkey_log_in_request().await?))
}

pub async fn log_in(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    headers: HeaderMap,
    Json(body): Json<SignedBody>,
) -> Result<Response, Problem> {
    let session = shop.accounts.log_in_with_passkey(&device, &body.signed()).await?;
    shop.accounts.end_replaced(shop.accounts.session(&headers).as_ref()).await;
    Ok(session_response(&shop, StatusCode::OK, &session))
}

pub async fn step_up_challenge((State(shop), session): UserCall) -> Result<Response, Problem> {
    Ok(request_json(shop.accounts.passkey_step_up_request(&session.0).await?))
}

pub async fn step_up(
    (State(shop), session): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<SignedBody>,
) -> Result<StatusCode, Problem> {
    shop.accounts.step_up_with_passkey(&session.0, &device, &body.signed()).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct PasskeyJson {
    id: Uuid,
    name: String,
    created_at: Timestamp,
    used_at: Option<Timestamp>,
}

impl PasskeyJson {
    fn of(passkey: Passkey) -> PasskeyJson {
        let Passkey { id, name, created_at, used_at, .. } = passkey;
        PasskeyJson { id, name, created_at, used_at }
    }
}

pub async fn list((State(shop), session): UserCall) -> Result<Response, Problem> {
    let passkeys = shop.accounts.passkeys_of(&session.0).await?;
    let passkeys: Vec<PasskeyJson> = passkeys.into_iter().map(PasskeyJson::of).collect();
    Ok(private(json!({"passkeys": passkeys})))
}

/// The confirmation of an addition or a removal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationBody {
    password: Secret,
    /// The code of the authenticator app, if the account has one.
    code: Option<String>,
}

/// The first step of adding a passkey.
pub async fn challenge(
    (State(shop), session): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<ConfirmationBody>,
) -> Result<Response, Problem> {
    let ConfirmationBody { password, code } = body;
    Ok(creation_json(shop.accounts.begin_passkey(&session.0, &device, password.0, code.as_deref()).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyBody {
    name: String,
    credential: CreatedCredential,
}

/// The second step: the credential that the browser has created.
pub async fn add(
    (State(shop), session): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<PasskeyBody>,
) -> Result<Response, Problem> {
    let AttestationResponse { client_data, attestation_object } = body.credential.response;
    let name = body.name.trim();
    let mut mistakes = failed([
        (!name.is_empty(), "name", "required"),
        (name.chars().count() <= MAX_NAME_CHARS, "name", "too_long"),
        (!name.contains(char::is_control), "name", "bad_text"),
    ])
    .peekable();
    if mistakes.peek().is_some() {
        return Err(Problem::invalid(mistakes));
    }
    let created = CreatedPasskey { client_data: client_data.0, attestation_object: attestation_object.0 };
    let passkey = shop.accounts.add_passkey(&session.0, &device, name, &created).await?;
    let location = [(LOCATION, "/api/account/passkeys")];
    let answer = Answer(json!({"passkey": PasskeyJson::of(passkey)}));
    Ok((StatusCode::CREATED, Cache::Private, location, answer).into_response())
}

pub async fn remove(
    (State(shop), session): UserCall,
    PathIds(id): PathIds<Uuid>,
    ClientDevice(device): ClientDevice,
    Json(body): Json<ConfirmationBody>,
) -> Result<StatusCode, Problem> {
    let ConfirmationBody { password, code } = body;
    shop.accounts.remove_passkey(&session.0, &device, id, password.0, code.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
