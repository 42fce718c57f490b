//! The account page: password, sessions, second factor, export, deletion.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use uuid::Uuid;

use crate::UserVisit;
use crate::account::api::delete_account;
use accounts::{AccountRefusal, DeletionRefusal, DeletionRequest, Enrolment, Session, min_password_chars};
use domain::ledger::money;
use domain::{Money, Role};
use pages::{Chrome, filters};
use store::{AccountMail, Passkey, SessionRow, User};
use web::extract::{ClientDevice, Form, PathIds, Query, Secret, SignedIn, State, Visitor};
use web::packets::qr_code;
use web::shared::paths::account_path;
use web::shared::{balance_of, set_aside};
use web::views::passkey_words;
use web::{Answer, Code, FieldError, NoticeQuery, Problem, Shop, error_text, personal, see_other};
use words::{fill, problem};

pub(crate) fn report_done(visitor: &Visitor, action: &str) -> Response {
    see_other(&format!("{}?done={action}", account_path(visitor.locale)))
}

pub async fn show(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    page(&shop, &session, &visitor, AccountFormState { done, ..AccountFormState::default() }).await
}

/// What the page shows besides the account: a form to correct, or a notice.
#[derive(Debug, Default)]
pub(crate) struct AccountFormState {
    status: Option<StatusCode>,
    /// The form with the errors: `password`, `factor`, `passkey`, `mail`, `mail-removal`, `delete`, or none.
    form: &'static str,
    errors: Vec<FieldError>,
    /// The code of a problem that belongs to no field of the form.
    problem: Option<&'static str>,
    typed_name: String,
    /// The passkey that the form `passkey` is about.
    passkey: Option<Uuid>,
    pub(crate) typed_address: String,
    /// The action that the page reports as done. Unknown values show nothing.
    done: String,
}

impl AccountFormState {
    pub(crate) fn of(form: &'static str, error: FieldError) -> AccountFormState {
        AccountFormState { form, errors: vec![error], ..AccountFormState::default() }
    }
}

pub(crate) async fn page(shop: &Shop, session: &Session, visitor: &Visitor, state: AccountFormState) -> Answer {
    let user = shop.store.accounts().user(session.user_id).await?.ok_or(Code::NotSignedIn)?;
    let balance = balance_of(&shop.store, user.id).await?;
    let unclaimed = shop.store.packets().unclaimed_money(user.id).await?;
    let set_aside = set_aside(&shop.store.deposits().held_deposits_of(user.id).await?);
    let recovery_left = shop.store.credentials().recovery_codes_left(user.id).await?;
    let addresses = shop.store.accounts().addresses_of(user.id).await?.len();
    let sessions = shop.accounts.sessions_of(session).await?;
    let passkeys = shop.accounts.passkeys().of(session).await?;
    let mail = shop.store.accounts().mail_of(user.id).await?;
    let chrome = visitor.chrome_at(account_path(visitor.locale));
    let refused = !state.errors.is_empty();
    let status = if refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = AccountPage {
        chrome,
        user,
        balance,
        set_aside,
        at_stake: money(balance.amount + set_aside.amount + unclaimed),
        recovery_left,
        addresses,
        sessions,
        current: session.id,
        passkeys,
        takes_passkeys: shop.accounts.passkeys().are_taken(),
        mail,
        shown: state,
    };
    personal(page.shown.status.unwrap_or(status), &page)
}

/// The field that a refusal is about.
pub(crate) fn field_of(refusal: AccountRefusal) -> Result<FieldError, Problem> {
    match refusal {
        AccountRefusal::WrongPassword => Ok(FieldError::new("password", "wrong_password")),
        AccountRefusal::WeakPassword => Ok(FieldError::new("new_password", "weak_password")),
        AccountRefusal::BadPresentCode => Ok(FieldError::new("present_code", "bad_code")),
        AccountRefusal::BadCode => Ok(FieldError::new("code", "bad_code")),
        AccountRefusal::Throttled(_) => Ok(FieldError::new("password", "wait")),
        refusal => Err(refusal.into()),
    }
}

#[derive(Deserialize)]
pub struct PasswordForm {
    password: Secret,
    new_password: Secret,
}

