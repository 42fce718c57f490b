//! The subject and the text of a message, in the language of its reader.

use jiff::Timestamp;

use accounts::{ContactLink, MailLink, MailLinks};
use domain::mail::masked;
use domain::{MailKind, ParcelLabel, ShopSettings, UserId};
use store::Mail;
use words::{MailText, fill, text};

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The name that it comes from.
    pub sender: String,
    pub subject: String,
    pub text: String,
}

/// Whether the link or the code of a message is in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkView {
    /// Shows the link, for the reader of the mailbox.
    Shown,
    /// Hides the link and masks the address, for staff: the link of a recovery opens the account.
    Hidden,
}

/// Writes messages.
#[derive(Clone)]
pub struct Letters {
    pub links: MailLinks,
    /// The origin that shoppers see.
    pub public_url: String,
}

impl Letters {
    pub fn letter(&self, mail: &Mail, view: LinkView, shop: &ShopSettings) -> Letter {
        let t = &text(mail.locale).mail;
        let (subject, about) = match is_assumed(mail) {
            true => (t.assumed_subject, t.assumed),
            false => words(t, mail.kind),
        };
        let hello = mail.username.as_ref().map_or(t.hello_visitor.to_owned(), |name| fill(t.hello, name));
        let mut parts = vec![hello, self.about(mail, about, view, shop)];
        if mail.kind.has_secret() {
            parts.push(match view {
                LinkView::Shown => self.secret(mail),
                LinkView::Hidden => t.link_hidden.to_owned(),
            });
            let until = if mail.kind == MailKind::SignInCode { t.code_until } else { t.link_until };
            parts.push(fill(until, moment(mail.expires_at, shop)));
        }
        parts.extend(advice(t, mail.kind).map(str::to_owned));
        let page = if mail.user_id.is_some() { "account" } else { "" };
        let name = shop.name(mail.locale);
        parts.push(format!("{name}\n{}/{}/{page}", self.public_url, mail.locale));
        let sender = shop.sender(mail.locale).to_owned();
        Letter { sender, subject: fill(subject, name), text: parts.join("\n\n") + "\n" }
    }

    fn about(&self, mail: &Mail, about: &str, view: LinkView, shop: &ShopSettings) -> String {
        let fact = |name: &str| fact(mail, name).to_owned();
        let time = fill(text(mail.locale).mail.at, moment(mail.created_at, shop));
        match mail.kind {
            MailKind::NewDevice => {
                let agent = match fact("agent") {
                    agent if agent.is_empty() => text(mail.locale).member.unknown_device.to_owned(),
                    agent => agent,
                };
                format!("{about}\n\n{agent} · {}\n{time}", fact("address"))
            }
            MailKind::DrawWon => {
                let pay_by = fill(text(mail.locale).mail.pay_by, named(mail, shop, "pay_by"));
                format!("{}\n\n{pay_by}\n{}", fill(about, goods(mail)), self.order_link(mail))
            }
            MailKind::DrawResult | MailKind::DrawCalledOff | MailKind::DrawDelayed => {
                let page = format!("{}/{}/sales/{}/entry", self.public_url, mail.locale, fact("sale"));
                let reason = match fact("reason") {
                    reason if reason.is_empty() => reason,
                    reason => fill(text(mail.locale).mail.reason, reason) + "\n",
                };
                let about = fill(&fill(about, goods(mail)), named(mail, shop, "at"));
                format!("{about}\n{reason}\n{page}")
            }
            MailKind::UnitOffered | MailKind::PaymentEnds => {
                format!("{}\n\n{}", fill(about, named(mail, shop, "pay_by")), self.order_link(mail))
            }
            MailKind::SaleStarts | MailKind::TurnCalled => {
                let line = if mail.kind == MailKind::TurnCalled { "/line" } else { "" };
                let page = format!("{}/{}/sales/{}{line}", self.public_url, mail.locale, fact("sale"));
                format!(
                    "{}\n{}\n\n{page}",
                    fill(about, goods(mail)),
                    fill(text(mail.locale).mail.until, named(mail, shop, "at"))
                )
            }
            MailKind::QuestionAnswered => {
                let page = format!("{}/{}/questions", self.public_url, mail.locale);
                format!("{}\n\n“{}”\n\n{page}", fill(about, goods(mail)), fact("answer"))
            }
            MailKind::EndpointDisabled => {
                let page = format!("{}/admin/webhooks/{}?lang={}", self.public_url, fact("endpoint"), mail.locale);
                format!("{}\n\n{page}", fill(about, fact("url")))
            }
            kind if kind.is_hold() || kind.is_return() => {
                let words = fact(if kind.is_hold() { "reason" } else { "words" });
                format!("{}\n\n{}", fill(about, words), self.order_line(mail))
            }
            kind if kind.is_parcel() => self.parcel(mail, about),
            kind if kind.has_secret() && view == LinkView::Hidden => fill(about, masked(&mail.recipient)),
            kind if kind.has_secret() => fill(about, &mail.recipient),
            _ => format!("{about}\n{time}"),
        }
    }

