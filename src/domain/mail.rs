//! Where accounts get messages, and what the messages are about: mail addresses, and the browsers of web push.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::{Host, Url};

use super::network::is_public;
use super::wire::wire_enum;

/// The longest address that mail servers accept, and its longest local part, in bytes (RFC 5321).
const MAX_ADDRESS_BYTES: usize = 254;
const MAX_LOCAL_BYTES: usize = 64;
/// How long the link that sets a new password is valid.
const RECOVERY_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// How long the code that logs in is valid.
const SIGN_IN_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long the link that verifies an address is valid.
const VERIFICATION_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How long a notice is worth sending. The reader cannot act on an older one any more.
const NOTICE_LIFETIME: Duration = Duration::from_secs(3 * 24 * 3600);

wire_enum! {
    /// What a message is about.
    pub enum MailKind {
        /// A link that verifies the address.
        Verification = "verification",
        /// Another account entered this address, but it is verified for the reader's account.
        AddressInUse = "address_in_use",
        /// A link that confirms a registration with this address. The verified address stands in for proof of work.
        Registration = "registration",
        /// A link that sets a new password.
        Recovery = "recovery",
        /// A code that logs in.
        SignInCode = "sign_in_code",
        /// Sent to the address that was replaced or removed.
        AddressChanged = "address_changed",
        PasswordChanged = "password_changed",
        NewDevice = "new_device",
        SecondFactorOn = "second_factor_on",
        SecondFactorReplaced = "second_factor_replaced",
        SecondFactorOff = "second_factor_off",
        RecoveryCodeUsed = "recovery_code_used",
        /// An entry of a draw won an order, which waits for its payment.
        DrawWon = "draw_won",
        /// The result of a draw that the reader entered is there, and the reader has no order of it.
        DrawResult = "draw_result",
        /// A draw that the reader entered was called off.
        DrawCalledOff = "draw_called_off",
        /// A draw that the reader entered awaits a later public round.
        DrawDelayed = "draw_delayed",
        /// A unit came back and is reserved for the reader until a certain time.
        UnitOffered = "unit_offered",
        /// Staff hold one of the reader's orders.
        OrderHeld = "order_held",
        HoldReleased = "hold_released",
        /// The answer to an appeal: the hold stays.
        HoldUpheld = "hold_upheld",
        HoldRefunded = "hold_refunded",
        HoldCancelled = "hold_cancelled",
        /// The shop answered one of the reader's questions.
        QuestionAnswered = "question_answered",
        /// A sale that the reader wanted to be reminded of starts soon.
        SaleStarts = "sale_starts",
        /// The reader's turn in a waiting room has come.
        TurnCalled = "turn_called",
        /// The time to pay an order ends soon.
        PaymentEnds = "payment_ends",
        /// A parcel is on its way, or has another number.
        ParcelShipped = "parcel_shipped",
        ParcelDelivered = "parcel_delivered",
        ParcelLost = "parcel_lost",
        ParcelReturned = "parcel_returned",
        /// The reader may send goods back.
        ReturnAccepted = "return_accepted",
        ReturnRefused = "return_refused",
        /// Goods that the reader sent back arrived, and their refund began.
        ReturnRefunded = "return_refunded",
        /// To owners of the shop: an endpoint of events was given up after days of failure.
        EndpointDisabled = "endpoint_disabled",
    }
}

wire_enum! {
    pub enum MailState {
        /// The mail server has not accepted the message yet.
        Waiting = "waiting",
        Sent = "sent",
        /// The message was given up, because it was refused too often or is too old.
        Dead = "dead",
    }
}

impl MailKind {
    /// How long the shop tries to send the message. A link or a code in it is valid for as long.
    pub fn lifetime(self) -> Duration {
        match self {
            MailKind::Recovery => RECOVERY_LIFETIME,
            MailKind::SignInCode => SIGN_IN_LIFETIME,
            MailKind::Verification | MailKind::Registration => VERIFICATION_LIFETIME,
            _ => NOTICE_LIFETIME,
        }
    }

    /// Whether the message is about the hold of an order.
    pub fn is_hold(self) -> bool {
        use MailKind::{HoldCancelled, HoldRefunded, HoldReleased, HoldUpheld, OrderHeld};
        matches!(self, OrderHeld | HoldReleased | HoldUpheld | HoldRefunded | HoldCancelled)
    }

