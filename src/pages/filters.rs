//! Template filters.

use std::collections::HashSet;
use std::fmt::Display;

use askama::filters::Safe;
use askama::{Result, Template, Values};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::Chrome;
use crate::onward::OnwardSale;
use crate::picture::{self as pictures, AsPicture, PictureView, Placement};
use domain::{Category, CategoryId, Goods, Locale, ModeName, Picture, Sale, SaleState};
use words::{ScriptText, fill, text};

/// `2026-11-21 20:00 UTC`, on pages of the console for browsers whose script does not replace it by local time. Shoppers
/// read [`Chrome::when`].
#[askama::filter_fn]
pub fn utc(at: &Timestamp, _: &dyn Values) -> Result<String> {
    let seconds = if at.as_second() % 60 == 0 { "" } else { ":%S" };
    Ok(at.to_zoned(TimeZone::UTC).strftime(&format!("%Y-%m-%d %H:%M{seconds} UTC")).to_string())
}

/// Replaces `{}` in a text by a value.
#[askama::filter_fn]
pub fn fill<T: AsRef<str>, V: Display>(text: T, _: &dyn Values, value: V) -> Result<String> {
    Ok(words::fill(text.as_ref(), value))
}

/// A number with thousands separators: `12,345` in both languages.
#[askama::filter_fn]
pub fn count<N: Display>(number: N, _: &dyn Values) -> Result<String> {
    Ok(grouped(number))
}

/// A whole number with thousands separators.
pub fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Renders a text in Markdown as harmless HTML.
#[askama::filter_fn]
pub fn markdown<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(super::markdown::to_html(text.as_ref())))
}

/// The address of a file under `static/`.
#[askama::filter_fn]
pub fn asset(name: &str, _: &dyn Values) -> Result<&'static str> {
    Ok(super::assets::url(name))
}

/// The markup of a picture, or of its placeholder, at a placement such as `card` (see [`Placement`]).
#[askama::filter_fn]
pub fn picture<P: AsPicture, A: Display>(picture: P, _: &dyn Values, placement: &str, alt: A) -> Result<Safe<String>> {
    PictureView::new(picture.as_picture(), Placement::from_name(placement), &alt.to_string()).render().map(Safe)
}

/// How many further sales a page shows.
#[askama::filter_fn]
pub fn shown<T: AsRef<[OnwardSale]>>(onward: T, _: &dyn Values) -> Result<usize> {
    Ok(onward.as_ref().iter().filter(|sale| !sale.is_spare).count())
}

/// The address of a picture's largest copy.
#[askama::filter_fn]
pub fn largest(picture: &Picture, _: &dyn Values) -> Result<String> {
    Ok(pictures::largest(picture))
}

// The call to action on a sale's card, which depends on how the sale finds its buyers.

/// The action that mode and state imply, until the script knows the phase. `actionOf` in `static/list.js` does the
/// same; change both together.
pub fn action(sale: &Sale, t: &ScriptText) -> &'static str {
    match (sale.state, sale.mode.name()) {
        (SaleState::Draft | SaleState::Scheduled, _) => t.go_remind,
        (SaleState::Live, ModeName::Rush) => t.go_buy,
        (SaleState::Live, ModeName::WaitingRoom) => t.go_join,
        (SaleState::Live, ModeName::Draw) => t.go_enter,
        (SaleState::Paused, _) => t.go_paused,
        (SaleState::Ended, ModeName::Draw) => t.go_result,
        (SaleState::Ended, _) => t.go_over,
    }
}

// Categories on the shop's pages: their addresses, the row of links to them, and a sale's breadcrumb.

/// The address of a category's list of sales.
pub fn category_path(locale: Locale, id: CategoryId) -> String {
    format!("/{locale}/categories/{id}")
}

/// The categories with these ids, in the order of the shop.
pub fn categories_of(categories: &[Category], ids: impl Iterator<Item = Option<CategoryId>>) -> Vec<&Category> {
    let named: HashSet<CategoryId> = ids.flatten().collect();
    categories.iter().filter(|category| named.contains(&category.id)).collect()
}

/// The breadcrumb from the list of all sales over a category to goods, for search engines (schema.org), as JSON in
/// which no markup can begin. `origin` is the public address of the shop.
pub(super) fn breadcrumb_data(origin: &str, chrome: &Chrome, category: &Category, goods: &Goods) -> String {
    let locale = chrome.locale;
    let list = format!("{origin}/{locale}/");
    let category_url = format!("{origin}{}", category_path(locale, category.id));
    let breadcrumb = json!({
        "@context": "https://schema.org",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": 1, "name": chrome.text().shop.back_to_list, "item": list},
            {"@type": "ListItem", "position": 2, "name": chrome.say(&category.name), "item": category_url},
            {"@type": "ListItem", "position": 3, "name": chrome.say(&goods.name)},
        ],
    });
    breadcrumb.to_string().replace('<', "\\u003c")
}

// The discount of a sale, on its card and its page.

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
