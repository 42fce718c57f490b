//! Dead letters: list, replay, discard, for programs and on the console's page.

use crate::prelude::*;
use engine::pipeline::dead_letters::{DeadLetter, DeadLetterSource, Settlement};

answers! {
    DeadLettersResponse { letters: Vec<DeadLetter>, queue: SourceStatus, outboxes: SourceStatus }
    SettledCount { settled: usize }
}

/// Whether a source of dead letters could be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SourceStatus {
    Listed,
    Away,
    NotConfigured,
}

/// The first hundred letters of each source.
pub async fn list((State(shop), _): StaffCall<ViewConsole>) -> Answer {
    let found = shop.dead_letters.list().await?;
    let mut letters = Vec::new();
    let [queue, outboxes] = [found.queue, found.outboxes].map(|source| match source {
        Some(Ok(found)) => {
            letters.extend(found);
            SourceStatus::Listed
        }
        Some(Err(_)) => SourceStatus::Away,
        None => SourceStatus::NotConfigured,
    });
    Ok(private(DeadLettersResponse { letters, queue, outboxes }))
}

/// One letter, or all that are listed now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    id: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscardRequest {
    #[schemars(length(min = 1))]
    id: String,
}

pub async fn replay(call: StaffCall<ManageSales>, Json(request): Json<ReplayRequest>) -> Answer {
    if request.id.is_some() == request.all {
        return Err(Problem::invalid_field("id", "required"));
    }
    settle(call, request.id.as_deref(), Settlement::Replay).await
}

pub async fn discard(call: StaffCall<ManageSales>, Json(DiscardRequest { id }): Json<DiscardRequest>) -> Answer {
    settle(call, Some(&id), Settlement::Discard).await
}

async fn settle((State(shop), staff): StaffCall<ManageSales>, id: Option<&str>, settlement: Settlement) -> Answer {
    let settled = shop.dead_letters.settle(id, settlement, staff.actor()).await?;
    if settled == 0 && id.is_some() {
        return Err(Code::NotFound.into());
    }
    Ok(Json(SettledCount { settled }).into_response())
}

const PATH: &str = "/admin/system";

inputs! {
    /// The action that the page reports as done, and the number of letters that it settled.
    DeadLettersQuery { done: Option<String>, count: Option<usize> }
    /// The form of a replay or a discard.
    DeadLetterForm {
        /// Absent to replay all letters.
        id: Option<String>,
        confirm,
        /// The letter's id, typed again. A discard needs it because it cannot be undone.
        typed,
    }
}

pub async fn page(
    (State(shop), staff, visitor): StaffVisit<ViewConsole>,
    Query(query): Query<DeadLettersQuery>,
) -> Answer {
    let t = &words::text(visitor.locale).cockpit;
    let count = query.count.unwrap_or_default();
    let notice = match query.done.as_deref() {
        Some("replay") => Some(words::fill(t.replayed, count)),
        Some("discard") => Some(words::fill(t.discarded, count)),
        _ => None,
    };
    render(&shop, &visitor, staff.may::<ManageSales>(), StatusCode::OK, notice, None).await
}

async fn render(
    shop: &Shop,
    visitor: &Visitor,
    may_act: bool,
    status: StatusCode,
    notice: Option<String>,
    warning: Option<&'static str>,
) -> Answer {
    let found = shop.dead_letters.list().await?;
    let chrome = visitor.chrome_at(format!("{PATH}?lang={}", visitor.locale));
    let t = &chrome.text().cockpit;
    let notes = match (&found.queue, &found.outboxes) {
        (None, None) => vec![t.letters_none_here],
        (queue, outboxes) => {
            let queue = match queue {
                None => Some(t.letters_no_queue),
                Some(Err(_)) => Some(t.letters_queue_away),
                Some(Ok(_)) => None,
            };
            queue.into_iter().chain(matches!(outboxes, Some(Err(_))).then_some(t.letters_outbox_away)).collect()
        }
    };
    let lists = [found.queue, found.outboxes];
    let letters: Vec<DeadLetter> = lists.into_iter().flatten().filter_map(Result::ok).flatten().collect();
    let orders: Vec<OrderId> = letters.iter().flat_map(orders_in).collect();
    let numbers = shop.store.orders().numbers_of(&orders).await?;
    personal(status, &DeadLettersPage { chrome, letters, numbers, may_act, notice, warning, notes })
}

