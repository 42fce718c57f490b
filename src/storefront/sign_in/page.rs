//! The pages of login and registration.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::Deserialize;

use crate::DeviceVisit;
use accounts::{AccountRefusal, DueProof, RegistrationProof, Session, min_password_chars};
use domain::proof_of_work::{ITERATIONS, PARTS};
use domain::staff::ShopPageName;
use domain::{Locale, Phase, Role, SaleId};
use engine::catalogue::CatalogueEntry;
use pages::{Chrome, filters};
use web::extract::{ClientDevice, Form, Query, Secret, State, Visitor, login_path, own_path};
use web::shared::paths::sale_of_path;
use web::views::passkey_words;
use web::{Answer, Problem, Shop, personal, see_other};
use words::{Text, field_error, problem};

#[derive(Deserialize)]
pub struct SignInQuery {
    #[serde(default)]
    pub(crate) next: String,
    /// With `register`, a browser without an earlier log-in is redirected to the registration.
    #[serde(default)]
    or: String,
}

#[derive(Deserialize)]
pub struct SignInForm {
    username: String,
    password: Secret,
    /// Asked for beside the password only while too many guesses were made at the name.
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub struct RegistrationForm {
    username: String,
    password: Secret,
    #[serde(default)]
    next: String,
    #[serde(default)]
    challenge: String,
    /// The numbers that solve the proof of work, separated by commas.
    #[serde(default)]
    proof: String,
}

pub async fn login(
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Query(query): Query<SignInQuery>,
) -> Answer {
    match &visitor.session {
        Some(_) => Ok(see_other(&destination(&visitor, &query.next))),
        None if query.or == "register" && device.known.is_none() => {
            Ok(see_other(&registration_form_path(visitor.locale, own_path(&query.next).unwrap_or_default())))
        }
        None => form(&shop, &visitor, StatusCode::OK, String::new(), &query.next, Vec::new(), None),
    }
}

/// A visitor with a session is redirected to the destination at once.
pub async fn registration(
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Query(query): Query<SignInQuery>,
) -> Answer {
    if visitor.session.is_some() {
        return Ok(see_other(&destination(&visitor, &query.next)));
    }
    let due = shop.accounts.due_proof(&device, "").await?;
    form(
        &shop,
        &visitor,
        StatusCode::OK,
        String::new(),
        &query.next,
        Vec::new(),
        Some(ProofField { due, ..ProofField::default() }),
    )
}

fn registration_form_path(locale: Locale, next: &str) -> String {
    login_path(locale, next).replacen("login", "register", 1)
}

/// The form of a registration or a log-in. Only a registration has a proof of work.
fn form(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    username: String,
    next: &str,
    errors: Vec<&'static str>,
    proof: Option<ProofField>,
) -> Answer {
    let next = own_path(next).unwrap_or_default();
    // Without the rest of the query: the language switch links to this path.
    let register = proof.is_some();
    let path = if register { registration_form_path(visitor.locale, next) } else { login_path(visitor.locale, next) };
    let proof = ProofField { takes_mail: shop.sends_mail, ..proof.unwrap_or_default() };
    let chrome = visitor.chrome_at(path);
    let page = SignInPage {
        chrome,
        register,
        username,
        next: next.to_owned(),
        errors,
        proof,
        takes_passkeys: shop.accounts.passkeys().are_taken(),
        beside: beside(shop, next),
    };
    personal(status, &page)
}

/// What stands beside a form: the sale that `next` leads to, and what the shop promises.
pub(crate) fn beside(shop: &Shop, next: &str) -> Beside {
    Beside { sale: sale_beside(shop, next), payment_minutes: payment_minutes(shop) }
}

/// The sale that the visitor came from, otherwise the next one to start, otherwise one that is open.
fn sale_beside(shop: &Shop, next: &str) -> Option<SaleBeside> {
    if let Some(sale) = sale_of_path(next).and_then(|id| sale_ahead(shop, id)) {
        return Some(sale);
    }
    let public = shop.catalogue.public();
    let listed: Vec<_> =
        public.iter().filter(|entry| !entry.sale.shadow).map(|entry| (phase_of(shop, entry), entry)).collect();
    let upcoming =
        listed.iter().filter(|(phase, entry)| *phase == Phase::Upcoming && entry.sale.window.opens_at.is_some());
    let (phase, entry) = upcoming
        .min_by_key(|(_, entry)| (entry.sale.window.opens_at, entry.sale.id))
        .or_else(|| listed.iter().find(|(phase, _)| *phase == Phase::Open))?;
    Some(SaleBeside { entry: Arc::clone(entry), phase: *phase, now: shop.clock.now(), is_destination: false })
}

/// The sale that a form leads back to.
pub(crate) fn sale_ahead(shop: &Shop, sale: SaleId) -> Option<SaleBeside> {
    let public = shop.catalogue.public();
    let entry = public.iter().find(|entry| entry.sale.id == sale)?;
    let phase = phase_of(shop, entry);
    Some(SaleBeside { entry: entry.clone(), phase, now: shop.clock.now(), is_destination: true })
}

/// The phase as the button of the sale shows it.
fn phase_of(shop: &Shop, CatalogueEntry { sale, .. }: &CatalogueEntry) -> Phase {
    shop.gate.status(sale.id).map_or_else(|| sale.phase(shop.clock.now()), |status| status.phase)
}

/// How long an order waits for its payment, if that is a number of minutes.
pub(crate) fn payment_minutes(shop: &Shop) -> Option<u64> {
    let seconds = shop.payment_window.as_secs();
    (seconds >= 60 && seconds.is_multiple_of(60)).then_some(seconds / 60)
}

pub async fn log_in((State(shop), ClientDevice(device), visitor): DeviceVisit, Form(form): Form<SignInForm>) -> Answer {
    let code = Some(form.code.trim()).filter(|code| !code.is_empty());
    let result = shop.accounts.log_in(&device, &form.username, form.password.0, code).await;
    if let Err(AccountRefusal::CodeNeeded(half)) = result {
        return code_page(&shop, &visitor, StatusCode::OK, half, &form.next, None);
    }
    respond(&shop, &visitor, (form.username, form.next), result, None).await
}

pub async fn register(
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Form(form): Form<RegistrationForm>,
) -> Answer {
    let RegistrationForm { username, password, next, challenge, proof } = form;
    let numbers = proof.split(',').filter_map(|number| number.parse().ok()).collect();
    let sent = RegistrationProof { challenge, numbers };
    let result = shop.accounts.register(&device, &username, password.0, &sent).await;
    let mut field = ProofField::default();
    if let Err(refusal) = &result {
        field.due = shop.accounts.due_proof(&device, &sent.challenge).await?;
        // The computed proof of work stays in the form, unless it was refused.
        let is_kept = field.due.as_ref().is_some_and(|due| due.challenge == sent.challenge);
        field.solution = if is_kept && !matches!(refusal, AccountRefusal::ProofDue) { proof } else { String::new() };
    }
    respond(&shop, &visitor, (username, next), result, Some(field)).await
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct CodeForm {
    half: String,
    code: String,
    next: String,
}

/// The second step: the code of an account with a second factor.
pub async fn log_in_with_code(
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Form(form): Form<CodeForm>,
) -> Answer {
    let result = shop.accounts.log_in_with_code(&device, &form.half, &form.code).await;
    match result {
        Err(refusal @ (AccountRefusal::BadCode | AccountRefusal::Throttled(_))) => {
            let problem = Problem::from(refusal);
            let code = problem.code();
            code_page(&shop, &visitor, code.status(), form.half, &form.next, Some(code.as_str()))
        }
        result => respond(&shop, &visitor, (String::new(), form.next), result, None).await,
    }
}

pub(crate) fn code_page(
    shop: &Shop,
    visitor: &Visitor,
    status: StatusCode,
    half: String,
    next: &str,
    error: Option<&'static str>,
) -> Answer {
    let next = own_path(next).unwrap_or_default();
    let chrome = visitor.chrome_at(login_path(visitor.locale, next));
    let beside = beside(shop, next);
    personal(status, &CodePage { chrome, proof: half, next: next.to_owned(), error, beside })
}

/// The cookie and the redirect to the destination, or the form with the refusal.
pub(crate) async fn respond(
    shop: &Shop,
    visitor: &Visitor,
    (username, next): (String, String),
    result: Result<Session, AccountRefusal>,
    proof: Option<ProofField>,
) -> Answer {
    let (errors, refusal) = match result {
        Ok(session) => {
            shop.accounts.end_replaced(visitor.session.as_ref()).await;
            let cookie = [(SET_COOKIE, shop.accounts.cookie(&session))];
            return Ok((cookie, see_other(&destination(visitor, &next))).into_response());
        }
        Err(AccountRefusal::Store(error)) => return Err(error.into()),
        Err(refusal @ AccountRefusal::BadNameAndPassword) => {
            (vec!["bad_username", "weak_password"], Problem::from(refusal))
        }
        Err(refusal) => {
            let problem = Problem::from(refusal);
            (vec![problem.code().as_str()], problem)
        }
    };
    form(shop, visitor, refusal.code().status(), username, &next, errors, proof)
}

fn destination(visitor: &Visitor, next: &str) -> String {
    own_path(next).map_or_else(|| format!("/{}/", visitor.locale), str::to_owned)
}

pub async fn log_out(State(shop): State<Arc<Shop>>, visitor: Visitor) -> Answer {
    if let Some(session) = &visitor.session {
        shop.accounts.log_out(session).await?;
    }
    Ok(([(SET_COOKIE, shop.accounts.removal_cookie())], see_other(&format!("/{}/", visitor.locale))).into_response())
}

/// The login form, or the registration form.
#[derive(Debug, Template)]
#[template(path = "sign_in/sign_in.html")]
pub struct SignInPage {
    pub chrome: Chrome,
    pub register: bool,
    /// The name as entered before.
    pub username: String,
    /// The path to go to afterwards, on this origin; empty for the list of sales.
    pub next: String,
    /// Problem codes; several when name and password are both refused.
    pub errors: Vec<&'static str>,
    pub proof: ProofField,
    /// Whether browsers offer passkeys at the shop's address.
    pub takes_passkeys: bool,
    pub beside: Beside,
}

/// What stands beside a form on the way into an account.
#[derive(Debug)]
pub struct Beside {
    /// The sale that the visitor came for. `None` if no sale is on or ahead.
    pub sale: Option<SaleBeside>,
    /// How long an order waits for its payment, in minutes. `None` if it is not a whole number of minutes.
    pub payment_minutes: Option<u64>,
}

/// A sale beside the form.
#[derive(Debug)]
pub struct SaleBeside {
    pub entry: Arc<CatalogueEntry>,
    pub phase: Phase,
    /// The time at the shop.
    pub now: Timestamp,
    /// Whether the form leads to this sale.
    pub is_destination: bool,
}

impl SaleBeside {
    pub(crate) fn opens_at(&self) -> Option<Timestamp> {
        self.entry.sale.window.opens_at.filter(|_| self.phase == Phase::Upcoming)
    }

    /// Why the sale stands beside the form.
    pub(crate) fn label(&self, t: &Text) -> &'static str {
        match self.phase {
            _ if self.is_destination => t.account.beside_destination,
            Phase::Upcoming => t.account.beside_next,
            _ => t.shop.list_live,
        }
    }

    /// The state of a sale that has no start to wait for.
    pub(crate) fn state(&self, t: &Text) -> &'static str {
        match self.phase {
            Phase::Upcoming => t.shop.opens_unknown,
            Phase::Open => t.script.phase_open,
            Phase::SoldOut => t.script.phase_sold_out,
            Phase::Paused => t.script.phase_paused,
            Phase::Ended => t.script.phase_ended,
        }
    }
}

