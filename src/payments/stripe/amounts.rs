//! Amounts as Stripe counts them. Most currencies are counted in the minor unit of ISO 4217, as here.
//! <https://docs.stripe.com/currencies>

use domain::{Currency, Money};

/// Currencies without a minor unit at Stripe that have one here: an amount is divided by 100.
const WHOLE_AT_STRIPE: [&str; 1] = ["MGA"];
/// Currencies without a minor unit that Stripe counts in hundredths all the same.
const HUNDREDTHS_AT_STRIPE: [&str; 1] = ["ISK"];
/// Currencies of three digits, of which Stripe takes amounts whose last digit is 0.
const THREE_DIGITS: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];
/// Currencies that Stripe does not take, or of which it is not certain how it counts them.
const NOT_TAKEN: [&str; 13] =
    ["CLF", "CUP", "ERN", "IQD", "IRR", "KPW", "LYD", "SDG", "SSP", "SYP", "UGX", "UYI", "UYW"];

/// The amount and the currency as Stripe writes them. `None`: Stripe cannot take exactly this amount.
pub(super) fn in_stripe(money: Money) -> Option<(i64, String)> {
    let code = money.currency.as_str();
    let amount = match code {
        _ if NOT_TAKEN.contains(&code) || money.amount < 1 => None,
        _ if WHOLE_AT_STRIPE.contains(&code) => (money.amount % 100 == 0).then_some(money.amount / 100),
        _ if HUNDREDTHS_AT_STRIPE.contains(&code) => money.amount.checked_mul(100),
        _ if THREE_DIGITS.contains(&code) => (money.amount % 10 == 0).then_some(money.amount),
        _ => Some(money.amount),
    };
    Some((amount?, code.to_lowercase()))
}

/// An amount of Stripe. `None` if there is no such currency, or no such amount of it.
pub(super) fn money(amount: i64, currency: &str) -> Option<Money> {
    let currency = Currency::known(&currency.to_uppercase())?;
    let amount = match currency.as_str() {
        code if WHOLE_AT_STRIPE.contains(&code) => amount.checked_mul(100)?,
        code if HUNDREDTHS_AT_STRIPE.contains(&code) => (amount % 100 == 0).then_some(amount / 100)?,
        _ => amount,
    };
    Some(Money::new(amount, currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_in_every_currency_or_not_taken() {
        for (amount, code, at_stripe) in [
            (1_999, "CNY", Some(1_999)),
            (500, "JPY", Some(500)),
            (500, "KRW", Some(500)),
            (5, "ISK", Some(500)),
            (500, "MGA", Some(5)),
            (550, "MGA", None),
            (5_120, "KWD", Some(5_120)),
            (5_124, "KWD", None),
            (1_000, "IQD", None),
            (0, "CNY", None),
            (1_000, "UGX", None),
            (i64::MAX, "ISK", None),
        ] {
            let asked = Money::new(amount, Currency::known(code).unwrap());
            let told = in_stripe(asked);
            assert_eq!(told, at_stripe.map(|amount| (amount, code.to_lowercase())), "{asked}");
            if let Some((amount, currency)) = told {
                assert_eq!(money(amount, &currency), Some(asked));
            }
        }
        // Every currency, with amounts of every size. What Stripe takes, it tells back as the same amount.
        let mut taken = 0;
        for currency in Currency::all() {
            let sizes = (0..=18).map(|digits| 10_i64.pow(digits));
            for amount in sizes.flat_map(|size| [size - 1, size, size + 1, size * 7 / 3]).chain([i64::MAX]) {
                let asked = Money::new(amount, currency);
                let Some((told, code)) = in_stripe(asked) else { continue };
                assert_eq!(money(told, &code), Some(asked), "{asked}");
                taken += 1;
            }
        }
        assert!(taken > 9_000, "{taken}");
        assert_eq!((money(150, "isk"), money(1, "zzz"), money(i64::MAX, "mga")), (None, None, None));
    }
}