    /// Where the parcel is, who carries it under which number with the carrier's page, and the link to the order.
    fn parcel(&self, mail: &Mail, about: &str) -> String {
        let t = &text(mail.locale).mail;
        let fact = |name: &str| mail.facts[name].as_str().map(str::to_owned);
        let label = ParcelLabel { carrier: fact("carrier"), number: fact("number") };
        let mut parts = vec![about.to_owned()];
        if is_assumed(mail) {
            parts[0] += &format!("\n{}/{}/about#contact", self.public_url, mail.locale);
        }
        if let Some(carrier) = label.carrier_name(mail.locale).filter(|_| mail.kind == MailKind::ParcelShipped) {
            let carried = fill(&fill(t.shipped_by, carrier), label.number.as_deref().unwrap_or_default());
            parts.push(
                std::iter::once(carried.trim().to_owned()).chain(label.tracking_url()).collect::<Vec<_>>().join("\n"),
            );
        }
        parts.push(self.order_line(mail));
        parts.join("\n\n")
    }

    /// The order's number and its link.
    fn order_line(&self, mail: &Mail) -> String {
        let number = mail.facts["order_number"].as_str().map(|number| format!(" {number}")).unwrap_or_default();
        fill(&fill(text(mail.locale).mail.order_line, number), self.order_link(mail))
    }

    /// The order's page, which asks for the log-in.
    fn order_link(&self, mail: &Mail) -> String {
        format!("{}/{}/orders/{}/{}", self.public_url, mail.locale, fact(mail, "sale"), fact(mail, "order"))
    }

    /// The link of the message, or its code.
    fn secret(&self, mail: &Mail) -> String {
        let (page, token) = match mail.user_id {
            Some(user) if mail.kind == MailKind::SignInCode => return self.links.sign_in_code(&numbered(mail, user)),
            Some(user) if mail.kind == MailKind::Verification => {
                ("mail", self.links.verification(&numbered(mail, user), &mail.recipient))
            }
            Some(user) => ("recovery/password", self.links.recovery(&numbered(mail, user))),
            None => {
                let link = ContactLink { challenge: fact(mail, "challenge"), expires_at: mail.expires_at };
                ("register/contact", self.links.registration(&link, &mail.recipient))
            }
        };
        format!("{}/{}/{page}?token={token}", self.public_url, mail.locale)
    }
}

fn numbered(mail: &Mail, user: UserId) -> MailLink {
    let number = mail.facts["number"].as_i64().unwrap_or_default();
    MailLink { user, number, expires_at: mail.expires_at }
}

/// Whether the parcel only counts as delivered, because it was sent so many days ago.
pub(crate) fn is_assumed(mail: &Mail) -> bool {
    mail.facts["assumed"] == true
}

/// What the message says under this name; empty if it says nothing.
pub(crate) fn fact<'a>(mail: &'a Mail, name: &str) -> &'a str {
    mail.facts[name].as_str().unwrap_or_default()
}

/// The name of the goods that the message is about.
pub(crate) fn goods(mail: &Mail) -> &str {
    mail.facts["goods"][mail.locale.as_str()].as_str().unwrap_or_default()
}

/// A time that the message names.
fn named(mail: &Mail, shop: &ShopSettings, fact: &str) -> String {
    let at = mail.facts[fact].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    at.map(|at| moment(at, shop)).unwrap_or_default()
}

