//! The one table from errors to statuses. Every error response of the shop is a [`Problem`]: RFC 9457 problem details
//! with a stable `code`. The client sees the text of the table and never an inner error's text. The inner error is
//! logged once, by [`frame`](crate::middleware::frame).

mod refusals;

use std::error::Error;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use domain::Refusal;

pub const PROBLEM_JSON: &str = "application/problem+json";

/// The reason phrase of a status, which RFC 9457 makes the title of a problem of type `about:blank`.
#[rustfmt::skip]
macro_rules! phrase {
    (400) => { "Bad Request" };
    (401) => { "Unauthorized" };
    (403) => { "Forbidden" };
    (404) => { "Not Found" };
    (405) => { "Method Not Allowed" };
    (408) => { "Request Timeout" };
    (409) => { "Conflict" };
    (410) => { "Gone" };
    (412) => { "Precondition Failed" };
    (413) => { "Content Too Large" };
    (415) => { "Unsupported Media Type" };
    (422) => { "Unprocessable Content" };
    (429) => { "Too Many Requests" };
    (500) => { "Internal Server Error" };
    (503) => { "Service Unavailable" };
}

/// Generates [`Code`] from the table: variant, status, code, class of a refusal, detail, and seconds for `Retry-After`.
macro_rules! problems {
    ($($variant:ident $status:tt $code:literal $($class:ident)? $detail:literal $(retry $after:literal)?;)*) => {
        /// What went wrong, as the client sees it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant,)* }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The stable code for programs.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $code,)* }
            }

            pub fn status(self) -> StatusCode {
                let status: u16 = match self { $(Code::$variant => $status,)* };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }

            fn title(self) -> &'static str {
                match self { $(Code::$variant => phrase!($status),)* }
            }

            pub(crate) fn detail(self) -> &'static str {
                match self { $(Code::$variant => $detail,)* }
            }

            fn retry_after(self) -> Option<HeaderValue> {
                match self { $(Code::$variant => None$(.or(Some(HeaderValue::from_static($after))))?,)* }
            }

            /// The whole response body, built at compile time: most purchases end in a refusal.
            fn body(self) -> &'static str {
                match self {
                    $(Code::$variant => concat!(
                        r#"{"type":"about:blank","title":""#, phrase!($status), r#"","status":"#, $status,
                        r#","code":""#, $code, r#"","detail":""#, $detail, r#""}"#
                    ),)*
                }
            }
        }
    };
}

