//! The return of a delivered order: its owner asks with a reason, staff accept or refuse, the goods come back, and their
//! refund begins. An order has one return. [`decide`] is the whole rule of the steps before the goods are back.

use super::text::{required, tidy_lines};
use super::wire::wire_enum;
use super::{Money, OrderStatus, Parcel, ParcelLabel, ParcelState};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Characters of what the owner writes, and of what staff answer.
pub const MAX_RETURN_CHARS: usize = 500;

wire_enum! {
    /// How far the return of an order is.
    pub enum ReturnState {
        Asked = "asked",
        /// The owner may send the goods back.
        Accepted = "accepted",
        Refused = "refused",
        /// The owner no longer wants it, and may ask again.
        Withdrawn = "withdrawn",
        /// The goods are back, and their refund has begun.
        Received = "received",
    }
}

impl ReturnState {
    /// Whether somebody still has to do something about the return.
    pub fn is_open(self) -> bool {
        matches!(self, ReturnState::Asked | ReturnState::Accepted)
    }
}

wire_enum! {
    /// Why the owner wants to return the goods.
    pub enum ReturnReason {
        ChangedMind = "changed_mind",
        Damaged = "damaged",
        WrongGoods = "wrong_goods",
        NotAsDescribed = "not_as_described",
        Other = "other",
    }
}

/// How long owners may ask for a return.
#[derive(Debug, Clone)]
pub struct ReturnPolicy {
    /// Days after the day of delivery. 0: the shop takes no returns.
    pub days: u32,
    /// Days after which a parcel that was sent counts as delivered. 0: never.
    pub delivered_days: u32,
}

impl ReturnPolicy {
    /// The end of the last day on which a return may be asked for. `None` if the parcel is not delivered, or the shop
    /// takes no returns. A day ends at midnight in this zone.
    pub fn until(&self, parcel: Option<&Parcel>, zone: TimeZone) -> Option<Timestamp> {
        let delivered = parcel?.moves().last().filter(|step| step.state == ParcelState::Delivered)?;
        let days = i64::from(self.days);
        let last = (days > 0).then(|| delivered.at.to_zoned(zone.clone()).date().checked_add(days.days()))?;
        Some(last.ok()?.tomorrow().ok()?.to_zoned(zone).ok()?.timestamp())
    }
}

/// What the owner of an order asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnRequest {
    pub reason: ReturnReason,
    /// Needed for another reason than the named ones.
    pub note: String,
}

impl ReturnRequest {
    /// Reads what was entered. An error lists the fields that are wrong.
    pub fn check(reason: &str, note: &str) -> Result<ReturnRequest, Vec<(&'static str, &'static str)>> {
        let (reason, note) = (reason.parse::<ReturnReason>(), tidy_lines(note));
        let mut errors = Vec::new();
        if reason.is_err() {
            errors.push(("reason", "required"));
        }
        if note.is_empty() && reason == Ok(ReturnReason::Other) {
            errors.push(("note", "required"));
        } else if note.chars().count() > MAX_RETURN_CHARS {
            errors.push(("note", "too_long"));
        }
        match reason {
            Ok(reason) if errors.is_empty() => Ok(ReturnRequest { reason, note }),
            _ => Err(errors),
        }
    }
}

/// Reads the words with which staff accept or refuse a return. The error is the code of what is wrong with them.
pub fn check_answer(words: &str) -> Result<String, &'static str> {
    required(tidy_lines(words), MAX_RETURN_CHARS)
}

/// What staff answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnAnswer {
    /// Where to send the goods, or why not.
    pub words: String,
    pub by: String,
    pub at: Timestamp,
}

/// The arrival of the goods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnReceipt {
    pub by: String,
    pub at: Timestamp,
    /// Whether the units went back on sale.
    pub restocked: bool,
    pub refund: Money,
    /// `None` while the refund is under way.
    pub refunded_at: Option<Timestamp>,
}

/// The return of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoodsReturn {
    pub state: ReturnState,
    pub request: ReturnRequest,
    pub asked_at: Timestamp,
    pub answer: Option<ReturnAnswer>,
    /// Who carries the goods back.
    pub label: ParcelLabel,
    pub receipt: Option<ReturnReceipt>,
}