/// The proof of work that a registration needs, and its solution if there is one.
#[derive(Debug, Default)]
pub struct ProofField {
    /// `None` if no proof of work is needed.
    pub due: Option<DueProof>,
    /// The numbers of the solution, separated by commas.
    pub solution: String,
    /// Whether a verified mail address can replace the proof of work, which needs a mail server.
    pub takes_mail: bool,
}

impl ProofField {
    /// The verified mail address that replaces the proof of work.
    fn contact(&self) -> Option<&str> {
        self.due.as_ref().and_then(|due| due.contact.as_deref())
    }

    /// The proof of work, unless a verified address replaces it.
    fn open(&self) -> Option<&DueProof> {
        self.due.as_ref().filter(|due| due.contact.is_none())
    }
}

/// Errors that stand at their fields, and not above the form.
const FIELD_ERRORS: [&str; 3] = ["username_taken", "bad_username", "weak_password"];

impl SignInPage {
    fn passkey_words(&self) -> Vec<(&'static str, &'static str)> {
        passkey_words(&self.chrome)
    }

    /// What the worker needs besides the challenge, as JSON.
    fn puzzle(&self, due: &DueProof) -> String {
        format!(r#"{{"bits":{},"parts":{PARTS},"iterations":{ITERATIONS}}}"#, due.bits)
    }

    fn error_text(&self, code: &'static str) -> &'static str {
        problem(code).text(self.chrome.locale)
    }

    /// The error that describes the name: its own, or one that is not about a field.
    fn name_error(&self) -> Option<&'static str> {
        self.errors.iter().copied().find(|code| *code != "weak_password")
    }

    fn is_name_refused(&self) -> bool {
        matches!(self.name_error(), Some("username_taken" | "bad_username"))
    }

    /// The characters of a shopper's password at least.
    fn min_chars(&self) -> usize {
        min_password_chars(Role::User)
    }

    /// The code and the words of an error that stands at its field.
    fn at_field(&self, error: Option<&'static str>) -> Option<(&'static str, &'static str)> {
        error.filter(|code| FIELD_ERRORS.contains(code)).map(|code| (code, self.error_text(code)))
    }

    /// The error that describes the password.
    fn password_error(&self) -> Option<&'static str> {
        self.errors.iter().copied().find(|code| !matches!(*code, "username_taken" | "bad_username"))
    }

