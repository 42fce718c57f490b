//! The console's pages of endpoints that get events: a list with a form for another one, and one endpoint with what was
//! sent to it.

use super::api::{DeliveryQuery, checked_choice, checked_url, found, page_of};
use crate::prelude::*;
use domain::event::{DeliveryState, EndpointState, EventChoice};
use mail::webhooks::Secret;
use store::{Delivery, Endpoint, EndpointEdit, Replay};
use web::extract::ManageWebhooks;

fn list_path(locale: Locale) -> String {
    format!("/admin/system?show=webhooks&lang={locale}")
}

fn path(id: &str, locale: Locale, done: &str) -> String {
    format!("/admin/webhooks/{id}?lang={locale}{done}")
}

/// What was typed into the form of an endpoint, and what is wrong with it.
#[derive(Debug, Default)]
pub struct EndpointForm {
    url: String,
    events: Vec<String>,
    /// From when on everything is sent again.
    since: String,
    wrong: Option<(String, &'static str)>,
}

impl EndpointForm {
    /// Each event has a box of its own.
    fn read(fields: Vec<(String, String)>) -> EndpointForm {
        let mut form = EndpointForm::default();
        for (name, value) in fields {
            match name.as_str() {
                "url" => form.url = value.trim().to_owned(),
                "events" => form.events.push(value),
                _ => {}
            }
        }
        form
    }

    fn of(endpoint: &Endpoint) -> EndpointForm {
        EndpointForm { url: endpoint.url.clone(), events: endpoint.choice.names().to_vec(), ..EndpointForm::default() }
    }

    fn parse(&self, shop: &Shop) -> Result<(String, EventChoice), Problem> {
        Ok((checked_url(shop, &self.url)?, checked_choice(&self.events)?))
    }

    /// The form with the problem's complaint.
    fn refused(self, problem: &Problem, field: &str) -> EndpointForm {
        let field = if problem.field_code() == Some("bad_events") { "events" } else { field };
        EndpointForm { wrong: problem.field_code().map(|code| (field.to_owned(), code)), ..self }
    }

    fn error(&self, chrome: &Chrome, field: &str) -> Option<&'static str> {
        self.wrong.as_ref().filter(|(of, _)| of == field).map(|(_, code)| field_error(chrome.locale, code))
    }

    /// Groups of events, whether each is ticked, and its single types.
    fn options(&self) -> Vec<(String, bool)> {
        EventChoice::options().into_iter().map(|name| (name.clone(), self.events.contains(&name))).collect()
    }

    /// Whether the single types are to be seen at once.
    fn has_single(&self) -> bool {
        self.events.iter().any(|name| !name.ends_with('*'))
    }
}

#[derive(Debug, Template)]
#[template(path = "webhooks/webhooks.html")]
struct WebhooksPage {
    chrome: Chrome,
    endpoints: Vec<Endpoint>,
    form: EndpointForm,
    is_deleted: bool,
}

#[derive(Debug, Template)]
#[template(path = "webhooks/webhook.html")]
struct WebhookPage {
    chrome: Chrome,
    endpoint: Endpoint,
    form: EndpointForm,
    deliveries: Vec<Delivery>,
    older: Option<String>,
    /// Shown once, after it was made or asked for.
    secret: Option<String>,
    notice: Option<String>,
    warning: Option<&'static str>,
}

/// The words of an endpoint's state, and a class of the style sheet.
fn endpoint_state(chrome: &Chrome, of: &Endpoint) -> (&'static str, &'static str) {
    let t = &chrome.text().webhooks;
    match of.state {
        EndpointState::On if of.failing_since.is_some() => (t.failing, "unpaid"),
        EndpointState::On => (t.on, "paid"),
        EndpointState::Off => (t.off, "cancelled"),
        EndpointState::Disabled => (t.disabled, "rejected"),
    }
}

impl WebhookPage {
    fn delivery_state(&self, of: &Delivery) -> (&'static str, &'static str) {
        let t = &self.chrome.text().webhooks;
        match of.state {
            DeliveryState::Waiting => (t.waiting, "unpaid"),
            DeliveryState::Delivered => (t.delivered, "paid"),
            DeliveryState::Failed => (t.failed, "rejected"),
        }
    }
}

pub async fn list((State(shop), _, visitor): StaffVisit<ManageWebhooks>, Query(query): Query<DeliveryQuery>) -> Answer {
    list_page(&shop, &visitor, StatusCode::OK, EndpointForm::default(), query.done == "delete").await
}

async fn list_page(shop: &Shop, visitor: &Visitor, status: StatusCode, form: EndpointForm, is_deleted: bool) -> Answer {
    let chrome = visitor.chrome_at(list_path(visitor.locale));
    let endpoints = shop.store.events().endpoints().await?;
    personal(status, &WebhooksPage { chrome, endpoints, form, is_deleted })
}

/// What the page of an endpoint shows beside it.
#[derive(Default)]
struct Shown {
    form: Option<EndpointForm>,
    secret: Option<Secret>,
    notice: Option<String>,
    warning: Option<&'static str>,
}

async fn page(shop: &Shop, visitor: &Visitor, endpoint: Endpoint, query: &DeliveryQuery, shown: Shown) -> Answer {
    let Page { items: deliveries, next: older } = page_of(shop, &endpoint, query).await?;
    let is_wrong = shown.warning.is_some() || shown.form.is_some();
    let page = WebhookPage {
        chrome: visitor.chrome_at(path(&endpoint.id, visitor.locale, "")),
        form: shown.form.unwrap_or_else(|| EndpointForm::of(&endpoint)),
        secret: shown.secret.map(|secret| secret.text()),
        notice: shown.notice,
        warning: shown.warning,
        endpoint,
        deliveries,
        older,
    };
    personal(if is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }, &page)
}