    /// Whether the message is also pushed to subscribed browsers: what cannot wait until the reader opens the mailbox,
    /// the result of a draw,
    /// a parcel, which somebody has to be at home for, and a return, which the reader waits for.
    pub fn is_pushed(self) -> bool {
        use MailKind::{
            DrawResult, DrawWon, ParcelDelivered, ParcelShipped, PaymentEnds, SaleStarts, TurnCalled, UnitOffered,
        };
        matches!(self, DrawWon | DrawResult | UnitOffered | SaleStarts | TurnCalled | PaymentEnds)
            || matches!(self, ParcelShipped | ParcelDelivered)
            || self.is_return()
    }

    /// Whether the message is about the return of an order.
    pub fn is_return(self) -> bool {
        matches!(self, MailKind::ReturnAccepted | MailKind::ReturnRefused | MailKind::ReturnRefunded)
    }

    /// Whether the message is about the parcel of an order.
    pub fn is_parcel(self) -> bool {
        use MailKind::{ParcelDelivered, ParcelLost, ParcelReturned, ParcelShipped};
        matches!(self, ParcelShipped | ParcelDelivered | ParcelLost | ParcelReturned)
    }

    /// Whether the message has a link or a code that does something.
    pub fn has_secret(self) -> bool {
        use MailKind::{Recovery, Registration, SignInCode, Verification};
        matches!(self, Recovery | SignInCode | Verification | Registration)
    }
}

/// An address that mail can be sent to: `local@domain`, in plain ASCII, the domain in lower case and, where it has other
/// letters, in the form of the DNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailAddress(String);

impl MailAddress {
    /// `None` if the text is no address. Quoted local parts and IP addresses as domains are not accepted.
    pub fn parse(text: &str) -> Option<MailAddress> {
        let (local, domain) = text.trim().rsplit_once('@')?;
        let atoms_are_valid = local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom_byte));
        if !atoms_are_valid || local.len() > MAX_LOCAL_BYTES {
            return None;
        }
        let url::Host::Domain(domain) = url::Host::parse(domain).ok()? else { return None };
        let labels_are_valid = domain.split('.').all(is_label) && domain.contains('.');
        let address = format!("{local}@{domain}");
        (labels_are_valid && address.len() <= MAX_ADDRESS_BYTES).then_some(MailAddress(address))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Addresses with the same key are one address. The key is in lower case, because no provider of note distinguishes
    /// upper and lower case.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The mailbox that the address reaches, as far as its text shows: without the part after a `+`, and without the
    /// dots that Gmail ignores.
    pub fn mailbox(&self) -> String {
        let key = self.key();
        let (local, domain) = key.rsplit_once('@').unwrap_or((&key, ""));
        let local = local.split_once('+').map_or(local, |(local, _)| local);
        match domain {
            "gmail.com" | "googlemail.com" => format!("{}@gmail.com", local.replace('.', "")),
            _ => format!("{local}@{domain}"),
        }
    }
}

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_label(label: &str) -> bool {
    let is_plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain && !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
}

/// The address for readers who need not know it: `m•••@shop.example`.
pub fn masked(address: &str) -> String {
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = local.chars().take(1).collect();
    format!("{first}•••@{domain}")
}

// Web push: the address and keys with which a browser receives messages of the shop (RFC 8030, RFC 8291).

/// Endpoints of all known push services are shorter.
const MAX_ENDPOINT_BYTES: usize = 1024;
/// Length of a public key: an uncompressed point of P-256.
pub const PUBLIC_KEY_BYTES: usize = 65;
pub const AUTH_BYTES: usize = 16;

/// An address at a push service that a browser has named: https, the usual port, no address of a private network. Names are
/// resolved, and checked again, when a message is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushEndpoint(String);

