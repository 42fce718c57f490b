//! The page about a problem, for requests of a browser.

use askama::Template;

use super::Chrome;
use crate::i18n::problem;
use crate::pages::filters;

/// Explains the problem and links to where the visitor can go on.
#[derive(Debug, Template)]
#[template(path = "message.html")]
pub struct MessagePage {
    pub chrome: Chrome,
    pub status: u16,
    /// The problem code. An unknown code shows the text of an internal error.
    pub code: String,
    /// The path of the "go back" link, on this origin; empty for none.
    pub back: String,
    /// A refused purchase: the path of its form, and the quantity.
    pub again: Option<(String, i64)>,
}

impl MessagePage {
    fn title(&self) -> &'static str {
        problem(&self.code).title(self.chrome.locale)
    }

    fn text(&self) -> &'static str {
        problem(&self.code).text(self.chrome.locale)
    }

    /// Whether the page shows the status. Losing a sale is not shown as an error.
    fn is_failure(&self) -> bool {
        self.status == 404 || self.status >= 500
    }

    /// Whether another try may succeed.
    fn is_worth_retrying(&self) -> bool {
        matches!(
            self.code.as_str(),
            "busy" | "rate_limited" | "overloaded" | "bad_token" | "not_open" | "paused" | "unavailable"
        )
    }

    /// The purchase that the page offers to try again.
    fn purchase(&self) -> Option<&(String, i64)> {
        self.again.as_ref().filter(|_| self.is_worth_retrying())
    }

    /// Whether reloading may help: nothing was posted, and the visitor did not cause the problem.
    fn is_reloadable(&self) -> bool {
        self.back.is_empty() && (self.status >= 500 || self.status == 429)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Locale;

    fn page(status: u16, code: &str, back: &str) -> String {
        let chrome = Chrome {
            locale: Locale::En,
            path: "/en/sales/7/buy".into(),
            username: None,
            role: crate::store::Role::User,
        };
        let again = back.starts_with("/en/sales/").then(|| ("/en/sales/7/buy".to_owned(), 2));
        MessagePage { chrome, status, code: code.into(), back: back.into(), again }.render().unwrap()
    }

    #[test]
    fn page_offers_another_try_only_if_it_may_succeed() {
        let busy = page(429, "busy", "/en/sales/7");
        assert!(busy.contains(r#"action="/en/sales/7/buy""#) && busy.contains(r#"name="quantity" value="2""#));
        assert!(!page(409, "sold_out", "/en/sales/7").contains("Try again"));
        let away = page(503, "unavailable", "");
        assert!(away.contains(r#"href="/en/sales/7/buy">Try again"#) && away.contains(r#"http-equiv="refresh""#));
    }

    #[test]
    fn sold_out_is_not_called_an_error() {
        let sold_out = page(409, "sold_out", "/en/sales/7");
        assert!(sold_out.contains("Sold out") && !sold_out.contains("Error"));
        assert!(page(503, "overloaded", "/en/sales/7").contains("Error 503"));
    }

    #[test]
    fn page_always_links_onward() {
        assert!(page(401, "not_signed_in", "/en/sales/7").contains("/en/login?next=%2Fen%2Fsales%2F7"));
        let unknown = page(500, "<script>", "");
        assert!(unknown.contains("Something went wrong") && unknown.contains("Browse sales"));
        assert!(!unknown.contains("Go back") && !unknown.contains("<script>"));
    }
}