/// A time in the shop's zone, which is named by its distance from UTC: readers may be elsewhere.
fn moment(at: Timestamp, shop: &ShopSettings) -> String {
    let zoned = at.to_zoned(shop.zone());
    let minutes = zoned.offset().seconds() / 60;
    let (sign, hours, rest) = (if minutes < 0 { '−' } else { '+' }, minutes.abs() / 60, minutes.abs() % 60);
    let distance = match (hours, rest) {
        (0, 0) => String::new(),
        (hours, 0) => format!("{sign}{hours}"),
        (hours, rest) => format!("{sign}{hours}:{rest:02}"),
    };
    format!("{} UTC{distance}", zoned.strftime("%Y-%m-%d %H:%M"))
}

/// The subject, and what the message is about.
fn words(t: &MailText, kind: MailKind) -> (&'static str, &'static str) {
    match kind {
        MailKind::Verification => (t.verification_subject, t.verification),
        MailKind::AddressInUse => (t.in_use_subject, t.in_use),
        MailKind::Registration => (t.registration_subject, t.registration),
        MailKind::Recovery => (t.recovery_subject, t.recovery),
        MailKind::SignInCode => (t.sign_in_subject, t.sign_in),
        MailKind::AddressChanged => (t.address_subject, t.address),
        MailKind::PasswordChanged => (t.password_subject, t.password),
        MailKind::NewDevice => (t.device_subject, t.device),
        MailKind::SecondFactorOn => (t.factor_on_subject, t.factor_on),
        MailKind::SecondFactorReplaced => (t.factor_replaced_subject, t.factor_replaced),
        MailKind::SecondFactorOff => (t.factor_off_subject, t.factor_off),
        MailKind::RecoveryCodeUsed => (t.code_subject, t.code),
        MailKind::DrawWon => (t.draw_won_subject, t.draw_won),
        MailKind::DrawResult => (t.draw_result_subject, t.draw_result),
        MailKind::DrawCalledOff => (t.draw_called_off_subject, t.draw_called_off),
        MailKind::DrawDelayed => (t.draw_delayed_subject, t.draw_delayed),
        MailKind::UnitOffered => (t.offer_subject, t.offer),
        MailKind::OrderHeld => (t.held_subject, t.held),
        MailKind::HoldReleased => (t.released_subject, t.released),
        MailKind::HoldUpheld => (t.upheld_subject, t.upheld),
        MailKind::HoldRefunded => (t.hold_refund_subject, t.hold_refund),
        MailKind::HoldCancelled => (t.hold_cancel_subject, t.hold_cancel),
        MailKind::SaleStarts => (t.sale_starts_subject, t.sale_starts),
        MailKind::TurnCalled => (t.turn_called_subject, t.turn_called),
        MailKind::PaymentEnds => (t.payment_ends_subject, t.payment_ends),
        MailKind::QuestionAnswered => (t.question_subject, t.question),
        MailKind::ParcelShipped => (t.shipped_subject, t.shipped),
        MailKind::ParcelDelivered => (t.delivered_subject, t.delivered),
        MailKind::ParcelLost => (t.lost_subject, t.lost),
        MailKind::ParcelReturned => (t.returned_subject, t.returned),
        MailKind::ReturnAccepted => (t.return_accepted_subject, t.return_accepted),
        MailKind::ReturnRefused => (t.return_refused_subject, t.return_refused),
        MailKind::ReturnRefunded => (t.return_refunded_subject, t.return_refunded),
        MailKind::EndpointDisabled => (t.endpoint_subject, t.endpoint),
    }
}

