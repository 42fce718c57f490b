//! What happened to a held order, for its owner and for staff.

use jiff::Timestamp;

use domain::{AppealAnswer, HoldOutcome, OrderHold};
use words::ReviewText;

/// One event: a hold, an appeal, or an answer.
#[derive(Debug)]
pub struct ReviewEvent<'a> {
    pub at: Timestamp,
    pub what: &'static str,
    pub text: Option<&'a str>,
    /// The member of the staff, whose name owners do not see. `None` for the owner.
    pub by: Option<&'a str>,
}

/// The events of these holds, oldest first.
pub fn review_events<'a>(t: &ReviewText, holds: &'a [OrderHold]) -> Vec<ReviewEvent<'a>> {
    let mut events = Vec::new();
    for hold in holds {
        let (text, by) = (Some(hold.reason.as_str()), Some(hold.held_by.as_str()));
        events.push(ReviewEvent { at: hold.held_at, what: t.event_held, text, by });
        for appeal in &hold.appeals {
            let text = Some(appeal.text.as_str()).filter(|text| !text.is_empty());
            events.push(ReviewEvent { at: appeal.sent_at, what: t.event_appeal, text, by: None });
            // Other answers end the hold, which is a separate event.
            if let Some(given) = appeal.answer.as_ref().filter(|given| given.answer == AppealAnswer::Upheld) {
                let (text, by) = (given.reason.as_deref(), Some(given.by.as_str()));
                events.push(ReviewEvent { at: given.at, what: t.event_upheld, text, by });
            }
        }
        if let Some(end) = &hold.end {
            let what = match end.outcome {
                HoldOutcome::Released => t.event_released,
                HoldOutcome::Refunded => t.event_refunded,
                HoldOutcome::Cancelled => t.event_cancelled,
            };
            events.push(ReviewEvent { at: end.at, what, text: end.reason.as_deref(), by: Some(&end.by) });
        }
    }
    events
}
