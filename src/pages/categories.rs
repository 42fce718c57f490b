//! Categories on the shop's pages: their addresses, the row of links to them, and a sale's breadcrumb.

use std::collections::HashSet;

use serde_json::json;

use super::Chrome;
use domain::{Category, CategoryId, Goods, Locale};

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