/// What to do if the reader did not expect the message.
fn advice(t: &MailText, kind: MailKind) -> Option<&'static str> {
    Some(match kind {
        MailKind::Verification | MailKind::AddressInUse | MailKind::Registration => t.ignore,
        MailKind::Recovery => t.ignore_recovery,
        MailKind::SignInCode => t.ignore_sign_in,
        MailKind::DrawWon | MailKind::SaleStarts | MailKind::TurnCalled | MailKind::PaymentEnds => return None,
        MailKind::DrawResult | MailKind::DrawCalledOff | MailKind::DrawDelayed => return None,
        MailKind::QuestionAnswered | MailKind::EndpointDisabled => return None,
        MailKind::UnitOffered => t.offer_advice,
        MailKind::OrderHeld => t.held_advice,
        kind if kind.is_hold() || kind.is_parcel() || kind.is_return() => return None,
        _ => t.react,
    })
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;
    use base::signing::ShopSecret;
    use domain::{Locale, MailState};

    fn letters() -> Letters {
        let links = MailLinks::new(&ShopSecret::from(SecretString::from("s".repeat(64))));
        Letters { links, public_url: "https://shop.example".to_owned() }
    }

    fn mail(kind: MailKind, locale: Locale) -> Mail {
        Mail {
            id: "0198c0de-0000-7000-8000-000000000001".to_owned(),
            user_id: Some(UserId(uuid::Uuid::from_u128(1))),
            username: Some("mei".to_owned()),
            recipient: "mei@shop.example".to_owned(),
            locale,
            kind,
            facts: json!({"number": 3, "agent": "Firefox · Linux", "address": "192.0.2.7"}),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH + kind.lifetime(),
            state: MailState::Waiting,
            attempts: 0,
            error: None,
        }
    }

    #[test]
    fn every_kind_is_written_in_both_languages_without_places_left() {
        for kind in MailKind::ALL {
            let [zh, en] = Locale::ALL
                .map(|locale| letters().letter(&mail(kind, locale), LinkView::Shown, &ShopSettings::default()));
            assert_ne!((&zh.subject, &zh.text), (&en.subject, &en.text));
            for letter in [zh, en] {
                assert!(letter.text.contains("mei") && !letter.text.contains("{}"), "{}", letter.text);
                assert!(!letter.subject.contains("{}") && !letter.subject.contains('\n'), "{}", letter.subject);
            }
        }
    }

    #[test]
    fn link_is_the_same_each_time_and_can_be_hidden() {
        let mail = mail(MailKind::Recovery, Locale::En);
        let shown = letters().letter(&mail, LinkView::Shown, &ShopSettings::default());
        assert_eq!(shown, letters().letter(&mail, LinkView::Shown, &ShopSettings::default()));
        assert!(shown.text.contains("https://shop.example/en/recovery/password?token="), "{}", shown.text);
        assert!(!letters().letter(&mail, LinkView::Hidden, &ShopSettings::default()).text.contains("token"));
        let mail = self::mail(MailKind::Verification, Locale::En);
        let hidden = letters().letter(&mail, LinkView::Hidden, &ShopSettings::default()).text;
        assert!(hidden.contains("m•••@shop.example") && !hidden.contains("mei@"), "{hidden}");
    }

    #[test]
    fn message_of_a_registration_has_no_word_of_the_visitor_and_no_account() {
        let mut mail = mail(MailKind::Registration, Locale::En);
        (mail.user_id, mail.username, mail.facts) = (None, None, json!({"challenge": "7"}));
        let letter = letters().letter(&mail, LinkView::Shown, &ShopSettings::default());
        assert!(
            letter.text.starts_with("Hello,\n") && letter.text.ends_with("https://shop.example/en/\n"),
            "{letter:?}"
        );
        assert!(letter.text.contains("https://shop.example/en/register/contact?token="), "{letter:?}");
        let hidden = letters().letter(&mail, LinkView::Hidden, &ShopSettings::default()).text;
        assert!(!hidden.contains("token=") && hidden.contains("m•••@shop.example"), "{hidden}");
    }

    #[test]
    fn winner_reads_what_was_won_until_when_and_where_to_pay() {
        let mut mail = mail(MailKind::DrawWon, Locale::Zh);
        mail.facts = json!({"goods": {"zh": "手机", "en": "Phone"}, "sale": "7", "order": "o-1", "pay_by": "2026-11-22T08:00:00Z"});
        let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
        let order =
            "「手机」已为你保留。\n\n请在 2026-11-22 08:00 UTC 前付款：\nhttps://shop.example/zh/orders/7/o-1\n";
        assert!(text.contains(order), "{text}");
        assert!(!text.contains("修改密码"), "nothing happened to the account");
    }

    #[test]
    fn notices_lead_to_the_page_that_they_are_about() {
        let facts = json!({"goods": {"zh": "手机", "en": "Phone"}, "sale": "7", "order": "o-1",
            "pay_by": "2026-11-22T08:00:00Z", "at": "2026-11-22T09:00:00Z"});
        for (kind, page, time) in [
            (MailKind::UnitOffered, "/en/orders/7/o-1\n", "08:00 UTC"),
            (MailKind::PaymentEnds, "/en/orders/7/o-1\n", "08:00 UTC"),
            (MailKind::SaleStarts, "/en/sales/7\n", "09:00 UTC"),
            (MailKind::TurnCalled, "/en/sales/7/line\n", "09:00 UTC"),
        ] {
            let mut mail = mail(kind, Locale::En);
            mail.facts = facts.clone();
            let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
            assert!(text.contains(&format!("https://shop.example{page}")) && text.contains(time), "{kind}: {text}");
        }
    }

    #[test]
    fn owner_of_a_held_order_reads_why_and_where_to_answer() {
        let mut mail = mail(MailKind::OrderHeld, Locale::En);
        mail.facts = json!({"sale": "7", "order": "o-1", "reason": "one address, many accounts"});
        let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
        assert!(text.contains("The reason: “one address, many accounts”"), "{text}");
        assert!(text.contains("Order: https://shop.example/en/orders/7/o-1\n") && text.contains("answer every appeal"));
    }

    #[test]
    fn buyer_reads_who_carries_the_parcel_and_where_it_is_shown() {
        let mut mail = mail(MailKind::ParcelShipped, Locale::Zh);
        mail.facts = json!({"sale": "7", "order": "o-1", "order_number": "20261122-000137", "carrier": "sf",
            "number": "SF1234567"});
        let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
        let carried = "顺丰速运 SF1234567\nhttps://www.sf-express.com/chn/sc/waybill/waybill-detail/SF1234567\n\n";
        assert!(
            text.contains(carried) && text.contains("订单 20261122-000137：https://shop.example/zh/orders/7/o-1\n"),
            "{text}"
        );
        assert!(!text.contains("修改密码"), "nothing happened to the account");
        mail.facts = json!({"sale": "7", "order": "o-1", "carrier": null, "number": null});
        let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
        assert!(text.contains("你的订单已发货。\n\n订单："), "{text}");
    }

    #[test]
    fn owner_reads_where_to_send_the_goods_of_a_return() {
        let mut mail = mail(MailKind::ReturnAccepted, Locale::En);
        mail.facts = json!({"sale": "7", "order": "o-1", "words": "Shop\n1 Main St"});
        let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
        let expected =
            "carrier and the tracking number on the order page.\n\nOrder: https://shop.example/en/orders/7/o-1\n";
        assert!(text.contains(expected) && text.contains("“Shop\n1 Main St”"), "{text}");
    }

    #[test]
    fn asker_reads_the_answer_as_it_is_and_where_the_question_is() {
        let mut mail = mail(MailKind::QuestionAnswered, Locale::Zh);
        mail.facts = json!({"goods": {"zh": "手机", "en": "Phone"}, "sale": "7", "answer": "防水。\n{} 深两米。"});
        let text = letters().letter(&mail, LinkView::Shown, &ShopSettings::default()).text;
        let expected = "你关于「手机」的提问已有答复：\n\n“防水。\n{} 深两米。”\n\nhttps://shop.example/zh/questions\n";
        assert!(text.contains(expected) && !text.contains("修改密码"), "{text}");
    }

    #[test]
    fn new_device_is_described() {
        let letter =
            letters().letter(&mail(MailKind::NewDevice, Locale::En), LinkView::Shown, &ShopSettings::default());
        assert!(letter.text.contains("Firefox · Linux · 192.0.2.7\n1970-01-01 00:00 UTC"), "{}", letter.text);
    }

    #[test]
    fn times_are_the_ones_of_the_shop() {
        let at: Timestamp = "2026-11-28T17:37:00Z".parse().unwrap();
        let of = |zone: &str| moment(at, &ShopSettings { time_zone: zone.into(), ..ShopSettings::default() });
        assert_eq!(of("UTC"), "2026-11-28 17:37 UTC");
        assert_eq!(of("Asia/Shanghai"), "2026-11-29 01:37 UTC+8");
        assert_eq!(of("America/St_Johns"), "2026-11-28 14:07 UTC−3:30");
    }
}
