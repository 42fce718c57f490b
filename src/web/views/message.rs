//! Refusals and errors of requests that came from a page.

use askama::Template;

use super::Chrome;
use crate::i18n::problem;
use crate::pages::filters;

/// Says what happened in plain words, and offers a way on.
#[derive(Debug, Template)]
#[template(path = "message.html")]
pub struct MessagePage {
    pub chrome: Chrome,
    pub status: u16,
    /// A stable problem code; words for an internal error are shown for one that is unknown.
    pub code: String,
    /// Where "go back" leads, a path of ours; empty for nowhere.
    pub back: String,
    /// A purchase that may be tried again: where its form posts to, and for how many units.
    pub again: Option<(String, i64)>,
}

impl MessagePage {
    fn title(&self) -> &'static str {
        problem(&self.code).title(self.chrome.locale)
    }

    fn text(&self) -> &'static str {
        problem(&self.code).text(self.chrome.locale)
    }

    /// Whether the status is worth a word: losing a sale is not an error.
    fn is_failure(&self) -> bool {
        self.status == 404 || self.status >= 500
    }

    /// Refusals that another try may overcome.
    fn is_worth_retrying(&self) -> bool {
        matches!(
            self.code.as_str(),
            "busy" | "rate_limited" | "overloaded" | "bad_token" | "not_open" | "paused" | "unavailable"
        )
    }

    /// The purchase to try again.
    fn purchase(&self) -> Option<&(String, i64)> {
        self.again.as_ref().filter(|_| self.is_worth_retrying())
    }

    /// Whether looking at the same address again may help: nothing was posted, and the fault is not the visitor's.
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
    fn what_may_work_at_the_next_try_can_be_tried_again() {
        let busy = page(429, "busy", "/en/sales/7");
        assert!(busy.contains(r#"action="/en/sales/7/buy""#) && busy.contains(r#"name="quantity" value="2""#));
        assert!(!page(409, "sold_out", "/en/sales/7").contains("Try again"));
        let away = page(503, "unavailable", "");
        assert!(away.contains(r#"href="/en/sales/7/buy">Try again"#) && away.contains(r#"http-equiv="refresh""#));
    }

    #[test]
    fn losing_is_not_called_an_error() {
        let sold_out = page(409, "sold_out", "/en/sales/7");
        assert!(sold_out.contains("Sold out") && !sold_out.contains("Error"));
        assert!(page(503, "overloaded", "/en/sales/7").contains("Error 503"));
    }

    #[test]
    fn there_is_always_a_way_on() {
        assert!(page(401, "not_signed_in", "/en/sales/7").contains("/en/login?next=%2Fen%2Fsales%2F7"));
        let unknown = page(500, "<script>", "");
        assert!(unknown.contains("Something went wrong") && unknown.contains("See the sales"));
        assert!(!unknown.contains("Go back") && !unknown.contains("<script>"));
    }
}