// The rows of refusals follow these.
domain::refusals! { problems! {
    NotSignedIn 401 "not_signed_in" "Log in first.";
    NoSuchPacket 404 "no_such_packet" "There is no such red packet.";
    PacketNotOpen 409 "packet_not_open" "The red packet is not open yet.";
    PacketEmpty 409 "packet_empty" "All shares of the red packet are claimed.";
    PacketExpired 409 "packet_expired" "The red packet has expired. What was left went back to its giver.";
    TooManyPackets 409 "too_many_packets" "The giver has the maximum number of open red packets. Wait until some are over.";
    OwnPacket 409 "own_packet" "The giver of this red packet does not take part in it.";
    TooManyStreams 429 "too_many_streams" "The account or the address has the maximum number of open event streams. Close one." retry "10";
    NoSuchWaitingRoom 404 "no_such_queue" "The sale has no waiting room, or is not announced.";
    NotInWaitingRoom 404 "not_in_queue" "The account has no place in this waiting room.";
    PassNeeded 401 "pass_needed" "Only those who were called may go on. The line is at the address in X-Line.";
    BadPass 403 "bad_pass" "The pass is not one of this shop, is for another sale, or has expired.";
    SoldElsewhere 409 "sold_elsewhere" "The sale stands in front of another shop. Go there with a pass: /line/{sale}/pass.";
    PassUsed 409 "pass_used" "The pass, or another one of the same turn, was used before.";
    PassesSpent 409 "passes_spent" "The turn was used, or too many passes were made for it.";
    NoSuchDraw 404 "no_such_draw" "The sale is not a draw, or not announced.";
    NoWaitlist 404 "no_waitlist" "The sale has no waitlist: units that come back are given in another way.";
    NotWaiting 404 "not_waiting" "The account never joined the waitlist of this sale.";
    NotSoldOut 409 "not_sold_out" "Units are left. Buy them instead of waiting.";
    HasOrder 409 "has_order" "The account has an order of this sale.";
    AccountTooNew 403 "account_too_new" "The account was registered too late for this sale.";
    ContactNotVerified 403 "contact_not_verified" "The sale asks for a verified mail address. Enter and verify one first.";
    ContactTaken 409 "contact_taken" "The sale is one for each mailbox, and another account takes part with this one.";
    AddressNeeded 409 "address_needed" "The sale is one for each delivery address. Save an address first.";
    ShippingAddressNeeded 409 "shipping_address_needed" "What shipping costs depends on the address. Set the order's address before paying.";
    AddressTaken 409 "address_taken" "The sale is one for each delivery address, and another account takes part with this one.";
    OtherAddress 409 "other_address" "The sale is one for each delivery address. The order goes to the one with which the account took part.";
    InvitationNeeded 403 "invitation_needed" "The sale asks for an invitation code. Redeem one first.";
    DepositNeeded 409 "deposit_needed" "The sale asks for a deposit, and the wallet has less than that. Top it up first.";
    BadInvitation 403 "bad_invitation" "The sale has no such code, another account has redeemed it, or it was revoked.";
    NotEntered 404 "not_entered" "The account has no entry in this draw.";
    NotLocked 409 "not_locked" "The list of entries is not locked yet.";
    NotDrawn 409 "not_drawn" "The draw has not been held yet.";
    EntriesLocked 409 "entries_locked" "The list of entries is locked, or the draw was called off. No entry can be excluded any more.";
    RoundNotOverdue 409 "round_not_overdue" "Only a draw that waits for a public round that is an hour overdue can be called off or await a later round.";
    RoundNotAwaited 409 "round_not_awaited" "The draw awaits no public round now.";

    BadCredentials 401 "bad_credentials" "The user name or the password is wrong.";
    CodeNeeded 401 "totp_required" "The password is correct. Send a code from the authenticator as well.";
    BadPasskey 401 "bad_passkey" "The passkey is unknown, or what it signed is wrong, expired or was used before. Ask for a new challenge.";
    BadCode 401 "bad_code" "The code is wrong, too old, or was used before.";
    BadLink 403 "bad_link" "The link has expired, was used, or a newer one was sent. Ask for another one.";
    Blocked 403 "blocked" "The shop has blocked this account.";
    PasswordExpired 403 "password_expired" "The temporary password has expired. Ask an owner of the shop for a new one.";
    SecondFactorRequired 403 "second_factor_required" "Set up a second factor of your own account first.";
    MustChangePassword 403 "must_change_password" "Choose a password of your own first.";
    PasskeyNeeded 403 "passkey_needed" "The shop requires a second factor of its staff. Log in with your passkey.";
    StepUpNeeded 403 "step_up_needed" "Send your password, and a code if you have a second factor, to /api/account/step-up first.";
    BadSignature 401 "bad_signature" "The signature of the webhook is not valid.";
    BadApiToken 401 "bad_api_token" "Send a token of this shop in the header Authorization: Bearer. It is missing, unknown, revoked or expired.";
    ScopeMissing 403 "scope_missing" "The token lacks the scope that this needs.";
    ForeignNetwork 403 "foreign_network" "The token must not be used from this network.";
    BadEntry 403 "bad_entry" "The entry link has expired or was used. Go back to the shop that you came from.";
    NoSuchShopper 404 "no_such_shopper" "No shopper with this id was named yet. POST /api/v1/shoppers first.";
    ReservationExpired 409 "reservation_expired" "The reservation has expired, and its units went back on sale.";
    ReservationReleased 409 "reservation_released" "The reservation was released or cancelled, and its units went back on sale.";
    ReservationConfirmed 409 "reservation_confirmed" "The reservation was confirmed with another reference, or can only end in the console.";
    ReferenceTaken 409 "reference_taken" "Another reservation was confirmed with this reference.";
    ReservationTooLong 409 "reservation_too_long" "A reservation lives for at most an hour.";
    TokenNameTaken 409 "token_name_taken" "Another token has this name.";
    TooManyTokens 409 "too_many_tokens" "The shop has the maximum number of tokens. Revoke one.";
    CrossSite 403 "cross_site" "The request came from another site.";
    NotAllowed 403 "not_allowed" "Your role does not allow this.";
    SpendingLimit 403 "spending_limit" "Your role may give only so much of the shop's money within a day. Ask an owner.";
    NotFound 404 "not_found" "There is nothing here.";
    MethodNotAllowed 405 "method_not_allowed" "This address does not take that method.";
    RequestTimeout 408 "request_timeout" "The body of the request did not arrive in time.";
    ProofNeeded 403 "proof_needed" "This network has registered many accounts. GET /api/register/price tells what one costs now.";
    UsernameTaken 409 "username_taken" "This user name is taken.";
    OrdersOpen 409 "orders_open" "An order is not finished: pay or cancel it, or wait for the refund.";
    StaffAccount 409 "staff_account" "The account belongs to the staff. An owner has to dismiss it first.";
    LastOwner 409 "last_owner" "The shop needs at least one owner who can appoint staff.";
    Yourself 409 "yourself" "You cannot do this to your own account.";
    NoMailAddress 409 "no_mail_address" "The account has no verified mail address.";
    NotCancellable 409 "not_cancellable" "The order can no longer be cancelled.";
    NotRefundable 409 "not_refundable" "Only an order that is paid can be refunded; as a whole only while its parcel is with the shop, because its units go back on sale. Refund a sent one in part, or once its return was accepted and is received.";
    InvoiceIssued 409 "invoice_issued" "The invoice was issued, and cannot be changed any more.";
    NotPaid 409 "not_paid" "The order is not paid yet.";
    OrderEnded 409 "order_ended" "The order was cancelled or its money goes back, so nothing is sent.";
    OrderHeld 409 "order_held" "The order is held. Release it before its parcel is packed or sent.";
    NoAddress 409 "no_address" "The order has no delivery address yet. Its owner has to give one before it is packed or sent.";
    NoSuchStep 409 "no_such_step" "The parcel cannot go there from where it is.";
    NotReturnable 409 "not_returnable" "Only a delivered order can be returned, and only within the days that the shop allows.";
    WrongReturnState 409 "wrong_return_state" "The return is in no state for this, or was changed in the meantime. Load it again.";
    PaymentDisputed 409 "payment_disputed" "The payment is or was disputed, so the payer may have the money back already. Confirm with `disputed` to refund it all the same.";
    AwaitsApproval 409 "awaits_approval" "Another refund of this order or payment waits for a second person. Approve or decline that one first.";
    AddressFixed 409 "address_fixed" "The address can be changed only while the order waits to be paid. A paid order takes one if it has none.";
    TooManyAddresses 409 "too_many_addresses" "The account has the maximum number of addresses.";
    TooManyCategories 409 "too_many_categories" "The shop has the maximum number of categories.";
    TooManyPasskeys 409 "too_many_passkeys" "The account has the maximum number of passkeys.";
    PasskeyTaken 409 "passkey_taken" "The passkey belongs to an account already.";
    PasskeysOff 409 "passkeys_off" "Browsers offer passkeys at an https address with a domain name only, or at localhost.";
    TooManyQuestions 409 "too_many_questions" "The account has the maximum number of questions without an answer. Wait for one, or withdraw one.";
    AlreadyAnswered 409 "already_answered" "The question was answered, and cannot be withdrawn any more.";
    QuestionHidden 409 "question_hidden" "The question is hidden. Show it again before answering it.";
    NotPayable 409 "not_payable" "The order cannot be paid.";
    PaymentsOff 409 "payments_off" "The shop takes no payments at the moment. An order can be paid from the wallet.";
    NotEnough 409 "not_enough" "The balance of the wallet is too low.";
    WalletNotEmpty 409 "wallet_not_empty" "Money is left in the wallet or in an open packet. Spend it, or confirm that you give it up.";
    WrongState 409 "wrong_state" "The state of the sale does not allow this.";
    NotARush 409 "not_a_rush" "Only a sale that sells to the first who ask is compared with another shop.";
    TooManyDecisions 409 "too_many_decisions" "The sale has the maximum number of decisions, 100,000.";
    BelowSold 409 "below_sold" "More units are sold or reserved already than the sale would have.";
    UnitsAllotted 409 "units_allotted" "The buckets of the running sale have these units and may be selling them. Take fewer, or take them before the sale begins.";
    Overlap 409 "overlap" "The same goods are on sale at that time in another sale.";
    ChangedMeanwhile 409 "changed_meanwhile" "This was changed in the meantime. Load it again.";
    KeyReused 409 "idempotency_key_reused" "This idempotency key came with another request. Use a new key.";
    UnderWay 409 "request_under_way" "The first request with this idempotency key is not finished. Ask again.";
    GoodsArchived 409 "goods_archived" "The goods are archived. Bring them back before selling them.";
    GoodsOnSale 409 "goods_on_sale" "A sale of the goods is running or scheduled. Stop it before archiving them.";
    CursorExpired 410 "cursor_expired" "Changes after this cursor are no longer kept. Begin without a cursor.";
    StaleVersion 412 "stale_version" "This is no longer the version in If-Match. Load it again.";
    TooLarge 413 "too_large" "The body of the request is too large.";
    UnsupportedMediaType 415 "unsupported_media_type" "The body of the request is not of the expected type.";
    BadUsername 422 "bad_username" "A user name has 3 to 32 letters of one alphabet, digits, or characters of _-.";
    WeakPassword 422 "weak_password" "A password has 12 to 256 characters and is no common password, user name, repetition or sequence.";
    Invalid 422 "invalid" "Some of the values cannot be used.";
    BadJson 400 "bad_json" "The body of the request is not valid JSON.";
    BadRequest 400 "bad_request" "The request could not be understood.";
    Unavailable 503 "unavailable" "A service that the shop needs is unavailable. Nothing is lost: try again." retry "2";
    Internal 500 "internal" "The shop failed to handle the request.";
} }