/// A step of a return before the goods are back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnStep {
    // By the owner of the order.
    Ask(ReturnRequest),
    Withdraw,
    /// Who carries the goods back.
    Send(ParcelLabel),
    // By staff, with their words.
    Accept(String),
    Refuse(String),
}

impl ReturnStep {
    /// Whether the return is so already, as after a request that is sent again.
    fn is_done(&self, known: &GoodsReturn) -> bool {
        let answered = |words: &String| known.answer.as_ref().is_some_and(|answer| answer.words == *words);
        match self {
            ReturnStep::Ask(request) => known.state == ReturnState::Asked && known.request == *request,
            ReturnStep::Withdraw => known.state == ReturnState::Withdrawn,
            ReturnStep::Send(label) => known.state == ReturnState::Accepted && known.label == *label,
            ReturnStep::Accept(words) => known.state == ReturnState::Accepted && answered(words),
            ReturnStep::Refuse(words) => known.state == ReturnState::Refused && answered(words),
        }
    }
}

wire_enum! {
    /// Why a step is refused.
    pub enum ReturnRefusal {
        /// The order does not exist, or is another shopper's.
        NoSuchOrder = "not_found",
        /// The order is not delivered, or the days are over.
        NotReturnable = "not_returnable",
        /// There is no such step from where the return is.
        WrongState = "wrong_state",
        /// The order is the member's of the staff who acts.
        OwnOrder = "own_order",
    }
}

