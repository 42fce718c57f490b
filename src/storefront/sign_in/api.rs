//! Registration, login and logout.

use std::sync::Arc;

use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recovery::api::TokenBody;
use accounts::{DueProof, RegistrationProof, Session};
use domain::proof_of_work::{ITERATIONS, PARTS};
use domain::{MailKind, UserId};
use web::extract::{ClientDevice, Json, Secret, SignedIn, State, locale};
use web::{Answer, Cache, Shop, private};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegistrationBody {
    #[schemars(length(min = 3, max = 32))]
    username: String,
    #[schemars(length(min = 8, max = 256))]
    password: Secret,
    /// The challenge that [`due_proof`] answered, once it is solved or its waiting time is over.
    #[serde(default)]
    challenge: String,
    /// They solve its parts. Left out after a wait, or with a verified address.
    #[serde(default)]
    #[schemars(inner(range(max = 4_294_967_295_u32)))]
    numbers: Vec<u32>,
}

#[derive(Serialize, JsonSchema)]
struct RegistrationJson {
    /// The proof of work; `null` while an account needs none.
    price: Option<DueProofJson>,
}

#[derive(Serialize, JsonSchema)]
struct DueProofJson {
    challenge: String,
    bits: u32,
    parts: usize,
    iterations: u32,
    /// From then on the challenge needs no numbers. A challenge with a verified address needs none either.
    free_at: Timestamp,
}