type Cause = Arc<dyn Error + Send + Sync>;

/// A field of the request with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldProblem {
    pub field: String,
    pub code: &'static str,
}

impl From<(&'static str, &'static str)> for FieldProblem {
    fn from((field, code): (&'static str, &'static str)) -> Self {
        FieldProblem { field: field.to_owned(), code }
    }
}

/// An error response. It is small, because nearly every purchase ends in one.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    extra: Option<Box<ProblemExtra>>,
}

/// Fields that only some problems have.
#[derive(Debug, Default)]
struct ProblemExtra {
    detail: Option<String>,
    fields: Vec<FieldProblem>,
    retry_after: Option<u64>,
    back: Option<String>,
    again: Option<i64>,
    not_before: Option<Timestamp>,
    cause: Option<Cause>,
}

/// Passed to the middleware as an extension of the response: what to log, and what the page about the problem needs.
#[derive(Debug, Clone)]
pub struct ProblemContext {
    pub code: Code,
    /// The path of the "go back" link.
    pub back: Option<String>,
    /// The quantity of a purchase that can be tried again.
    pub again: Option<i64>,
    /// From when the user may buy.
    pub not_before: Option<Timestamp>,
    pub cause: Option<Cause>,
}

impl Problem {
    pub fn new(code: Code) -> Problem {
        Problem { code, extra: None }
    }

