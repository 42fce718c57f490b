//! Tokens of programs: who has which, a new one, and the end of one. For programs, and the console's page for owners.

use jiff::SignedDuration;

use crate::prelude::*;
use accounts::TokenDraft;
use domain::{ApiToken, Scope};
use store::NewTokenOutcome;

answers! {
    TokenList { tokens: Vec<ApiToken> }
    OneToken { token: ApiToken }
    /// A token with its text, which only this answer has.
    TokenWithSecret { token: ApiToken, secret: String }
}

pub async fn list((State(shop), _): StaffCall<ManageStaff>) -> Answer {
    let tokens = shop.store.api_tokens().list().await?;
    Ok(private(TokenList { tokens }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The audit log names it.
    #[schemars(length(min = 1, max = 40))]
    name: String,
    #[schemars(length(min = 1))]
    scopes: Vec<Scope>,
    /// Such as `10.0.0.0/8`; anywhere without any.
    #[serde(default)]
    #[schemars(length(max = 20))]
    networks: Vec<String>,
    /// Requests a second to one process; any number if it is left out.
    #[schemars(range(min = 1, max = 100_000))]
    rate: Option<u32>,
    expires_at: Option<Timestamp>,
}

pub async fn create(
    (State(shop), staff): StaffCall<ManageStaff>,
    Repeatable(request): Repeatable,
    Json(body): Json<NewToken>,
) -> Answer {
    staff.in_person()?;
    let NewToken { name, scopes, networks, rate, expires_at } = body;
    let draft = TokenDraft { name, scopes, networks, rate, expires_at };
    let mistakes = draft.mistakes(shop.clock.now());
    if !mistakes.is_empty() {
        return Err(Problem::invalid(mistakes));
    }
    let (token, secret) =
        shop.accounts.create_token((staff.session.user_id, staff.actor()), draft, request).await?.map_err(refused)?;
    let answer = (StatusCode::CREATED, Cache::Private, Json(TokenWithSecret { token, secret }));
    Ok((Extension(NotKept), answer).into_response())
}

/// The problem of a token that was not made.
pub(super) fn refused(outcome: NewTokenOutcome) -> Code {
    match outcome {
        NewTokenOutcome::TooMany => Code::TooManyTokens,
        _ => Code::TokenNameTaken,
    }
}

pub async fn revoke((State(shop), staff, PathIds(id)): StaffCallTo<ManageStaff, Uuid>) -> Answer {
    staff.in_person()?;
    let token = shop.accounts.revoke_token(staff.actor(), id).await?.ok_or(Code::NotFound)?;
    Ok(private(OneToken { token }))
}

/// The longest lifetime that the form takes, in days.
const MAX_DAYS: i64 = 3650;

pub async fn page(
    (State(shop), _, visitor): StaffVisit<ManageStaff>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    render(&shop, &visitor, StatusCode::OK, Shown { done, ..Shown::default() }).await
}

/// What the page shows besides the list.
#[derive(Debug, Default)]
struct Shown {
    /// The form as it was sent.
    typed: HashMap<String, String>,
    errors: Vec<FieldError>,
    done: String,
    /// A token that was just made, with its text. Only this answer shows it.
    made: Option<(ApiToken, String)>,
}

async fn render(shop: &Shop, visitor: &Visitor, status: StatusCode, shown: Shown) -> Answer {
    let tokens = shop.store.api_tokens().list().await?;
    let chrome = visitor.chrome_at(format!("/admin/system?show=tokens&lang={}", visitor.locale));
    personal(status, &TokensPage { chrome, tokens, now: shop.clock.now(), shown })
}

/// Makes a token. Its text stands in this answer and nowhere else.
pub async fn create_by_form(
    (State(shop), staff, visitor): StaffVisit<ManageStaff>,
    Repeatable(request): Repeatable,
    Form(typed): Form<HashMap<String, String>>,
) -> Answer {
    let now = shop.clock.now();
    let (draft, mut errors) = read(&typed, now);
    errors.extend(draft.mistakes(now).into_iter().map(|(field, code)| FieldError::new(field, code)));
    if !errors.is_empty() {
        let shown = Shown { typed, errors, ..Shown::default() };
        return render(&shop, &visitor, StatusCode::UNPROCESSABLE_ENTITY, shown).await;
    }
    match shop.accounts.create_token((staff.session.user_id, staff.actor()), draft, request).await? {
        Ok(made) => {
            let shown = Shown { made: Some(made), ..Shown::default() };
            Ok((Extension(NotKept), render(&shop, &visitor, StatusCode::OK, shown).await?).into_response())
        }
        Err(outcome) => {
            let errors = vec![FieldError::new("name", refused(outcome).as_str())];
            render(&shop, &visitor, StatusCode::CONFLICT, Shown { typed, errors, ..Shown::default() }).await
        }
    }
}

/// The token that the form asks for, and what cannot be read of it.
fn read(typed: &HashMap<String, String>, now: Timestamp) -> (TokenDraft, Vec<FieldError>) {
    let text = |field: &str| typed.get(field).map(|text| text.trim()).unwrap_or_default();
    let mut errors = Vec::new();
    let mut number = |field: &'static str, max: i64| {
        let number = Some(text(field)).filter(|text| !text.is_empty()).map(|text| text.parse::<i64>().ok());
        let number = number.map(|number| number.filter(|number| (1..=max).contains(number)));
        errors.extend((number == Some(None)).then_some(FieldError::new(field, "out_of_range")));
        number.flatten()
    };
    let (rate, days) = (number("rate", ApiToken::MAX_RATE.into()), number("days", MAX_DAYS));
    let draft = TokenDraft {
        name: text("name").to_owned(),
        scopes: Scope::ALL.into_iter().filter(|scope| typed.contains_key(scope.as_str())).collect(),
        networks: text("networks").split([' ', ',', '\n']).filter(|text| !text.is_empty()).map(str::to_owned).collect(),
        rate: rate.and_then(|rate| rate.try_into().ok()),
        expires_at: days.and_then(|days| now.checked_add(SignedDuration::from_hours(24 * days)).ok()),
    };
    (draft, errors)
}

pub async fn revoke_by_form(
    (State(shop), staff, visitor, path): StaffVisitTo<ManageStaff, Uuid>,
    Form(form): Form<ConfirmForm>,
) -> Answer {
    let page = format!("/admin/system?show=tokens&lang={}", visitor.locale);
    if !form.is_confirmed() {
        return Err(Problem::invalid_field("confirm", "confirm").back(page));
    }
    shop.accounts.revoke_token(staff.actor(), path.0).await?.ok_or(Code::NotFound)?;
    Ok(see_other(&format!("{page}&done=revoked")))
}

/// The tabs of the system's page.
pub(crate) fn system_tabs(chrome: &Chrome) -> Vec<Tab> {
    let t = chrome.text();
    let others = [("mail", t.recovery.console_title), ("tokens", t.tokens.title), ("webhooks", t.webhooks.title)];
    owner_tabs(chrome, "/admin/system", t.cockpit.letters_title, &others)
}

/// The tokens, newest first, and the form for a new one.
#[derive(Debug, Template)]
#[template(path = "users/tokens.html")]
struct TokensPage {
    chrome: Chrome,
    tokens: Vec<ApiToken>,
    now: Timestamp,
    shown: Shown,
}

impl TokensPage {
    /// Scopes under two headings: what only other shops need, and what the staff may do.
    fn scopes(&self) -> [(&'static str, Vec<Scope>); 2] {
        let t = &self.chrome.text().tokens;
        let (shops, staff) =
            Scope::ALL.into_iter().partition(|scope| matches!(scope, Scope::Reserve | Scope::Shoppers));
        [(t.for_shops, shops), (t.for_staff, staff)]
    }

    fn scope_words(&self, scope: &Scope) -> &'static str {
        words::scope(self.chrome.locale, *scope)
    }

    /// A class of the style sheet, and a word.
    fn state(&self, token: &ApiToken) -> (&'static str, &'static str) {
        let t = &self.chrome.text().tokens;
        match token {
            token if token.revoked_at.is_some() => ("cancelled", t.revoked),
            token if token.expires_at.is_some_and(|end| end <= self.now) => ("rejected", t.expired),
            _ => ("paid", t.live),
        }
    }

    fn typed(&self, field: &str) -> &str {
        self.shown.typed.get(field).map(String::as_str).unwrap_or_default()
    }

    fn error(&self, field: &str) -> Option<&'static str> {
        let wrong = self.shown.errors.iter().find(|wrong| wrong.field == field)?;
        Some(match wrong.code {
            code @ ("token_name_taken" | "too_many_tokens") => words::problem(code).text(self.chrome.locale),
            code => words::field_error(self.chrome.locale, code),
        })
    }
}

web::operations! { "administrators"
    /// Tokens of programs (owners only)
    GET "/api/admin/tokens" listApiTokens = list;
        200 TokenList, "The newest first, with revoked ones.";
    /// Make a token for a program (owners only, in person)
    POST "/api/admin/tokens" createApiToken = create;
        201 TokenWithSecret, "With its text, which is returned only once. Under one key the same text is made again, \
            without `Idempotent-Replayed`.";
        refuses StepUpNeeded TokenNameTaken TooManyTokens;
    /// Revoke a token (owners only, in person)
    ///
    /// Safe to repeat. Every process refuses the token within a second.
    DELETE "/api/admin/tokens/{token}" revokeApiToken = revoke;
        200 OneToken;
}
