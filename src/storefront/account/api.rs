//! The account of the signed-in user: password, sessions, second factor, export, deletion.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, SET_COOKIE};
use axum::response::IntoResponse;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::UserCall;
use accounts::{DeletionRefusal, DeletionRequest, Device, Enrolment, Session};
use domain::{Role, SecurityClass, UserId};
use web::extract::{ClientDevice, Json, PathIds, Secret, SignedIn, State};
use web::shared::SessionJson;
use web::{Answer, Cache, Code, Shop, private};

#[derive(Serialize, JsonSchema)]
struct AccountResponse {
    account: OwnAccountJson,
}

#[derive(Serialize, JsonSchema)]
struct OwnAccountJson {
    id: UserId,
    username: String,
    role: Role,
    created_at: Timestamp,
    second_factor: bool,
    must_change_password: bool,
    /// How many the account has.
    passkeys: i64,
    mail: MailJson,
    recovery_codes_left: i64,
}

#[derive(Default, Serialize, JsonSchema)]
struct MailJson {
    /// The verified address.
    address: Option<String>,
    /// The address whose link was not opened yet.
    pending: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SessionList {
    sessions: Vec<SessionJson>,
}

/// What the authenticator needs.
#[derive(Serialize, JsonSchema)]
struct EnrolmentJson {
    secret: String,
    url: String,
    enrolment: String,
}

#[derive(Serialize, JsonSchema)]
struct RecoveryCodes {
    recovery_codes: Vec<String>,
}

pub async fn show((State(shop), SignedIn(session)): UserCall) -> Answer {
    let user = shop.store.accounts().user(session.user_id).await?.ok_or(Code::NotSignedIn)?;
    let mail = shop.store.accounts().mail_of(user.id).await?;
    let account = OwnAccountJson {
        second_factor: user.second_factor.is_some(),
        mail: mail.map_or_else(MailJson::default, |mail| MailJson { address: mail.address, pending: mail.pending }),
        recovery_codes_left: shop.store.credentials().recovery_codes_left(user.id).await?,
        id: user.id,
        username: user.username,
        role: user.role,
        created_at: user.created_at,
        must_change_password: user.must_change_password,
        passkeys: user.passkeys,
    };
    Ok(private(AccountResponse { account }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChangeBody {
    password: Secret,
    #[schemars(length(min = 8, max = 256))]
    new_password: Secret,
}

/// Ends all other sessions. The response carries the cookie of a new session.
pub async fn change_password(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<PasswordChangeBody>,
) -> Answer {
    let next = shop.accounts.change_password(&session, &device, body.password.0, body.new_password.0).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.cookie(&next))]).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepUpBody {
    password: Secret,
    /// The code of the second factor, if the account has one.
    code: Option<String>,
}

/// Checks the password again, before operations of the staff that ask for it.
pub async fn step_up(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<StepUpBody>,
) -> Answer<StatusCode> {
    shop.accounts.step_up(&session, &device, body.password.0, body.code.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn sessions((State(shop), SignedIn(session)): UserCall) -> Answer {
    let rows = shop.accounts.sessions_of(&session).await?;
    let sessions: Vec<SessionJson> = rows.into_iter().map(|row| SessionJson::of(row, Some(session.id))).collect();
    Ok(private(SessionList { sessions }))
}

pub async fn end_session((State(shop), SignedIn(session)): UserCall, PathIds(id): PathIds<Uuid>) -> Answer<StatusCode> {
    match shop.accounts.end_own(&session, id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Code::NotFound.into()),
    }
}

pub async fn end_all_sessions((State(shop), SignedIn(session)): UserCall) -> Answer {
    shop.accounts.log_out_everywhere(&session).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.removal_cookie())]).into_response())
}