    pub fn code(&self) -> Code {
        self.code
    }

    /// The first wrong field.
    pub fn first_field(&self) -> Option<&FieldProblem> {
        self.extra.as_ref()?.fields.first()
    }

    /// The code of the first wrong field.
    pub fn field_code(&self) -> Option<&'static str> {
        self.first_field().map(|field| field.code)
    }

    fn extra(&mut self) -> &mut ProblemExtra {
        self.extra.get_or_insert_default()
    }

    /// A detail about this request instead of the table's. Never the text of an inner error.
    pub fn detail(mut self, detail: impl Into<String>) -> Problem {
        self.extra().detail = Some(detail.into());
        self
    }

    /// Seconds for `Retry-After` instead of the table's.
    pub fn retry_after(mut self, seconds: u64) -> Problem {
        self.extra().retry_after = Some(seconds);
        self
    }

    /// The path of the "go back" link, if the problem is shown as a page.
    pub fn back(mut self, path: impl Into<String>) -> Problem {
        self.extra().back = Some(path.into());
        self
    }

    /// The quantity of a refused purchase, so that the page can offer to try it again.
    pub fn again(mut self, quantity: i64) -> Problem {
        self.extra().again = Some(quantity);
        self
    }

    /// The error to log. The client does not see it.
    pub fn cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Problem {
        self.extra().cause = Some(Arc::from(cause.into()));
        self
    }

    /// The wrong fields, each with an error of its own.
    pub fn fields(mut self, fields: impl IntoIterator<Item = impl Into<FieldProblem>>) -> Problem {
        self.extra().fields = fields.into_iter().map(Into::into).collect();
        self
    }

    /// Fields with invalid values.
    pub fn invalid(fields: impl IntoIterator<Item = impl Into<FieldProblem>>) -> Problem {
        Problem::new(Code::Invalid).fields(fields)
    }

    /// One field with an invalid value.
    pub fn invalid_field(field: impl Into<String>, code: &'static str) -> Problem {
        Problem::invalid([FieldProblem { field: field.into(), code }])
    }

    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Problem {
        Problem::new(Code::Internal).cause(cause)
    }
}

/// Problem details of RFC 9457.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemBody<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    /// Stable; for programs.
    code: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fields: &'a [FieldProblem],
    /// With `too_early`: from when the account may buy.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
}

