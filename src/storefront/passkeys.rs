//! Passkeys: what browsers are asked to create and to sign, in the JSON of WebAuthn, and their answers.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::UserCall;
use crate::sign_in::api::{MeJson, SignInCall, opened};
use accounts::{CHALLENGE_LIFETIME, CreatedPasskey, PasskeyCreation, PasskeyRequest, SignedChallenge};
use domain::text::is_line;
use store::Passkey;
use web::extract::{ClientDevice, Json, PathIds, Secret, State};
use web::shared::validation::check;
use web::{Answer, Cache, Shop, private};
use webauthn::ALGORITHMS;

const MAX_NAME_CHARS: usize = 60;

/// Bytes in base64url.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$"))]
struct Bytes(Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Bytes, &'static str> {
        URL_SAFE_NO_PAD.decode(text).map(Bytes).map_err(|_| "expected base64url without padding")
    }
}

/// A credential that was created. Other fields that browsers send are not read.
#[derive(Deserialize, JsonSchema)]
struct CreatedCredential {
    response: AttestationResponse,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AttestationResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    attestation_object: Bytes,
}

/// A credential that has signed.
#[derive(Deserialize, JsonSchema)]
struct SigningCredential {
    id: String,
    response: AssertionResponse,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    authenticator_data: Bytes,
    signature: Bytes,
    /// Required to log in.
    user_handle: Option<Bytes>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedBody {
    /// `PublicKeyCredential.toJSON()`; only what is named here is looked at.
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

#[derive(Serialize, JsonSchema)]
struct RequestResponse {
    public_key: RequestOptions,
}

/// `PublicKeyCredentialRequestOptionsJSON`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PasskeyRequestOptions")]
struct RequestOptions {
    /// In base64url.
    challenge: String,
    /// The domain of the shop.
    rp_id: String,
    #[schemars(extend("const" = "required"))]
    user_verification: &'static str,
    /// In milliseconds.
    timeout: u64,
    allow_credentials: Vec<CredentialId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PasskeyCredentialId")]
struct CredentialId {
    #[schemars(extend("const" = "public-key"))]
    r#type: &'static str,
    /// In base64url.
    id: String,
}

#[derive(Serialize, JsonSchema)]
struct CreationResponse {
    public_key: CreationOptions,
}

/// `PublicKeyCredentialCreationOptionsJSON`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PasskeyCreationOptions")]
struct CreationOptions {
    /// In base64url.
    challenge: String,
    rp: RelyingParty,
    user: PasskeyOwner,
    pub_key_cred_params: Vec<Algorithm>,
    /// In milliseconds.
    timeout: u64,
    #[schemars(extend("const" = "none"))]
    attestation: &'static str,
    authenticator_selection: AuthenticatorSelection,
    exclude_credentials: Vec<CredentialId>,
}

#[derive(Serialize, JsonSchema)]
struct RelyingParty {
    id: String,
    name: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PasskeyOwner {
    id: String,
    name: String,
    display_name: String,
}

#[derive(Serialize, JsonSchema)]
struct Algorithm {
    #[schemars(extend("const" = "public-key"))]
    r#type: &'static str,
    alg: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AuthenticatorSelection {
    #[schemars(extend("const" = "required"))]
    resident_key: &'static str,
    #[schemars(extend("const" = true))]
    require_resident_key: bool,
    #[schemars(extend("const" = "required"))]
    user_verification: &'static str,
}

/// `PublicKeyCredentialRequestOptionsJSON`.
fn request_json(request: PasskeyRequest) -> Response {
    let PasskeyRequest { challenge, rp_id, allowed } = request;
    let public_key = RequestOptions {
        challenge,
        rp_id,
        user_verification: "required",
        timeout: CHALLENGE_LIFETIME.as_millis() as u64,
        allow_credentials: descriptors(allowed),
    };
    private(RequestResponse { public_key })
}

/// `PublicKeyCredentialCreationOptionsJSON`.
fn creation_json(shop: &Shop, creation: PasskeyCreation) -> Response {
    let settings = shop.catalogue.settings();
    let PasskeyCreation { challenge, rp_id, user, username, excluded } = creation;
    let public_key = CreationOptions {
        challenge,
        // The name under which devices list the passkeys of this site.
        rp: RelyingParty { id: rp_id, name: settings.name(settings.languages.default_locale()).to_owned() },
        user: PasskeyOwner { id: URL_SAFE_NO_PAD.encode(user.0), name: username.clone(), display_name: username },
        pub_key_cred_params: ALGORITHMS.map(|alg| Algorithm { r#type: "public-key", alg }).into(),
        timeout: CHALLENGE_LIFETIME.as_millis() as u64,
        attestation: "none",
        authenticator_selection: AuthenticatorSelection {
            resident_key: "required",
            require_resident_key: true,
            user_verification: "required",
        },
        exclude_credentials: descriptors(excluded),
    };
    private(CreationResponse { public_key })
}

fn descriptors(ids: Vec<String>) -> Vec<CredentialId> {
    ids.into_iter().map(|id| CredentialId { r#type: "public-key", id }).collect()
}

pub async fn log_in_challenge(State(shop): State<Arc<Shop>>) -> Answer {
    Ok(request_json(shop.accounts.passkeys().log_in_request().await?))
}

pub async fn log_in((State(shop), ClientDevice(device), headers): SignInCall, Json(body): Json<SignedBody>) -> Answer {
    let session = shop.accounts.passkeys().log_in(&device, &body.signed()).await?;
    Ok(opened(&shop, &headers, StatusCode::OK, &session).await)
}

pub async fn step_up_challenge((State(shop), session): UserCall) -> Answer {
    Ok(request_json(shop.accounts.passkeys().step_up_request(&session.0).await?))
}

pub async fn step_up(
    (State(shop), session): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<SignedBody>,
) -> Answer<StatusCode> {
    shop.accounts.passkeys().step_up(&session.0, &device, &body.signed()).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize, JsonSchema)]
struct PasskeyList {
    passkeys: Vec<PasskeyJson>,
}

#[derive(Serialize, JsonSchema)]
struct OnePasskey {
    passkey: PasskeyJson,
}

#[derive(Serialize, JsonSchema)]
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

pub async fn list((State(shop), session): UserCall) -> Answer {
    let passkeys = shop.accounts.passkeys().of(&session.0).await?;
    let passkeys = passkeys.into_iter().map(PasskeyJson::of).collect();
    Ok(private(PasskeyList { passkeys }))
}

/// The confirmation of an addition or a removal.
#[derive(Deserialize, JsonSchema)]
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
) -> Answer {
    let ConfirmationBody { password, code } = body;
    Ok(creation_json(
        &shop,
        shop.accounts.passkeys().begin_adding(&session.0, &device, password.0, code.as_deref()).await?,
    ))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyBody {
    #[schemars(length(min = 1, max = 60))]
    name: String,
    /// `PublicKeyCredential.toJSON()`; only what is named here is looked at.
    credential: CreatedCredential,
}

/// The second step: the credential that the browser has created.
pub async fn add(
    (State(shop), session): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<PasskeyBody>,
) -> Answer {
    let AttestationResponse { client_data, attestation_object } = body.credential.response;
    let name = body.name.trim();
    check([
        (!name.is_empty(), "name", "required"),
        (name.chars().count() <= MAX_NAME_CHARS, "name", "too_long"),
        (is_line(name), "name", "bad_text"),
    ])?;
    let created = CreatedPasskey { client_data: client_data.0, attestation_object: attestation_object.0 };
    let passkey = shop.accounts.passkeys().add(&session.0, &device, name, &created).await?;
    let location = [(LOCATION, "/api/account/passkeys")];
    let answer = Json(OnePasskey { passkey: PasskeyJson::of(passkey) });
    Ok((StatusCode::CREATED, Cache::Private, location, answer).into_response())
}

pub async fn remove(
    (State(shop), session): UserCall,
    PathIds(id): PathIds<Uuid>,
    ClientDevice(device): ClientDevice,
    Json(body): Json<ConfirmationBody>,
) -> Answer<StatusCode> {
    let ConfirmationBody { password, code } = body;
    shop.accounts.passkeys().remove(&session.0, &device, id, password.0, code.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

web::operations! { "accounts"
    /// What a browser signs instead of entering the password again
    POST "/api/account/step-up/passkey/challenge" stepUpPasskeyChallenge = step_up_challenge;
        200 RequestResponse, "`PublicKeyCredentialRequestOptionsJSON` of WebAuthn. Good for 5 minutes and for one \
            answer, in this session.";
        refuses PasskeysOff NotFound;
    /// Prove by a passkey what the password proves
    POST "/api/account/step-up/passkey" stepUpWithPasskey = step_up;
        204 (), "Right. Holds as if the password had been entered.";
        refuses BadPasskey PasskeysOff RateLimited;
    /// The user's passkeys
    GET "/api/account/passkeys" listPasskeys = list;
        200 PasskeyList, "The passkeys, oldest first.";
    /// Add the passkey that the browser has created
    POST "/api/account/passkeys" addPasskey = add, located;
        201 OnePasskey;
        refuses TooManyPasskeys PasskeyTaken PasskeysOff;
    /// What a browser creates a passkey from
    POST "/api/account/passkeys/challenge" passkeyChallenge = challenge;
        200 CreationResponse, "`PublicKeyCredentialCreationOptionsJSON` of WebAuthn. Good for 5 minutes and for one \
            answer, in this session.";
        refuses BadCode TooManyPasskeys PasskeysOff RateLimited Overloaded;
    /// Remove a passkey
    POST "/api/account/passkeys/{passkey}/remove" removePasskey = remove;
        204 (), "Removed. No session ends.";
        refuses BadCode RateLimited Overloaded;
    /// What a browser signs to log in by a passkey
    POST "/api/login/passkey/challenge" passkeyLogInChallenge = log_in_challenge;
        200 RequestResponse, "`PublicKeyCredentialRequestOptionsJSON` of WebAuthn. Good for 5 minutes and for one \
            answer.";
        refuses PasskeysOff;
    /// Log in by a passkey, without password and code
    POST "/api/login/passkey" logInWithPasskey = log_in;
        200 MeJson<'_>, "With the session cookie.";
        refuses BadPasskey BadCredentials Blocked PasskeysOff RateLimited;
}