pub async fn enrol((State(shop), SignedIn(session)): UserCall) -> Answer {
    let settings = shop.catalogue.settings();
    let name = settings.name(settings.languages.default_locale());
    let Enrolment { secret, url, signed: enrolment, .. } = shop.accounts.enrol(&session, name)?;
    let answer = EnrolmentJson { secret, url, enrolment };
    Ok(private(answer))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondFactorBody {
    enrolment: String,
    password: Secret,
    code: String,
    /// A code of the second factor that is replaced, or a recovery code.
    present_code: Option<String>,
}

pub async fn set_second_factor(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<SecondFactorBody>,
) -> Answer {
    let SecondFactorBody { enrolment, password, code, present_code } = body;
    let present = present_code.as_deref();
    let recovery_codes =
        shop.accounts.set_second_factor(&session, &device, &enrolment, password.0, &code, present).await?;
    Ok(private(RecoveryCodes { recovery_codes }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondFactorRemovalBody {
    password: Secret,
    code: String,
}

pub async fn remove_second_factor(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<SecondFactorRemovalBody>,
) -> Answer<StatusCode> {
    shop.accounts.remove_second_factor(&session, &device, body.password.0, &body.code).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Everything that is stored about the user, as a file to download. The page's link leads here as well.
pub async fn export((State(shop), SignedIn(session)): UserCall) -> Answer {
    let data = shop.store.accounts().export_of(session.user_id, shop.clock.now()).await?.ok_or(Code::NotSignedIn)?;
    shop.security.record(SecurityClass::Exported, Some(session.user_id), None, "own_data");
    let attachment = [(CONTENT_DISPOSITION, "attachment; filename=\"seckill-my-data.json\"")];
    Ok((Cache::Private, attachment, Json(data)).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountDeletionBody {
    username: String,
    password: Secret,
    /// Confirms that the wallet's balance, and what is unclaimed in open packets, goes to the shop.
    #[serde(default)]
    give_up_wallet: bool,
}

pub async fn delete(
    (State(shop), SignedIn(session)): UserCall,
    ClientDevice(device): ClientDevice,
    Json(body): Json<AccountDeletionBody>,
) -> Answer {
    let AccountDeletionBody { username, password, give_up_wallet } = body;
    let request = DeletionRequest { username, password: password.0, give_up_wallet };
    delete_account(&shop, &session, &device, request).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, shop.accounts.removal_cookie())]).into_response())
}

/// Deletes the account, unless one of its orders is open in the database or on its way there.
pub async fn delete_account(
    shop: &Shop,
    session: &Session,
    device: &Device,
    request: DeletionRequest,
) -> Result<(), DeletionRefusal> {
    let sales = shop.catalogue.active();
    shop.accounts.delete(session, device, request, shop.orders.has_pending(session.user_id, &sales)).await
}

web::operations! { "accounts"
    /// The user's account
    GET "/api/account" showAccount = show;
        200 AccountResponse;
    /// Delete the account; its orders are kept anonymously
    POST "/api/account/delete" deleteAccount = delete;
        204 ();
        refuses OrdersOpen WalletNotEmpty StaffAccount RateLimited;
    /// Export the user's data
    GET "/api/account/export" exportAccount = export;
        200 Map<String, Value>, "Account, orders with histories and payments, addresses, wallet, red packets given \
            and received, sessions.";
    /// Change the password; all other sessions end
    PUT "/api/account/password" changePassword = change_password;
        204 (), "With the cookie of a new session.";
        refuses WeakPassword RateLimited;
    /// Enter the password again: staff need it for refunds, exports and changes of the staff
    POST "/api/account/step-up" stepUp = step_up;
        204 (), "Right. Holds for this session, for 15 minutes unless the shop has another setting.";
        refuses BadCode PasskeyNeeded RateLimited;
    /// Start to set up an authenticator; nothing is stored yet
    POST "/api/account/second-factor" enrolSecondFactor = enrol;
        200 EnrolmentJson, "The key for the authenticator; valid for ten minutes.";
    /// Turn on the second factor with a first code; ends the other sessions
    PUT "/api/account/second-factor" setSecondFactor = set_second_factor;
        200 RecoveryCodes, "The recovery codes; returned only once.";
        refuses BadCode RateLimited;
    /// Turn off the second factor; ends the other sessions
    POST "/api/account/second-factor/remove" removeSecondFactor = remove_second_factor;
        204 ();
        refuses BadCode RateLimited;
    /// The user's sessions
    GET "/api/account/sessions" listSessions = sessions;
        200 SessionList, "The sessions, newest first.";
    /// End all sessions of the user
    DELETE "/api/account/sessions" endAllSessions = end_all_sessions;
        204 (), "All sessions have ended, including this one.";
    /// End a session of the user
    DELETE "/api/account/sessions/{session}" endSession = end_session;
        204 ();
}