pub async fn change_password(
    (State(shop), SignedIn(session), visitor): UserVisit,
    ClientDevice(device): ClientDevice,
    Form(form): Form<PasswordForm>,
) -> Answer {
    match shop.accounts.change_password(&session, &device, form.password.0, form.new_password.0).await {
        Ok(next) => {
            let cookie = [(SET_COOKIE, shop.accounts.cookie(&next))];
            Ok((cookie, report_done(&visitor, "password")).into_response())
        }
        Err(refusal) => page(&shop, &session, &visitor, AccountFormState::of("password", field_of(refusal)?)).await,
    }
}

pub async fn end_session((State(shop), SignedIn(session), visitor): UserVisit, PathIds(id): PathIds<Uuid>) -> Answer {
    let back = account_path(visitor.locale);
    if !shop.accounts.end_own(&session, id).await.map_err(|error| Problem::from(error).back(&back))? {
        return Err(Problem::new(Code::NotFound).back(back));
    }
    Ok(if id == session.id { to_login(&shop, &visitor) } else { report_done(&visitor, "session") })
}

pub async fn end_all_sessions((State(shop), SignedIn(session), visitor): UserVisit) -> Answer {
    shop.accounts.log_out_everywhere(&session).await?;
    Ok(to_login(&shop, &visitor))
}

/// Removes the session cookie.
fn to_login(shop: &Shop, visitor: &Visitor) -> Response {
    ([(SET_COOKIE, shop.accounts.removal_cookie())], see_other(&format!("/{}/login", visitor.locale))).into_response()
}

pub async fn enrol((State(shop), SignedIn(session), visitor): UserVisit) -> Answer {
    let begun = shop.accounts.enrol(&session, visitor.shop.name(visitor.locale))?;
    enrolment(&shop, &session, &visitor, begun, Vec::new()).await
}

async fn enrolment(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    enrolment: Enrolment,
    errors: Vec<FieldError>,
) -> Answer {
    let replaces = shop.store.accounts().user(session.user_id).await?.is_some_and(|user| user.second_factor.is_some());
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let chrome = visitor.chrome_at(format!("{}/second-factor", account_path(visitor.locale)));
    let Enrolment { secret, url, signed } = enrolment;
    personal(status, &SecondFactorPage { chrome, secret, url, signed, replaces, errors })
}

#[derive(Deserialize)]
pub struct SecondFactorForm {
    #[serde(default)]
    enrolment: String,
    password: Secret,
    #[serde(default)]
    code: String,
    /// The code of the second factor that is replaced.
    present_code: Option<String>,
}

/// Sets up the second factor. Only this response shows the recovery codes.
pub async fn set_second_factor(
    (State(shop), SignedIn(session), visitor): UserVisit,
    ClientDevice(device): ClientDevice,
    Form(form): Form<SecondFactorForm>,
) -> Answer {
    let SecondFactorForm { enrolment: sealed, password, code, present_code } = form;
    let present = present_code.as_deref();
    match shop.accounts.set_second_factor(&session, &device, &sealed, password.0, &code, present).await {
        Ok(codes) => {
            let chrome = visitor.chrome_at(account_path(visitor.locale));
            personal(StatusCode::OK, &RecoveryPage { chrome, codes })
        }
        Err(refusal) => {
            let error = field_of(refusal)?;
            let again = shop.accounts.enrol_again(&session, visitor.shop.name(visitor.locale), &sealed)?;
            enrolment(&shop, &session, &visitor, again, vec![error]).await
        }
    }
}

#[derive(Deserialize)]
pub struct SecondFactorRemovalForm {
    password: Secret,
    #[serde(default)]
    code: String,
}

pub async fn remove_second_factor(
    (State(shop), SignedIn(session), visitor): UserVisit,
    ClientDevice(device): ClientDevice,
    Form(form): Form<SecondFactorRemovalForm>,
) -> Answer {
    match shop.accounts.remove_second_factor(&session, &device, form.password.0, &form.code).await {
        Ok(()) => Ok(report_done(&visitor, "factor-off")),
        Err(refusal) => page(&shop, &session, &visitor, AccountFormState::of("factor", field_of(refusal)?)).await,
    }
}

#[derive(Deserialize)]
pub struct PasskeyRemovalForm {
    password: Secret,
    /// The code of the authenticator app, if the account has one.
    code: Option<String>,
}