impl ProblemExtra {
    /// The response body of a problem with details of its own.
    fn body(&self, code: Code) -> Bytes {
        if self.detail.is_none() && self.fields.is_empty() && self.not_before.is_none() {
            return Bytes::from_static(code.body().as_bytes());
        }
        let problem = ProblemBody {
            r#type: "about:blank",
            title: code.title(),
            status: code.status().as_u16(),
            code: code.as_str(),
            detail: self.detail.as_deref().unwrap_or_else(|| code.detail()),
            fields: &self.fields,
            not_before: self.not_before,
        };
        serde_json::to_vec(&problem).map_or_else(|_| Bytes::from_static(code.body().as_bytes()), Bytes::from)
    }
}

/// The API's response to a refused purchase. Nothing is logged and no page is shown, so it carries no
/// [`ProblemContext`]: this is the most frequent response of a sale.
pub fn refused_purchase(refusal: Refusal) -> Response {
    let code = Code::from(refusal);
    response(code, Bytes::from_static(code.body().as_bytes()), code.retry_after())
}

fn response(code: Code, body: Bytes, retry_after: Option<HeaderValue>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code.status();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    if let Some(after) = retry_after {
        headers.insert(RETRY_AFTER, after);
    }
    response
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let extra = self.extra.map(|extra| *extra);
        let body = match &extra {
            Some(extra) => extra.body(self.code),
            None => Bytes::from_static(self.code.body().as_bytes()),
        };
        let own_retry = extra.as_ref().and_then(|extra| extra.retry_after).map(HeaderValue::from);
        let ProblemExtra { back, again, not_before, cause, .. } = extra.unwrap_or_default();
        let mut response = response(self.code, body, own_retry.or_else(|| self.code.retry_after()));
        if self.code == Code::BadApiToken {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(ProblemContext { code: self.code, back, again, not_before, cause });
        response
    }
}

impl From<Code> for Problem {
    fn from(code: Code) -> Self {
        Problem::new(code)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    pub(super) fn body(problem: Problem) -> (Response, serde_json::Value) {
        let own_body = problem.extra.as_ref().map(|extra| extra.body(problem.code));
        let bytes = own_body.unwrap_or_else(|| Bytes::from_static(problem.code.body().as_bytes()));
        (problem.into_response(), serde_json::from_slice(&bytes).unwrap())
    }

    #[test]
    fn codes_are_unique_and_bodies_carry_the_status() {
        let codes: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), Code::ALL.len());
        for &code in Code::ALL {
            let (response, json) = body(Problem::new(code));
            assert_eq!(json["code"], code.as_str());
            assert_eq!(json["status"], response.status().as_u16());
            assert_eq!(json["type"], "about:blank");
            assert_eq!(response.headers()[CONTENT_TYPE], PROBLEM_JSON);
            let is_temporary = matches!(response.status().as_u16(), 429 | 503);
            assert_eq!(response.headers().contains_key(RETRY_AFTER), is_temporary, "{}", code.as_str());
        }
    }

    /// Statuses and codes in the table of errors of the API's document.
    #[test]
    fn document_names_every_code_with_its_status_and_no_other() {
        let document = include_str!("../../../docs/api.md").split("## Errors").nth(1).unwrap();
        let rows = document.lines().filter(|line| line.starts_with("| ")).skip(2);
        let mut named: Vec<(String, &str)> = Vec::new();
        for row in rows {
            let mut cells = row.split('|').skip(1).map(str::trim);
            let (statuses, codes) = (cells.next().unwrap(), cells.next().unwrap());
            for code in codes.split('`').skip(1).step_by(2).filter(|code| !code.contains('/')) {
                named.push((statuses.to_owned(), code));
            }
        }
        for code in Code::ALL {
            let status = code.status().as_u16().to_string();
            let found = named.iter().any(|(statuses, name)| *name == code.as_str() && statuses.contains(&status));
            assert!(found, "docs/api.md has no row for {status} {}", code.as_str());
        }
        for (_, name) in named {
            assert!(
                Code::ALL.iter().any(|code| code.as_str() == name),
                "docs/api.md names {name}, which no answer has"
            );
        }
    }

    #[test]
    fn problem_names_fields_and_hides_inner_errors() {
        let (response, json) = body(Problem::invalid_field("total", "bad_number"));
        assert_eq!(response.status(), 422);
        assert_eq!(json["fields"][0], serde_json::json!({"field": "total", "code": "bad_number"}));

        let (response, json) = body(Problem::internal("password of the database: 1234"));
        assert!(!json.to_string().contains("1234"));
        let context = response.extensions().get::<ProblemContext>().unwrap();
        assert!(context.cause.as_ref().unwrap().to_string().contains("1234"), "it is kept for the log");
    }
}