/// The proof of work that registering from the client's network needs now.
pub async fn due_proof(State(shop): State<Arc<Shop>>, ClientDevice(device): ClientDevice) -> Answer {
    let due = shop.accounts.due_proof(&device, "").await?;
    let price = due.map(|DueProof { challenge, bits, free_at, .. }| DueProofJson {
        challenge,
        bits,
        parts: PARTS,
        iterations: ITERATIONS.get(),
        free_at,
    });
    Ok(private(RegistrationJson { price }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactBody {
    /// Of `GET /api/register/price`.
    challenge: String,
    /// The account's address from then on.
    #[schemars(email, length(max = 254))]
    address: String,
}

/// Sends a link to a mail address whose verification replaces the proof of work. The answer is the same for every
/// address.
pub async fn request_contact(
    State(shop): State<Arc<Shop>>,
    ClientDevice(device): ClientDevice,
    uri: Uri,
    headers: HeaderMap,
    Json(ContactBody { challenge, address }): Json<ContactBody>,
) -> Answer<StatusCode> {
    shop.accounts.request_contact(&device, &challenge, &address, locale(&uri, &headers)).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Verifies the address of a link. Its challenge then needs no numbers.
pub async fn verify_contact(
    State(shop): State<Arc<Shop>>,
    Json(TokenBody { token }): Json<TokenBody>,
) -> Answer<StatusCode> {
    shop.accounts.verify_contact(&token).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogInBody {
    username: String,
    #[schemars(length(min = 8, max = 256))]
    password: Secret,
    /// A code of the authenticator, or a recovery code. Needed where a second factor is set up.
    code: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MeJson<'a> {
    user: MeUser<'a>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MeUser<'a> {
    id: UserId,
    username: &'a str,
    #[schemars(extend("enum" = ["user", "admin", "operator", "support", "viewer"]))]
    role: &'static str,
}

fn me_json(session: &Session) -> Json<MeJson<'_>> {
    let Session { user_id, username, role, .. } = session;
    Json(MeJson { user: MeUser { id: *user_id, username, role: role.as_str() } })
}

/// The cookie of a new session, and the account that it belongs to. The session that the browser had before ends.
pub(crate) async fn opened(shop: &Shop, headers: &HeaderMap, status: StatusCode, session: &Session) -> Response {
    shop.accounts.end_replaced(shop.accounts.session(headers).as_ref()).await;
    (status, Cache::Private, [(SET_COOKIE, shop.accounts.cookie(session))], me_json(session)).into_response()
}

/// What handlers extract that open a session.
pub(crate) type SignInCall = (State<Arc<Shop>>, ClientDevice, HeaderMap);

pub async fn register(
    (State(shop), ClientDevice(device), headers): SignInCall,
    Json(body): Json<RegistrationBody>,
) -> Answer {
    let proof = RegistrationProof { challenge: body.challenge, numbers: body.numbers };
    let session = shop.accounts.register(&device, &body.username, body.password.0, &proof).await?;
    Ok(([(LOCATION, "/api/me")], opened(&shop, &headers, StatusCode::CREATED, &session).await).into_response())
}

pub async fn log_in((State(shop), ClientDevice(device), headers): SignInCall, Json(body): Json<LogInBody>) -> Answer {
    let LogInBody { username, password, code } = body;
    let session = shop.accounts.log_in(&device, &username, password.0, code.as_deref()).await?;
    Ok(opened(&shop, &headers, StatusCode::OK, &session).await)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByMailRequest {
    /// A user name, or a verified address.
    #[schemars(length(max = 254))]
    account: String,
}

type ByMailCall = (State<Arc<Shop>>, ClientDevice, Uri, HeaderMap);

pub async fn request_code(call: ByMailCall, Json(asked): Json<ByMailRequest>) -> Answer<StatusCode> {
    send(MailKind::SignInCode, call, &asked.account).await
}

pub async fn request_recovery(call: ByMailCall, Json(asked): Json<ByMailRequest>) -> Answer<StatusCode> {
    send(MailKind::Recovery, call, &asked.account).await
}

/// The answer is the same for every name and address.
async fn send(
    kind: MailKind,
    (State(shop), ClientDevice(device), uri, headers): ByMailCall,
    account: &str,
) -> Answer<StatusCode> {
    shop.accounts.request_access(&device, account, kind, locale(&uri, &headers)).await?;
    Ok(StatusCode::ACCEPTED)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailedCodeBody {
    /// As the code was asked for.
    #[schemars(length(max = 254))]
    account: String,
    /// The eight digits of the message.
    #[schemars(length(max = 100))]
    code: String,
    /// A code of the authenticator, or a recovery code. Needed where a second factor is set up.
    second_code: Option<String>,
}

pub async fn log_in_by_mail(
    (State(shop), ClientDevice(device), headers): SignInCall,
    Json(MailedCodeBody { account, code, second_code }): Json<MailedCodeBody>,
) -> Answer {
    let session = shop.accounts.log_in_with_mailed_code(&device, &account, &code, second_code.as_deref()).await?;
    Ok(opened(&shop, &headers, StatusCode::OK, &session).await)
}

pub async fn log_out(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Answer {
    if let Some(session) = shop.accounts.session(&headers) {
        shop.accounts.log_out(&session).await?;
    }
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.removal_cookie())]).into_response())
}

pub async fn me(SignedIn(session): SignedIn) -> Response {
    (Cache::Private, me_json(&session)).into_response()
}

web::operations! { "accounts"
    /// Log in
    POST "/api/login" logIn = log_in;
        200 MeJson<'_>, "With the session cookie.";
        refuses BadCredentials CodeNeeded BadCode Blocked PasskeyNeeded PasswordExpired RateLimited Overloaded;
    /// Ask for a code by mail that logs in
    POST "/api/login/mail" requestMailedCode = request_code;
        202 (), "The same for every name and address. If there is such an account, with a verified address, a \
            message is on its way.";
        refuses RateLimited;
    /// Log in with the code of a message
    ///
    /// The code works once, for ten minutes, until the next one is sent.
    POST "/api/login/mail/code" logInWithMailedCode = log_in_by_mail;
        200 MeJson<'_>, "With the session cookie.";
        refuses BadCode CodeNeeded Blocked PasskeyNeeded PasswordExpired RateLimited;
    /// Log out
    POST "/api/logout" logOut = log_out;
        204 (), "The session cookie is removed.";
    /// The user of the session
    GET "/api/me" showMe = me;
        200 MeJson<'_>;
    /// Create an account and log in
    POST "/api/register" register = register, located;
        201 MeJson<'_>, "With the session cookie.";
        refuses ProofNeeded UsernameTaken BadUsername WeakPassword RateLimited Overloaded;
    /// Let a mail address pay for an account: send a link to it
    POST "/api/register/contact" requestRegistrationContact = request_contact;
        202 (), "A message is on its way. The same answer for every address.";
        refuses ProofNeeded RateLimited;
    /// Verify the address of a registration by the token of the link that was sent to it
    POST "/api/register/contact/verify" verifyRegistrationContact = verify_contact;
        204 (), "Verified: the challenge needs no numbers.";
        refuses BadLink;
    /// What an account costs the network of the client now
    GET "/api/register/price" readRegistrationPrice = due_proof;
        200 RegistrationJson, "The proof of work. A solved challenge is good for one account, within an hour.";
        refuses RequestTimeout;
}
