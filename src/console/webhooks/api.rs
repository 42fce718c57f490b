//! Endpoints of events for programs: what owners do on the console's page.

use crate::prelude::*;
use domain::event::{DeliveryState, EndpointState, EventChoice, EventKind, endpoint_url};
use store::{AttemptResult, Delivery, Endpoint, EndpointEdit, Replay};
use web::extract::ManageWebhooks;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Webhook")]
struct EndpointJson {
    id: String,
    url: String,
    /// Types of events, or groups such as `order.*`.
    events: Vec<String>,
    state: EndpointState,
    created_at: Timestamp,
    /// The first attempt that failed since the last one that did not.
    failing_since: Option<Timestamp>,
}

impl From<Endpoint> for EndpointJson {
    fn from(of: Endpoint) -> Self {
        EndpointJson {
            id: of.id,
            url: of.url,
            events: of.choice.names().to_vec(),
            state: of.state,
            created_at: of.created_at,
            failing_since: of.failing_since,
        }
    }
}

answers! {
    OneWebhook { webhook: EndpointJson }
    WebhookSecret { secret: String }
    DeliveryList { deliveries: Vec<DeliveryJson>; next: String }
}

#[derive(Serialize, JsonSchema)]
struct WebhookList {
    webhooks: Vec<EndpointJson>,
    /// What an endpoint can choose.
    events: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct NewWebhook {
    webhook: EndpointJson,
    /// What events are signed with: `whsec_` and base64.
    secret: String,
}

/// The endpoint, or 404.
pub(super) async fn found(shop: &Shop, id: Uuid) -> Result<Endpoint, Problem> {
    Ok(shop.store.events().endpoint(&id.to_string()).await?.ok_or(Code::NotFound)?)
}

pub(super) fn checked_url(shop: &Shop, url: &str) -> Result<String, Problem> {
    endpoint_url(url, !shop.config.is_reachable()).ok_or_else(|| Problem::invalid_field("url", "bad_webhook_url"))
}

pub(super) fn checked_choice(events: &[String]) -> Result<EventChoice, Problem> {
    EventChoice::parse(events).ok_or_else(|| Problem::invalid_field("events", "bad_events"))
}

pub async fn list((State(shop), _): StaffCall<ManageWebhooks>) -> Answer {
    let webhooks = shop.store.events().endpoints().await?.into_iter().map(EndpointJson::from).collect();
    Ok(private(WebhookList { webhooks, events: EventChoice::options() }))
}

type Call = StaffCallTo<ManageWebhooks, Uuid>;

pub async fn show((State(shop), _, PathIds(id)): Call) -> Answer {
    Ok(private(OneWebhook { webhook: found(&shop, id).await?.into() }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRequest {
    #[schemars(length(min = 1, max = 1024))]
    url: String,
    #[schemars(length(min = 1))]
    events: Vec<String>,
}

pub async fn add((State(shop), staff): StaffCall<ManageWebhooks>, Json(new): Json<WebhookRequest>) -> Answer {
    let (url, choice) = (checked_url(&shop, &new.url)?, checked_choice(&new.events)?);
    let added = shop.webhooks.add(url, choice, staff.actor()).await?;
    let (endpoint, secret) = added.ok_or_else(|| Problem::invalid_field("url", "too_many_webhooks"))?;
    let location = format!("/api/admin/webhooks/{}", endpoint.id);
    let body = NewWebhook { webhook: endpoint.into(), secret: secret.text() };
    Ok((Cache::Private, created(location, body)).into_response())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookPatch {
    #[schemars(length(min = 1, max = 1024))]
    url: Option<String>,
    #[schemars(length(min = 1))]
    events: Option<Vec<String>>,
    /// `false`: nothing is sent until it is `true` again. What waits is sent then.
    on: Option<bool>,
}

pub async fn edit((State(shop), staff, PathIds(id)): Call, Json(patch): Json<WebhookPatch>) -> Answer {
    let edit = EndpointEdit {
        url: patch.url.map(|url| checked_url(&shop, &url)).transpose()?,
        choice: patch.events.map(|events| checked_choice(&events)).transpose()?,
        is_on: patch.on,
    };
    let edited = shop.store.events().edit_endpoint(&id.to_string(), &edit, staff.actor()).await?;
    Ok(private(OneWebhook { webhook: edited.ok_or(Code::NotFound)?.into() }))
}

pub async fn delete((State(shop), staff, PathIds(id)): Call) -> Answer<StatusCode> {
    match shop.store.events().delete_endpoint(&id.to_string(), staff.actor()).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Code::NotFound.into()),
    }
}

pub async fn secret((State(shop), staff, PathIds(id)): Call) -> Answer {
    let secret = shop.webhooks.reveal(&found(&shop, id).await?, staff.actor()).await?;
    Ok(private(WebhookSecret { secret: secret.ok_or(Code::NotFound)?.text() }))
}

pub async fn rotate((State(shop), staff, PathIds(id)): Call) -> Answer {
    let secret = shop.webhooks.rotate(&found(&shop, id).await?, staff.actor()).await?;
    Ok(private(WebhookSecret { secret: secret.ok_or(Code::NotFound)?.text() }))
}

#[derive(Serialize, JsonSchema)]
struct SentTest {
    /// The id of the event.
    event: Uuid,
}

pub async fn test((State(shop), _, PathIds(id)): Call) -> Answer {
    let event = shop.store.events().ping(&id.to_string()).await?.ok_or(Code::NotFound)?;
    Ok((StatusCode::ACCEPTED, private(SentTest { event })).into_response())
}

/// One event, or those since a time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookReplay {
    event: Option<Uuid>,
    since: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
struct ReplayedEvents {
    /// How many events are sent again.
    events: i64,
}

pub async fn replay((State(shop), staff, PathIds(id)): Call, Json(request): Json<WebhookReplay>) -> Answer {
    let which = match (request.event, request.since) {
        (Some(event), None) => Replay::One(event),
        (None, Some(since)) => Replay::Since(since),
        _ => return Err(Problem::invalid_field("event", "required")),
    };
    let endpoint = found(&shop, id).await?;
    let events = shop.store.events().replay(&endpoint, &which, staff.actor()).await?;
    match (events, which) {
        (0, Replay::One(_)) => Err(Code::NotFound.into()),
        _ => Ok((StatusCode::ACCEPTED, private(ReplayedEvents { events })).into_response()),
    }
}

#[derive(Serialize, JsonSchema)]
struct DeliveryJson {
    event: String,
    r#type: EventKind,
    subject: String,
    sequence: i64,
    created_at: Timestamp,
    state: DeliveryState,
    /// Of an event that waits.
    next_attempt_at: Option<Timestamp>,
    attempts: Vec<AttemptJson>,
}

#[derive(Serialize, JsonSchema)]
struct AttemptJson {
    at: Timestamp,
    took_ms: u64,
    /// `null`: there was no answer, and `answer` says why.
    status: Option<u16>,
    /// The first kilobyte.
    answer: String,
}

impl From<AttemptResult> for AttemptJson {
    fn from(of: AttemptResult) -> Self {
        AttemptJson { at: of.at, took_ms: of.took.as_millis() as u64, status: of.status, answer: of.answer }
    }
}

impl From<Delivery> for DeliveryJson {
    fn from(of: Delivery) -> Self {
        DeliveryJson {
            event: of.event,
            r#type: of.kind,
            subject: of.subject,
            sequence: of.sequence,
            created_at: of.created_at,
            state: of.state,
            next_attempt_at: (of.state == DeliveryState::Waiting).then_some(of.next_attempt_at),
            attempts: of.log.into_iter().map(AttemptJson::from).collect(),
        }
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeliveryQuery {
    pub before: Cursor,
    #[schemars(skip)]
    pub done: String,
}

pub(super) async fn page_of(
    shop: &Shop,
    endpoint: &Endpoint,
    query: &DeliveryQuery,
) -> Result<Page<Delivery, String>, Problem> {
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let limit = LARGE_PAGE_SIZE as i64 + 1;
    let found = shop.store.events().deliveries(&endpoint.id, before.as_deref(), limit).await?;
    Ok(Page::cut(found, LARGE_PAGE_SIZE, |delivery| delivery.event.clone()))
}

pub async fn deliveries((State(shop), _, PathIds(id)): Call, Query(query): Query<DeliveryQuery>) -> Answer {
    let page = page_of(&shop, &found(&shop, id).await?, &query).await?;
    let deliveries = page.items.into_iter().map(DeliveryJson::from).collect();
    Ok(private(DeliveryList { deliveries, next: page.next }))
}

web::operations! { "administrators"
    /// Endpoints that get events of the shop (owners only)
    GET "/api/admin/webhooks" listWebhooks = list;
        200 WebhookList;
    /// Add an endpoint (owners only)
    ///
    /// Events are signed as Standard Webhooks says. The first endpoint begins with what happens from then on. Field errors:
    /// `bad_webhook_url`, `bad_events`, `too_many_webhooks` (20).
    POST "/api/admin/webhooks" addWebhook = add, located;
        201 NewWebhook;
        refuses StepUpNeeded;
    /// One endpoint (owners only)
    GET "/api/admin/webhooks/{webhook}" showWebhook = show;
        200 OneWebhook;
    /// Change an endpoint, or switch it on or off (owners only)
    PATCH "/api/admin/webhooks/{webhook}" changeWebhook = edit;
        200 OneWebhook;
        refuses StepUpNeeded;
    /// Delete an endpoint and what waits for it (owners only)
    DELETE "/api/admin/webhooks/{webhook}" deleteWebhook = delete;
        204 ();
    /// Read the secret that signs an endpoint's events (owners only); the audit log says who did
    POST "/api/admin/webhooks/{webhook}/secret" readWebhookSecret = secret;
        200 WebhookSecret;
        refuses StepUpNeeded;
    /// Replace the secret (owners only); for a day events are signed with both
    POST "/api/admin/webhooks/{webhook}/rotate" rotateWebhookSecret = rotate;
        200 WebhookSecret, "The new secret.";
        refuses StepUpNeeded;
    /// Send a `ping` to an endpoint (owners only)
    POST "/api/admin/webhooks/{webhook}/test" testWebhook = test;
        202 SentTest;
    /// Send events again: one by its id, or those of the endpoint's types since a time (owners only)
    POST "/api/admin/webhooks/{webhook}/replay" replayWebhook = replay;
        202 ReplayedEvents;
    /// Events that went or go to an endpoint, newest first, with their attempts (owners only)
    GET "/api/admin/webhooks/{webhook}/deliveries" listWebhookDeliveries = deliveries;
        200 DeliveryList;
}
