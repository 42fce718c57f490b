//! Messages to the browser of a session, and reminders of the start of a sale.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::eligibility::public_sale;
use crate::{SaleCall, UserCall};
use domain::mail::masked;
use domain::mail::{PushEndpoint, PushKeys};
use domain::{Locale, SaleId, SaleState};
use web::extract::{Json, SalePath, SignedIn, State};
use web::{Answer, Cache, Code, Problem, Shop, private};

#[derive(Serialize, JsonSchema)]
struct PushResponse {
    /// The public key that browsers subscribe to, in base64url.
    key: String,
    /// Whether the browser of this session shows messages.
    subscribed: bool,
}

pub async fn show((State(shop), SignedIn(session)): UserCall) -> Answer {
    let subscribed = shop.store.push().is_subscribed(session.id).await?;
    let response = PushResponse { key: shop.push.public().await?, subscribed };
    Ok(private(response))
}

/// The fields of a browser's `PushSubscription`, and the language of the page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionBody {
    /// An https address at the browser's push service, on the usual port and the public internet.
    #[schemars(length(max = 1024), regex(pattern = r"^https://"))]
    endpoint: String,
    /// The browser's public key, in base64url: 65 bytes.
    #[schemars(regex(pattern = r"^B[A-P][A-Za-z0-9_-]{84}[AEIMQUYcgkosw048]$"))]
    p256dh: String,
    /// The browser's authentication secret, in base64url: 16 bytes.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{21}[AQgw]$"))]
    auth: String,
    /// The language of messages.
    locale: Locale,
}

/// Subscribes the browser of this session until the session ends.
pub async fn subscribe(
    (State(shop), SignedIn(session)): UserCall,
    Json(body): Json<SubscriptionBody>,
) -> Answer<StatusCode> {
    let endpoint =
        PushEndpoint::parse(&body.endpoint).ok_or_else(|| Problem::invalid_field("endpoint", "bad_endpoint"))?;
    let keys =
        PushKeys::parse(&body.p256dh, &body.auth).ok_or_else(|| Problem::invalid_field("p256dh", "bad_endpoint"))?;
    let owner = (session.user_id, session.id);
    match shop.store.push().subscribe(owner, &endpoint, &keys, body.locale).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Code::NotSignedIn.into()),
    }
}

pub async fn unsubscribe((State(shop), SignedIn(session)): UserCall) -> Answer<StatusCode> {
    shop.store.push().unsubscribe(session.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize, JsonSchema)]
struct ReminderResponse {
    sale_id: SaleId,
    /// Whether the account has a reminder.
    set: bool,
    /// How many accounts have one.
    #[schemars(range(min = 0))]
    accounts: i64,
    /// The address that gets a mail, masked; `null` if none does.
    mail: Option<String>,
    /// Whether a browser of the account shows messages.
    push: bool,
}

#[derive(Serialize, JsonSchema)]
struct ReminderCount {
    sale_id: SaleId,
    #[schemars(range(min = 0))]
    accounts: i64,
}

/// How many accounts have a reminder, as everyone may see. Up to a minute old.
pub async fn reminders(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Answer {
    public_sale(&shop, sale).await?;
    let store = shop.store.clone();
    let known = shop.reminder_counts.wait(sale, async move { store.reminders().count(sale).await }).await?;
    Ok((Cache::Live, Json(ReminderCount { sale_id: sale, accounts: *known.value })).into_response())
}

pub async fn reminder((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer {
    public_sale(&shop, sale).await?;
    let own = shop.store.reminders().get(sale, session.user_id).await?;
    let response = ReminderResponse {
        sale_id: sale,
        set: own.is_set,
        accounts: own.accounts,
        mail: own.address.filter(|_| shop.sends_mail).map(|address| masked(&address)),
        push: own.is_pushed,
    };
    Ok(private(response))
}

/// Sets a reminder: the shop notifies the account a few minutes before the start, by mail and in its subscribed
/// browsers.
pub async fn set_reminder((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer<StatusCode> {
    if public_sale(&shop, sale).await?.sale.state == SaleState::Ended {
        return Err(Code::Ended.into());
    }
    shop.store.reminders().set(sale, session.user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn remove_reminder((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer<StatusCode> {
    public_sale(&shop, sale).await?;
    shop.store.reminders().remove(sale, session.user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

web::operations! { "sales"
    /// The key that browsers subscribe to, and whether this one has
    GET "/api/push" showPush = show, tag("accounts");
        200 PushResponse;
    /// Show messages in the browser of this session
    ///
    /// The urgent messages: reminders of sales, the turn in a waiting room, a won draw, a unit that came back, the end
    /// of the time to pay. At most ten browsers per account; the earliest give way. Field errors: `bad_endpoint`.
    PUT "/api/push" subscribePush = subscribe, tag("accounts");
        204 (), "Subscribed until the session ends, in the place of an earlier subscription.";
    /// Show no messages in the browser of this session
    DELETE "/api/push" unsubscribePush = unsubscribe, tag("accounts");
        204 (), "The browser is forgotten, and the messages that waited for it.";
    /// Whether the account has a reminder of a sale
    GET "/api/sales/{sale}/reminder" showReminder = reminder;
        200 ReminderResponse;
    /// Be told a few minutes before a sale starts
    ///
    /// By mail to a verified address, and in browsers that have subscribed. A waiting room starts when it may be
    /// joined.
    PUT "/api/sales/{sale}/reminder" setReminder = set_reminder;
        204 ();
        refuses Ended;
    /// Have no reminder of a sale
    DELETE "/api/sales/{sale}/reminder" removeReminder = remove_reminder;
        204 ();
    /// How many accounts have a reminder of a sale
    GET "/api/sales/{sale}/reminders" countReminders = reminders;
        200 ReminderCount, "The same for all clients, up to a minute old.";
}
