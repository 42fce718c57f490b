//! What WeChat Pay and Alipay write in the same way: numbers of orders and refunds, amounts in yuan, times of China.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use uuid::Uuid;

use super::provider::Billing;
use domain::{Currency, Money};

/// The time zone of both providers.
const CHINA: Offset = Offset::constant(8);

/// The shop's id of a payment or refund as a number at the provider, which takes no hyphens.
pub(super) fn number(id: Uuid) -> String {
    id.simple().to_string()
}

/// The shop's id in a number; a number that the shop did not make as it is.
pub(super) fn id_in(number: &str) -> String {
    Uuid::try_parse(number).map_or_else(|_| number.to_owned(), |id| id.to_string())
}

/// Whether it is an amount that can be paid. Both take yuan only, to the fen.
pub(super) fn is_yuan(amount: Money) -> bool {
    amount.currency == Currency::CNY && amount.amount >= 1
}

/// A moment as the providers write it.
pub(super) fn in_china(at: Timestamp, format: &str) -> String {
    CHINA.to_datetime(at).strftime(format).to_string()
}

/// A moment as bills of both write it, such as `2026-11-28 23:59:59`.
pub(super) fn from_china(text: &str) -> Option<Timestamp> {
    CHINA.to_timestamp(DateTime::strptime("%Y-%m-%d %H:%M:%S", text).ok()?).ok()
}

/// Bills of both are there at ten in the morning, as their documents say.
pub(super) const BILLING: Billing = Billing { zone: CHINA, ready_after: Duration::from_secs(10 * 3600 + 1800) };

/// An amount of a bill in the major unit. Fees have more digits than the minor unit at times, which are zeros.
pub(super) fn bill_amount(text: &str, currency: Currency) -> Option<Money> {
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    let amount = Money::from_decimal(text, currency)?;
    Some(if is_negative { Money::new(-amount.amount, currency) } else { amount })
}

/// The beginning of a text, in whole characters.
pub(super) fn shortened(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_the_way_through_numbers() {
        let id = Uuid::now_v7();
        assert_eq!((number(id).len(), id_in(&number(id))), (32, id.to_string()));
        assert_eq!(id_in("by-hand-1"), "by-hand-1");
    }

    #[test]
    fn moments_are_told_in_the_time_of_china() {
        let at = Timestamp::from_second(1_795_881_599).unwrap();
        assert_eq!(in_china(at, "%Y-%m-%d %H:%M:%S"), "2026-11-28 23:59:59");
        assert_eq!(from_china("2026-11-28 23:59:59"), Some(at));
    }

    #[test]
    fn amounts_of_bills_have_signs_and_zeros() {
        let read = |text| bill_amount(text, Currency::CNY).map(|amount| amount.amount);
        assert_eq!(
            ["0.01200", "-0.12", "12", "0.00000", "100"].map(read),
            [None, Some(-12), Some(1200), Some(0), Some(10_000)]
        );
        assert_eq!(["0.0100", "1.5", "", "-", "1e3", "--1"].map(read), [Some(1), Some(150), None, None, None, None]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!([shortened("手机", 5), shortened("手机", 6), shortened("手机", 99)], ["手", "手机", "手机"]);
    }
}
