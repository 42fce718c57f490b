//! Holds of orders: a member of the staff stops the delivery of an order until it is released, refunded or cancelled.
//! The owner reads the reason and may answer with an appeal.
//!
//! A hold lasts until staff end it, or until the order is cancelled or expires. It does not change the order's status:
//! an unpaid order can still be paid or cancelled, and it expires as usual.

use jiff::Timestamp;

use super::address::tidy;
use super::wire::wire_enum;

/// Characters of an appeal.
pub const MAX_APPEAL_CHARS: usize = 1_000;
/// Characters of what the owner of an order reads about a hold.
pub const MAX_HOLD_REASON_CHARS: usize = 300;

wire_enum! {
    /// How staff ended a hold.
    pub enum HoldOutcome {
        Released = "released",
        /// The money goes back to the payer.
        Refunded = "refunded",
        /// The order was not paid.
        Cancelled = "cancelled",
    }
}

wire_enum! {
    /// What staff answered to an appeal.
    pub enum AppealAnswer {
        Released = "released",
        Refunded = "refunded",
        Cancelled = "cancelled",
        /// The hold stays.
        Upheld = "upheld",
    }
}

/// A hold with its appeals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderHold {
    /// A UUID of version 7.
    pub id: String,
    /// Shown verbatim to the owner of the order.
    pub reason: String,
    /// The member of the staff who began the hold.
    pub held_by: String,
    pub held_at: Timestamp,
    /// `None` while the hold lasts.
    pub end: Option<HoldEnd>,
    /// The appeals, oldest first.
    pub appeals: Vec<Appeal>,
}

/// How a hold ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldEnd {
    pub outcome: HoldOutcome,
    pub by: String,
    pub at: Timestamp,
    /// Shown verbatim to the owner of the order.
    pub reason: Option<String>,
}

/// What the owner of a held order answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appeal {
    pub text: String,
    pub sent_at: Timestamp,
    /// `None` until staff answer.
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub answer: AppealAnswer,
    pub by: String,
    pub at: Timestamp,
    pub reason: Option<String>,
}

impl OrderHold {
    /// The appeal that waits for an answer.
    pub fn open_appeal(&self) -> Option<&Appeal> {
        self.appeals.last().filter(|appeal| appeal.answer.is_none() && self.end.is_none())
    }

    /// Whether the owner may appeal now.
    pub fn takes_appeal(&self) -> bool {
        self.end.is_none() && self.open_appeal().is_none()
    }
}

/// The text of an appeal, tidied line by line; or the code of what is wrong with it.
pub fn check_appeal(text: &str) -> Result<String, &'static str> {
    let lines: Vec<String> = text.lines().map(tidy).collect();
    check(lines.join("\n").trim(), MAX_APPEAL_CHARS)
}

/// The reason of a hold, its release, or the answer to an appeal, tidied; or the code of what is wrong with it.
pub fn check_hold_reason(text: &str) -> Result<String, &'static str> {
    check(&tidy(text), MAX_HOLD_REASON_CHARS)
}

fn check(text: &str, max_chars: usize) -> Result<String, &'static str> {
    match text.chars().count() {
        0 => Err("required"),
        count if count > max_chars => Err("too_long"),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appeals_and_reasons_are_tidied_and_bounded() {
        assert_eq!(check_appeal("  it is  me\r\n\r\nand my sister \n"), Ok("it is me\n\nand my sister".to_owned()));
        assert_eq!(check_appeal(" \n "), Err("required"));
        assert_eq!(check_appeal(&"字".repeat(MAX_APPEAL_CHARS)).map(|text| text.len()), Ok(3 * MAX_APPEAL_CHARS));
        assert_eq!(check_appeal(&"字".repeat(MAX_APPEAL_CHARS + 1)), Err("too_long"));
        assert_eq!(check_hold_reason(" many\norders "), Ok("many orders".to_owned()));
        assert_eq!(check_hold_reason("\u{202e}"), Err("required"));
        assert_eq!(check_hold_reason(&"x".repeat(MAX_HOLD_REASON_CHARS + 1)), Err("too_long"));
    }

    #[test]
    fn hold_takes_one_appeal_at_a_time_while_it_lasts() {
        let at = Timestamp::UNIX_EPOCH;
        let appeal = Appeal { text: "it is me".to_owned(), sent_at: at, answer: None };
        let answer = Answer { answer: AppealAnswer::Upheld, by: "sven".to_owned(), at, reason: None };
        let (id, reason, held_by) = ("1".to_owned(), "many orders".to_owned(), "sven".to_owned());
        let mut hold = OrderHold { id, reason, held_by, held_at: at, end: None, appeals: Vec::new() };
        assert!(hold.takes_appeal());
        hold.appeals.push(appeal);
        assert!(!hold.takes_appeal() && hold.open_appeal().is_some());
        hold.appeals[0].answer = Some(answer);
        assert!(hold.takes_appeal() && hold.open_appeal().is_none());
        hold.end = Some(HoldEnd { outcome: HoldOutcome::Released, by: "sven".to_owned(), at, reason: None });
        assert!(!hold.takes_appeal());
    }
}