fn orders_in(letter: &DeadLetter) -> impl Iterator<Item = OrderId> {
    letter.items.iter().filter_map(|item| item.parse().ok())
}

pub async fn replay_by_form(visit: StaffVisit<ManageSales>, Form(form): Form<DeadLetterForm>) -> Answer {
    let confirmed = (form.confirm == "yes").then_some(Settlement::Replay).ok_or("not_confirmed");
    settle_by_form(visit, form.id.as_deref(), confirmed).await
}

pub async fn discard_by_form(visit: StaffVisit<ManageSales>, Form(form): Form<DeadLetterForm>) -> Answer {
    let confirmed = match form.id.as_deref() {
        Some(id) if id == form.typed.trim() => {
            (form.confirm == "yes").then_some(Settlement::Discard).ok_or("not_confirmed")
        }
        _ => Err("not_the_number"),
    };
    settle_by_form(visit, form.id.as_deref(), confirmed).await
}

async fn settle_by_form(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    id: Option<&str>,
    confirmed: Result<Settlement, &str>,
) -> Answer {
    let settlement = match confirmed {
        Ok(settlement) => settlement,
        Err(code) => {
            let warning = words::problem(code).text(visitor.locale);
            return render(&shop, &visitor, true, StatusCode::UNPROCESSABLE_ENTITY, None, Some(warning)).await;
        }
    };
    let settled = shop.dead_letters.settle(id, settlement, staff.actor()).await?;
    if settled == 0 && id.is_some() {
        let warning = words::text(visitor.locale).cockpit.letter_gone;
        return render(&shop, &visitor, true, StatusCode::NOT_FOUND, None, Some(warning)).await;
    }
    let done = settlement.as_str();
    Ok(see_other(&format!("{PATH}?lang={}&done={done}&count={settled}", visitor.locale)))
}

/// The messages that could not be processed, with the forms that replay or discard them.
#[derive(Debug, Template)]
#[template(path = "dead_letters/dead_letters.html")]
struct DeadLettersPage {
    chrome: Chrome,
    letters: Vec<DeadLetter>,
    /// The numbers of their orders that the database has.
    numbers: HashMap<OrderId, OrderNumber>,
    may_act: bool,
    notice: Option<String>,
    warning: Option<&'static str>,
    /// Notes about places that could not be read.
    notes: Vec<&'static str>,
}

impl DeadLettersPage {
    /// Whether the empty list is complete: no place failed to answer.
    fn is_clean(&self) -> bool {
        let t = &self.chrome.text().cockpit;
        self.letters.is_empty() && !self.notes.iter().any(|n| [t.letters_queue_away, t.letters_outbox_away].contains(n))
    }

    fn orders(&self, letter: &DeadLetter) -> Vec<(OrderId, OrderNumber)> {
        orders_in(letter).filter_map(|id| Some((id, *self.numbers.get(&id)?))).collect()
    }

    fn place(&self, letter: &DeadLetter) -> String {
        let t = &self.chrome.text().cockpit;
        match &letter.place {
            DeadLetterSource::Queue => t.letter_queue.to_owned(),
            DeadLetterSource::Outbox { bucket, .. } => fill(t.letter_outbox, bucket),
        }
    }
}

web::operations! { "administrators"
    /// Messages that could not be processed, at most 100 per source
    GET "/api/admin/dead-letters" listDeadLetters = list;
        200 DeadLettersResponse;
    /// Discard a dead letter; its content is written to the audit log
    POST "/api/admin/dead-letters/discard" discardDeadLetters = discard;
        200 SettledCount;
    /// Replay dead letters: one by its id, or all current ones
    POST "/api/admin/dead-letters/replay" replayDeadLetters = replay;
        200 SettledCount;
}
