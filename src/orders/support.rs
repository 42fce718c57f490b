//! What staff do with the orders of shoppers: search, cancel, read the recipient. Refunds are in
//! `payments/staff_refunds.rs`.

use super::Orders;
use boxed::boxed;
use domain::text::tidy;
use domain::{Address, Order, OrderId, Page};
use store::{AuditReason, FoundOrder, OrderSearch, StoreResult};

/// Characters of the reason, which the audit log keeps.
const MAX_REASON_CHARS: usize = 500;
/// Characters of the message to the order's owner.
const MAX_MESSAGE_CHARS: usize = 300;

/// Why staff end an order, and what its owner reads about it. Both texts are within their bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaffActionReason {
    note: String,
    message: String,
}

impl StaffActionReason {
    /// Tidies and checks both texts. Every order that staff end has a reason; the message may be empty. An error lists
    /// each field that cannot be used with its code.
    pub fn check(reason: &str, message: &str) -> Result<StaffActionReason, Vec<(&'static str, &'static str)>> {
        let (note, message) = (tidy(reason), tidy(message));
        let mut errors = Vec::new();
        if note.is_empty() {
            errors.push(("reason", "required"));
        }
        for (field, text, max) in [("reason", &note, MAX_REASON_CHARS), ("message", &message, MAX_MESSAGE_CHARS)] {
            if text.chars().count() > max {
                errors.push((field, "too_long"));
            }
        }
        if errors.is_empty() { Ok(StaffActionReason { note, message }) } else { Err(errors) }
    }

    /// Requires a message if one is needed: the owner of a held order must be able to read why it ends.
    pub fn with_message_if(self, is_needed: bool) -> Result<StaffActionReason, Vec<(&'static str, &'static str)>> {
        if is_needed && self.message.is_empty() { Err(vec![("message", "required")]) } else { Ok(self) }
    }

    /// The reason in the form in which the store records it, under the name of a member of the staff.
    pub fn by<'a>(&'a self, actor: &'a str) -> AuditReason<'a> {
        let message = Some(self.message.as_str()).filter(|text| !text.is_empty());
        AuditReason { actor, note: &self.note, message }
    }
}

/// The outcome of an action of staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffActionOutcome {
    Done,
    /// The order's status does not allow the action.
    WrongStatus,
    /// The order belongs to the member of the staff who acts. Another member has to act.
    OwnOrder,
}

/// Tidies the reason for which staff read a recipient. The error is the code of what is wrong with it.
pub fn check_reveal_reason(text: &str) -> Result<String, &'static str> {
    match tidy(text) {
        text if text.is_empty() => Err("required"),
        text if text.chars().count() > MAX_REASON_CHARS => Err("too_long"),
        text => Ok(text),
    }
}

#[boxed]
impl Orders {
    /// The recipient of an order in full, for a reason. The access is logged before the recipient is returned. If it
    /// cannot be logged, nothing is returned. `None` while the order has no address.
    pub async fn reveal_recipient(&self, actor: &str, order: &Order, reason: &str) -> StoreResult<Option<Address>> {
        let Some(address) = &order.address else { return Ok(None) };
        self.store.audit_log().log_recipient_read(actor, order, reason, self.clock.now()).await?;
        Ok(Some((**address).clone()))
    }

    /// One page of the orders that match, newest first. A search that is `None` matches nothing.
    pub async fn search(&self, search: Option<&OrderSearch>, limit: usize) -> StoreResult<Page<FoundOrder, OrderId>> {
        let found = match search {
            Some(search) => self.store.orders().find(search, limit as i64 + 1).await?,
            None => Vec::new(),
        };
        Ok(Page::cut(found, limit, |found| found.order.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staff_action_needs_a_reason_within_its_bounds() {
        let checked = StaffActionReason::check(" too  late ", "").unwrap();
        assert_eq!(checked.by("mei").note, "too late");
        assert_eq!(checked.by("mei").message, None);
        assert_eq!(StaffActionReason::check(" ", "x").unwrap_err(), [("reason", "required")]);
        assert_eq!(check_reveal_reason(" parcel  came back "), Ok("parcel came back".to_owned()));
        assert_eq!(check_reveal_reason(" \n"), Err("required"));
        assert_eq!(check_reveal_reason(&"x".repeat(MAX_REASON_CHARS + 1)), Err("too_long"));
        let (long, longer) = ("x".repeat(MAX_MESSAGE_CHARS + 1), "x".repeat(MAX_REASON_CHARS + 1));
        let errors = StaffActionReason::check(&longer, &long).unwrap_err();
        assert_eq!(errors, [("reason", "too_long"), ("message", "too_long")]);
    }
}
