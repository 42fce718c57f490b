//! The discount of a sale, on its card and its page.

use domain::{Locale, Sale};
use words::{fill, text};

/// The discount in whole percent of the list price, never rounded in the shop's favor.
fn discount_percent(sale: &Sale) -> Option<i64> {
    let list = sale.list_price.filter(|list| list.currency == sale.price.currency && list.amount > 0)?;
    let percent = i128::from(list.amount - sale.price.amount) * 100 / i128::from(list.amount);
    i64::try_from(percent).ok().filter(|percent| (1..=99).contains(percent))
}

/// The discount as it is written in each language. English names what is taken off (`−50%`), Chinese the tenths of the
/// list price that remain (`5 折`, `8.5 折`).
pub fn discount_label(sale: &Sale, locale: &Locale) -> Option<String> {
    let percent = discount_percent(sale)?;
    let value = match (locale, 100 - percent) {
        (Locale::En, _) => percent.to_string(),
        (Locale::Zh, rest) if rest % 10 == 0 => (rest / 10).to_string(),
        (Locale::Zh, rest) => format!("{}.{}", rest / 10, rest % 10),
    };
    Some(fill(text(*locale).shop.discount, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Currency, Money};
    use testing::samples::sample;

    #[test]
    fn discounts_are_never_exaggerated() {
        let (mut sale, _) = sample(1, "x");
        let mut percent = |price, list| {
            (sale.price, sale.list_price) = (Money::new(price, Currency::CNY), Some(Money::new(list, Currency::CNY)));
            discount_percent(&sale)
        };
        assert_eq!(percent(199_900, 299_900), Some(33));
        assert_eq!(percent(999, 1000), None);
        assert_eq!(percent(1000, 900), None);
        assert_eq!(percent(1, i64::MAX), Some(99));
    }

    #[test]
    fn discounts_are_named_as_each_language_does() {
        let (mut sale, _) = sample(1, "x");
        sale.list_price = Some(Money::new(10_000, Currency::CNY));
        for (price, zh, en) in [(5_000, "5 折", "−50%"), (8_500, "8.5 折", "−15%"), (6_660, "6.7 折", "−33%")]
        {
            sale.price = Money::new(price, Currency::CNY);
            assert_eq!(discount_label(&sale, &Locale::Zh).as_deref(), Some(zh));
            assert_eq!(discount_label(&sale, &Locale::En).as_deref(), Some(en));
        }
        sale.price = Money::new(10_000, Currency::CNY);
        assert_eq!(discount_label(&sale, &Locale::Zh), None);
    }
}