pub async fn show((State(shop), _, visitor, PathIds(id)): Visit, Query(query): Query<DeliveryQuery>) -> Answer {
    let t = &words::text(visitor.locale).webhooks;
    let notice = match query.done.split_once('-').unwrap_or((query.done.as_str(), "")) {
        ("saved", _) => Some(t.saved.to_owned()),
        ("test", _) => Some(t.tested.to_owned()),
        ("replay", count) => Some(fill(t.replayed, count.parse::<i64>().unwrap_or_default())),
        _ => None,
    };
    page(&shop, &visitor, found(&shop, id).await?, &query, Shown { notice, ..Shown::default() }).await
}

pub async fn add(
    (State(shop), staff, visitor): StaffVisit<ManageWebhooks>,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let form = EndpointForm::read(fields);
    let added = match form.parse(&shop) {
        Ok((url, choice)) => shop.webhooks.add(url, choice, staff.actor()).await?,
        Err(problem) => {
            let form = form.refused(&problem, "url");
            return list_page(&shop, &visitor, problem.code().status(), form, false).await;
        }
    };
    match added {
        Some((endpoint, secret)) => {
            let notice = Some(words::text(visitor.locale).webhooks.added.to_owned());
            let shown = Shown { secret: Some(secret), notice, ..Shown::default() };
            page(&shop, &visitor, endpoint, &DeliveryQuery::default(), shown).await
        }
        None => {
            let form = EndpointForm { wrong: Some(("url".to_owned(), "too_many_webhooks")), ..form };
            list_page(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, form, false).await
        }
    }
}

pub async fn edit(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    LongForm(fields): LongForm<Vec<(String, String)>>,
) -> Answer {
    let endpoint = found(&shop, id).await?;
    let form = EndpointForm::read(fields);
    let (url, choice) = match form.parse(&shop) {
        Ok((url, choice)) => (Some(url), Some(choice)),
        Err(problem) => {
            let shown = Shown { form: Some(form.refused(&problem, "url")), ..Shown::default() };
            return page(&shop, &visitor, endpoint, &DeliveryQuery::default(), shown).await;
        }
    };
    let edit = EndpointEdit { url, choice, is_on: None };
    shop.store.events().edit_endpoint(&endpoint.id, &edit, staff.actor()).await?.ok_or(Code::NotFound)?;
    Ok(see_other(&path(&endpoint.id, visitor.locale, "&done=saved")))
}

inputs! {
    SwitchForm { on }
    ReplayForm { event, since }
}

/// Switches an endpoint on or off.
pub async fn switch((State(shop), staff, visitor, PathIds(id)): Visit, LongForm(form): LongForm<SwitchForm>) -> Answer {
    let edit = EndpointEdit { is_on: Some(form.on == "yes"), ..EndpointEdit::default() };
    let edited = shop.store.events().edit_endpoint(&id.to_string(), &edit, staff.actor()).await?;
    Ok(see_other(&path(&edited.ok_or(Code::NotFound)?.id, visitor.locale, "&done=saved")))
}

pub async fn delete(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    LongForm(form): LongForm<ConfirmForm>,
) -> Answer {
    let endpoint = found(&shop, id).await?;
    if !form.is_confirmed() {
        let warning = Some(words::problem("not_confirmed").text(visitor.locale));
        let shown = Shown { warning, ..Shown::default() };
        return page(&shop, &visitor, endpoint, &DeliveryQuery::default(), shown).await;
    }
    shop.store.events().delete_endpoint(&endpoint.id, staff.actor()).await?;
    Ok(see_other(&format!("{}&done=delete", list_path(visitor.locale))))
}

type Visit = StaffVisitTo<ManageWebhooks, Uuid>;

handlers! {
    show_secret(visit: Visit)
    secret false;
    rotate true;
}

/// Shows the secret, or a new one.
async fn show_secret((State(shop), staff, visitor, PathIds(id)): Visit, is_new: bool) -> Answer {
    let endpoint = found(&shop, id).await?;
    let secret = match is_new {
        true => shop.webhooks.rotate(&endpoint, staff.actor()).await?,
        false => shop.webhooks.reveal(&endpoint, staff.actor()).await?,
    };
    let t = &words::text(visitor.locale).webhooks;
    let warning = secret.is_none().then_some(t.secret_lost);
    let notice = (is_new && secret.is_some()).then(|| t.rotated.to_owned());
    let shown = Shown { secret, notice, warning, form: None };
    page(&shop, &visitor, endpoint, &DeliveryQuery::default(), shown).await
}

pub async fn test((State(shop), _, visitor, PathIds(id)): Visit) -> Answer {
    shop.store.events().ping(&id.to_string()).await?.ok_or(Code::NotFound)?;
    Ok(see_other(&path(&id.to_string(), visitor.locale, "&done=test")))
}

pub async fn replay((State(shop), staff, visitor, PathIds(id)): Visit, LongForm(form): LongForm<ReplayForm>) -> Answer {
    let endpoint = found(&shop, id).await?;
    let which = form.event.parse().ok().map(Replay::One).or_else(|| time(&form.since).map(Replay::Since));
    let Some(which) = which else {
        let wrong = Some(("since".to_owned(), "bad_time"));
        let form = EndpointForm { since: form.since, wrong, ..EndpointForm::of(&endpoint) };
        let shown = Shown { form: Some(form), ..Shown::default() };
        return page(&shop, &visitor, endpoint, &DeliveryQuery::default(), shown).await;
    };
    let count = shop.store.events().replay(&endpoint, &which, staff.actor()).await?;
    Ok(see_other(&path(&endpoint.id, visitor.locale, &format!("&done=replay-{count}"))))
}