impl PushEndpoint {
    pub fn parse(text: &str) -> Option<PushEndpoint> {
        let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_ENDPOINT_BYTES)?;
        let host_is_valid = match url.host()? {
            Host::Domain(name) => name.contains('.'),
            Host::Ipv4(address) => is_public(address.into()),
            Host::Ipv6(address) => is_public(address.into()),
        };
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        let is_valid = url.scheme() == "https" && url.port().is_none() && is_plain && host_is_valid;
        is_valid.then(|| PushEndpoint(url.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The public key and secret of a browser, with which the shop encrypts messages to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushKeys {
    pub p256dh: [u8; PUBLIC_KEY_BYTES],
    pub auth: [u8; AUTH_BYTES],
}

impl PushKeys {
    /// Reads base64url, as browsers send it. Whether the key is a point of the curve is checked when it is used.
    pub fn parse(p256dh: &str, auth: &str) -> Option<PushKeys> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let p256dh: [u8; PUBLIC_KEY_BYTES] = bytes(p256dh)?.try_into().ok()?;
        let auth = bytes(auth)?.try_into().ok()?;
        (p256dh[0] == 4).then_some(PushKeys { p256dh, auth })
    }

    pub fn p256dh_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.p256dh)
    }

    pub fn auth_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.auth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        for (text, form) in [
            (" Mei@Shop.Example ", "Mei@shop.example"),
            ("mei+sale@shop.example", "mei+sale@shop.example"),
            ("m@例子.example", "m@xn--fsqu00a.example"),
        ] {
            assert_eq!(MailAddress::parse(text).unwrap().as_str(), form);
        }
        assert_eq!(MailAddress::parse("Mei@Shop.Example").unwrap().key(), "mei@shop.example");
        let mailbox = |text| MailAddress::parse(text).unwrap().mailbox();
        assert_eq!(mailbox("Mei.L+sale@shop.example"), "mei.l@shop.example");
        assert_eq!(mailbox("m.e.i+1@googlemail.com"), mailbox("mei@gmail.com"));
        assert_ne!(mailbox("mei@shop.example"), mailbox("mei@other.example"));
    }

    #[test]
    fn texts_that_are_no_addresses_are_refused() {
        let long = format!("{}@shop.example", "x".repeat(65));
        let wrong = [
            "",
            "mei",
            "@shop.example",
            "mei@",
            "mei@localhost",
            "mei@127.0.0.1",
            "mei@[::1]",
            "a..b@shop.example",
            ".a@shop.example",
            "a b@shop.example",
            "\"a b\"@shop.example",
            "a@b@shop.example",
            "mei@shop.example\r\nBcc: all@shop.example",
            "mei\r\n@shop.example",
            "美@shop.example",
            "mei@-shop.example",
            "mei@shop_.example",
            long.as_str(),
        ];
        for wrong in wrong {
            assert_eq!(MailAddress::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn masked_address_shows_its_domain_only() {
        assert_eq!(masked("mei@shop.example"), "m•••@shop.example");
    }

    #[test]
    fn endpoint_is_an_https_address_of_the_public_internet() {
        for right in [
            "https://fcm.googleapis.com/fcm/send/abc:def",
            "https://updates.push.services.mozilla.com/wpush/v2/gAAAA",
            "https://web.push.apple.com/QGuQ",
            "https://93.184.216.34/x",
        ] {
            assert_eq!(PushEndpoint::parse(right).map(|endpoint| endpoint.0).as_deref(), Some(right));
        }
        let long = format!("https://push.example/{}", "x".repeat(MAX_ENDPOINT_BYTES));
        let wrong = "http://push.example/x https://localhost/x https://redis/x https://push.example:6379/x \
            https://user@push.example/x https://127.0.0.1/x https://0x7f.1/x https://10.0.0.1/x \
            https://169.254.169.254/latest/meta-data https://[::1]/x https://[::ffff:10.0.0.1]/x \
            https://push.example/x#y file:///etc/passwd push.example";
        for wrong in wrong.split(' ').chain(["", long.as_str()]) {
            assert_eq!(PushEndpoint::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn keys_have_their_lengths() {
        let p256dh = URL_SAFE_NO_PAD.encode([4; PUBLIC_KEY_BYTES]);
        let auth = URL_SAFE_NO_PAD.encode([1; AUTH_BYTES]);
        let keys = PushKeys::parse(&p256dh, &format!("{auth}==")).unwrap();
        assert_eq!((keys.p256dh_text(), keys.auth_text()), (p256dh.clone(), auth.clone()));
        assert_eq!(PushKeys::parse(&p256dh, "AAAA"), None);
        assert_eq!(PushKeys::parse(&URL_SAFE_NO_PAD.encode([2; 33]), &auth), None);
        assert_eq!(PushKeys::parse("+/+/", &auth), None);
    }
}