    fn is_password_refused(&self) -> bool {
        self.password_error() == Some("weak_password")
    }
}

/// The pages of a mail address that replaces the proof of work at registration.
#[derive(Debug, Template)]
#[template(path = "sign_in/registration_contact.html")]
pub struct ContactPage {
    pub chrome: Chrome,
    pub step: ContactStep,
    pub beside: Beside,
}

#[derive(Debug)]
pub enum ContactStep {
    /// A message is on its way.
    Sent { address: String },
    /// No message is sent, for the reason with this code of a field's error.
    Refused { challenge: String, address: String, error: &'static str },
    /// The button behind the link.
    Confirm { token: String, address: String },
    /// The address is verified. The link leads to a form of the registration.
    Done { link: String },
}

impl ContactPage {
    fn error_text(&self, code: &'static str) -> &'static str {
        field_error(self.chrome.locale, code)
    }
}

/// The second step of the login, after the password was accepted.
#[derive(Debug, Template)]
#[template(path = "sign_in/second_step.html")]
struct CodePage {
    chrome: Chrome,
    /// The signed proof that the password was accepted.
    proof: String,
    /// The path to go to afterwards, on this origin; empty for the list of sales.
    next: String,
    /// A problem code.
    error: Option<&'static str>,
    beside: Beside,
}

impl CodePage {
    fn error_text(&self) -> Option<&'static str> {
        self.error.map(|code| problem(code).text(self.chrome.locale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Locale;
    use web::views::test_chrome;

    #[test]
    fn login_form_keeps_its_values_and_escapes_them() {
        let hostile = "\"><script>alert(1)</script>";
        let page = SignInPage {
            chrome: test_chrome(Locale::Zh, "/zh/login"),
            register: false,
            username: hostile.into(),
            next: hostile.into(),
            errors: vec!["bad_credentials"],
            proof: ProofField::default(),
            takes_passkeys: false,
            beside: Beside { sale: None, payment_minutes: None },
        };
        let html = page.render().unwrap();
        assert_eq!(html.matches("<script").count(), 2, "those of every page and of passwords");
        assert!(html.contains("alert(1)") && html.contains("用户名或密码不正确"));
        assert!(!html.contains("分钟"), "no time to pay is promised");
    }
}