pub async fn remove_passkey(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<Uuid>,
    ClientDevice(device): ClientDevice,
    Form(form): Form<PasskeyRemovalForm>,
) -> Answer {
    let PasskeyRemovalForm { password, code } = form;
    match shop.accounts.passkeys().remove(&session, &device, id, password.0, code.as_deref()).await {
        Ok(()) => Ok(report_done(&visitor, "passkey-removed")),
        Err(refusal @ AccountRefusal::NoSuchPasskey) => Err(Problem::from(refusal).back(account_path(visitor.locale))),
        Err(refusal) => {
            let state = AccountFormState::of("passkey", field_of(refusal)?);
            page(&shop, &session, &visitor, AccountFormState { passkey: Some(id), ..state }).await
        }
    }
}

#[derive(Deserialize)]
pub struct AccountDeletionForm {
    #[serde(default)]
    username: String,
    password: Secret,
    /// `yes` to leave the balance of the wallet to the shop.
    #[serde(default)]
    give_up_wallet: String,
}

pub async fn delete(
    (State(shop), SignedIn(session), visitor): UserVisit,
    ClientDevice(device): ClientDevice,
    Form(form): Form<AccountDeletionForm>,
) -> Answer {
    let request = DeletionRequest {
        username: form.username.clone(),
        password: form.password.0,
        give_up_wallet: form.give_up_wallet == "yes",
    };
    match delete_account(&shop, &session, &device, request).await {
        Ok(()) => deleted(&shop, &visitor),
        Err(refusal) => {
            let state = AccountFormState { typed_name: form.username, ..refused_deletion(refusal)? };
            page(&shop, &session, &visitor, state).await
        }
    }
}

fn deleted(shop: &Shop, visitor: &Visitor) -> Answer {
    let path = format!("/{}/login", visitor.locale);
    let chrome = Chrome { username: None, role: Role::User, ..visitor.chrome_at(path) };
    let cookie = [(SET_COOKIE, shop.accounts.removal_cookie())];
    Ok((cookie, personal(StatusCode::OK, &DeletedPage { chrome })?).into_response())
}

/// The form with the reason of the refusal. Unexpected errors are not shown in the form.
fn refused_deletion(refusal: DeletionRefusal) -> Result<AccountFormState, Problem> {
    let error = match refusal {
        DeletionRefusal::WrongName => FieldError::new("username", "not_your_name"),
        DeletionRefusal::Throttled => FieldError::new("password", "wait"),
        DeletionRefusal::Other(AccountRefusal::WrongPassword) => FieldError::new("password", "wrong_password"),
        DeletionRefusal::OrdersOpen | DeletionRefusal::IsStaff | DeletionRefusal::WalletNotEmpty => {
            let code = Problem::from(refusal).code();
            let (status, problem) = (Some(code.status()), Some(code.as_str()));
            return Ok(AccountFormState { form: "delete", status, problem, ..AccountFormState::default() });
        }
        refusal => return Err(refusal.into()),
    };
    Ok(AccountFormState::of("delete", error))
}

/// The account with its forms. After a failed submission one of the forms shows its errors.
#[derive(Debug, Template)]
#[template(path = "account/own_account.html")]
struct AccountPage {
    chrome: Chrome,
    user: User,
    /// The balance of the wallet.
    balance: Money,
    /// The part of the wallet that is set aside for sales.
    set_aside: Money,
    /// What deleting the account gives up: the balance, the money set aside, and the unclaimed money in open packets.
    at_stake: Money,
    recovery_left: i64,
    /// How many addresses are saved.
    addresses: usize,
    sessions: Vec<SessionRow>,
    /// The session of this request.
    current: Uuid,
    passkeys: Vec<Passkey>,
    /// Whether browsers offer passkeys at the shop's address.
    takes_passkeys: bool,
    mail: Option<AccountMail>,
    shown: AccountFormState,
}

impl AccountPage {
    /// The anchors of the page's groups with their names, in their order.
    fn groups(&self) -> [(&'static str, &'static str); 4] {
        let t = &self.chrome.text().member;
        [("mine", t.group_mine), ("safety", t.group_safety), ("notices", t.group_notices), ("privacy", t.group_privacy)]
    }