/// Decides about a step: the state after it, or `None` if the return is so already. `until` is the end of the days in which
/// the owner may ask.
pub fn decide(
    (status, until, now): (OrderStatus, Option<Timestamp>, Timestamp),
    known: Option<&GoodsReturn>,
    step: &ReturnStep,
) -> Result<Option<ReturnState>, ReturnRefusal> {
    use ReturnState::{Accepted, Asked, Refused, Withdrawn};
    if known.is_some_and(|known| step.is_done(known)) {
        return Ok(None);
    }
    let is_paid = status == OrderStatus::Paid;
    match (known.map(|known| known.state), step) {
        (None | Some(Withdrawn), ReturnStep::Ask(_)) => match until {
            Some(until) if is_paid && now < until => Ok(Some(Asked)),
            _ => Err(ReturnRefusal::NotReturnable),
        },
        (Some(Asked), ReturnStep::Withdraw) if is_paid => Ok(Some(Withdrawn)),
        (Some(Asked), ReturnStep::Accept(_)) | (Some(Accepted), ReturnStep::Send(_)) if is_paid => Ok(Some(Accepted)),
        // The goods may never come, or be other ones.
        (Some(Asked | Accepted), ReturnStep::Refuse(_)) if is_paid => Ok(Some(Refused)),
        _ => Err(ReturnRefusal::WrongState),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parcel::ParcelStep;

    fn known(state: ReturnState) -> GoodsReturn {
        GoodsReturn {
            state,
            request: ReturnRequest { reason: ReturnReason::Damaged, note: String::new() },
            asked_at: Timestamp::UNIX_EPOCH,
            answer: Some(ReturnAnswer { words: "to us".into(), by: "sven".into(), at: Timestamp::UNIX_EPOCH }),
            label: ParcelLabel::default(),
            receipt: None,
        }
    }

    #[test]
    fn steps_lead_only_where_the_table_says() {
        use ReturnState::{Accepted, Asked, Received, Refused, Withdrawn};
        let label = ParcelLabel::check("sf", "SF1234567").unwrap();
        let ask = || ReturnStep::Ask(ReturnRequest { reason: ReturnReason::Other, note: "x".into() });
        let steps = [
            ask(),
            ReturnStep::Withdraw,
            ReturnStep::Send(label),
            ReturnStep::Accept("a".into()),
            ReturnStep::Refuse("b".into()),
        ];
        let (until, now) = (Some(Timestamp::from_second(9).unwrap()), Timestamp::UNIX_EPOCH);
        for (from, expected) in [
            (None, [Some(Asked), None, None, None, None]),
            (Some(Asked), [None, Some(Withdrawn), None, Some(Accepted), Some(Refused)]),
            (Some(Accepted), [None, None, Some(Accepted), None, Some(Refused)]),
            (Some(Withdrawn), [Some(Asked), None, None, None, None]),
            (Some(Refused), [None; 5]),
            (Some(Received), [None; 5]),
        ] {
            let known = from.map(known);
            for (step, expected) in steps.iter().zip(expected) {
                let told = decide((OrderStatus::Paid, until, now), known.as_ref(), step);
                let repeated = from == Some(Withdrawn) && *step == ReturnStep::Withdraw;
                assert_eq!(told.ok(), if repeated { Some(None) } else { expected.map(Some) }, "{from:?} {step:?}");
                let ended = decide((OrderStatus::RefundPending, until, now), known.as_ref(), step);
                assert!(!matches!(ended, Ok(Some(_))), "{from:?} {step:?}");
            }
        }
        let late = |now, until| decide((OrderStatus::Paid, until, now), None, &ask());
        assert_eq!(late(until.unwrap(), until), Err(ReturnRefusal::NotReturnable), "the days are over");
        assert_eq!(late(now, None), Err(ReturnRefusal::NotReturnable), "not delivered");
    }

    #[test]
    fn step_that_is_repeated_changes_nothing() {
        let is_done = |state, step: ReturnStep| {
            decide((OrderStatus::Paid, None, Timestamp::UNIX_EPOCH), Some(&known(state)), &step) == Ok(None)
        };
        let request = known(ReturnState::Asked).request;
        assert!(is_done(ReturnState::Asked, ReturnStep::Ask(request.clone())));
        assert!(!is_done(ReturnState::Asked, ReturnStep::Ask(ReturnRequest { note: "x".into(), ..request })));
        assert!(is_done(ReturnState::Accepted, ReturnStep::Accept("to us".into())));
        assert!(!is_done(ReturnState::Accepted, ReturnStep::Accept("to them".into())), "another member was first");
        assert!(is_done(ReturnState::Refused, ReturnStep::Refuse("to us".into())));
        assert!(is_done(ReturnState::Accepted, ReturnStep::Send(ParcelLabel::default())));
    }

    #[test]
    fn days_begin_after_the_day_of_delivery_in_the_zone_of_the_shop() {
        let step =
            |at: &str, state| ParcelStep { at: at.parse().unwrap(), state, label: ParcelLabel::default(), actor: None };
        let shipped = step("2026-11-19T10:00:00Z", ParcelState::Shipped);
        let parcel = Parcel { steps: vec![shipped.clone(), step("2026-11-20T23:30:00Z", ParcelState::Delivered)] };
        let until = |days, zone: &str| {
            let until = ReturnPolicy { days, delivered_days: 0 }.until(Some(&parcel), TimeZone::get(zone).unwrap());
            until.map(|until| until.to_string())
        };
        assert_eq!(until(7, "UTC").unwrap(), "2026-11-28T00:00:00Z");
        assert_eq!(until(7, "Asia/Shanghai").unwrap(), "2026-11-28T16:00:00Z", "delivered on the 21st there");
        assert_eq!(until(0, "UTC"), None);
        let policy = |parcel: Option<&Parcel>| ReturnPolicy { days: 7, delivered_days: 0 }.until(parcel, TimeZone::UTC);
        assert_eq!(policy(None), None);
        assert_eq!(policy(Some(&Parcel { steps: vec![shipped.clone()] })), None);
        let corrected = step("2026-11-25T10:00:00Z", ParcelState::Delivered);
        let steps = [parcel.steps.clone(), vec![corrected]].concat();
        assert_eq!(policy(Some(&Parcel { steps })), policy(Some(&parcel)), "another number, same day");
        let back = step("2026-11-25T10:00:00Z", ParcelState::Returned);
        assert_eq!(policy(Some(&Parcel { steps: [parcel.steps.clone(), vec![back]].concat() })), None);
    }

    #[test]
    fn reasons_and_answers_are_checked() {
        let checked = ReturnRequest::check("damaged", "  the screen \r\n is  broken ").unwrap();
        assert_eq!((checked.reason, checked.note.as_str()), (ReturnReason::Damaged, "the screen\nis broken"));
        assert_eq!(ReturnRequest::check("", "x").unwrap_err(), [("reason", "required")]);
        assert_eq!(ReturnRequest::check("other", " ").unwrap_err(), [("note", "required")]);
        let long = "字".repeat(MAX_RETURN_CHARS + 1);
        assert_eq!(ReturnRequest::check("eaten", &long).unwrap_err(), [("reason", "required"), ("note", "too_long")]);
        assert_eq!((check_answer(" \n"), check_answer(&long)), (Err("required"), Err("too_long")));
    }
}