    /// Whether the section with this anchor is unfolded: a form in it failed, or something in it was just done.
    fn is_open(&self, section: &str) -> bool {
        let of_form = match self.shown.form {
            "password" => "password-form",
            "factor" => "second-factor",
            "passkey" => "passkeys",
            "mail" | "mail-removal" => "mail",
            form => form,
        };
        let of_action = match self.shown.done.as_str() {
            "session" => "sessions",
            "factor-off" => "second-factor",
            "passkey-added" | "passkey-removed" => "passkeys",
            "mail" | "mail-removed" => "mail",
            _ => "",
        };
        let must_change = self.user.must_change_password && section == "password-form";
        section == of_form || section == of_action || must_change
    }

    fn min_chars(&self) -> usize {
        min_password_chars(self.user.role)
    }

    /// A number of things that the account has, in words.
    fn counted(&self, number: usize, words: &str) -> String {
        match number {
            0 => self.chrome.text().member.none.to_owned(),
            number => fill(words, number),
        }
    }

    fn error_text(&self, form: &str, field: &str) -> Option<&'static str> {
        (self.shown.form == form).then(|| error_text(&self.chrome, &self.shown.errors, field))?
    }

    /// Whether the form that removes this passkey shows errors.
    fn is_refused(&self, passkey: &Passkey) -> bool {
        self.shown.passkey == Some(passkey.id)
    }

    /// The text of an error in the form that removes this passkey.
    fn passkey_error(&self, of: &Passkey, field: &str) -> Option<&'static str> {
        self.is_refused(of).then(|| self.error_text("passkey", field))?
    }

    /// The id of a field in the form that removes this passkey.
    fn passkey_field(&self, of: &Passkey, field: &str) -> String {
        format!("{field}-{}", of.id)
    }

    fn passkey_words(&self) -> Vec<(&'static str, &'static str)> {
        passkey_words(&self.chrome)
    }

    fn problem_of(&self, form: &str) -> Option<&'static str> {
        let code = self.shown.problem.filter(|_| self.shown.form == form)?;
        Some(problem(code).text(self.chrome.locale))
    }

    fn verified_address(&self) -> Option<&str> {
        self.mail.as_ref()?.address.as_deref()
    }

    fn pending_address(&self) -> Option<&str> {
        self.mail.as_ref()?.pending.as_deref()
    }

    fn has_address(&self) -> bool {
        self.verified_address().is_some() || self.pending_address().is_some()
    }

    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().member;
        match self.shown.done.as_str() {
            "password" => Some(t.done_password),
            "session" => Some(t.done_session),
            "factor-off" => Some(t.done_factor_off),
            "passkey-added" => Some(self.chrome.text().passkeys.done_added),
            "passkey-removed" => Some(self.chrome.text().passkeys.done_removed),
            "mail" => Some(self.chrome.text().recovery.done_sent),
            "mail-removed" => Some(self.chrome.text().recovery.done_removed),
            _ => None,
        }
    }

    fn device<'a>(&self, session: &'a SessionRow) -> &'a str {
        if session.agent.is_empty() { self.chrome.text().member.unknown_device } else { &session.agent }
    }
}

/// The setup of an authenticator app.
#[derive(Debug, Template)]
#[template(path = "account/second_factor.html")]
struct SecondFactorPage {
    chrome: Chrome,
    secret: String,
    url: String,
    /// The signed enrolment, which the form sends back.
    signed: String,
    /// The account already has a second factor, so the form asks for its code too.
    replaces: bool,
    errors: Vec<FieldError>,
}

impl SecondFactorPage {
    /// The QR code as a `data:` URL: the secret must not be requested under an address of its own.
    fn picture(&self) -> Option<String> {
        qr_code(&self.url)
    }

    /// The secret in groups of four letters, for typing.
    fn groups(&self) -> String {
        let letters: Vec<char> = self.secret.chars().collect();
        letters.chunks(4).map(String::from_iter).collect::<Vec<_>>().join(" ")
    }
}

/// The new recovery codes. Only this response shows them.
#[derive(Debug, Template)]
#[template(path = "account/recovery_codes.html")]
struct RecoveryPage {
    chrome: Chrome,
    codes: Vec<String>,
}

/// The page after the deletion of an account.
#[derive(Debug, Template)]
#[template(path = "account/deleted.html")]
struct DeletedPage {
    chrome: Chrome,
}
