//! The page about a problem, for requests of a browser.

use askama::Template;
use jiff::Timestamp;

use crate::views::Chrome;
use domain::{Refusal, RefusalClass};
use pages::filters;
use pages::onward::OnwardSale;
use words::problem;

/// Explains the problem and links to where the visitor can go on.
#[derive(Debug, Template)]
#[template(path = "shared/message.html")]
pub struct MessagePage {
    pub chrome: Chrome,
    pub status: u16,
    /// The problem code. An unknown code shows the text of an internal error.
    pub code: String,
    /// The path of the "go back" link, on this origin; empty without one.
    pub back: String,
    /// For a refused purchase: the path of its form, and the quantity.
    pub again: Option<(String, i64)>,
    /// From when the visitor may buy.
    pub not_before: Option<Timestamp>,
    /// Sales to go on to, if the visitor came for something that is not there.
    pub onward: Vec<OnwardSale>,
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
        let class = self.code.parse().map(Refusal::class);
        matches!(class, Ok(RefusalClass::Transient | RefusalClass::NotYet)) || self.code == "unavailable"
    }

    /// The visitor's moment in whole seconds, rounded up, so that a press at the time shown is not too early.
    fn own_moment(&self) -> Option<Timestamp> {
        let ms = self.not_before?.as_millisecond();
        Timestamp::from_second(ms.div_euclid(1000) + i64::from(ms.rem_euclid(1000) > 0)).ok()
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
    use domain::Locale;

    fn page(status: u16, code: &str, back: &str) -> String {
        let chrome = Chrome {
            locale: Locale::En,
            path: "/en/sales/7/buy".into(),
            username: None,
            role: domain::Role::User,
            is_compact: false,
            is_test: false,
        };
        let again = back.starts_with("/en/sales/").then(|| ("/en/sales/7/buy".to_owned(), 2));
        let not_before = (code == "too_early").then(|| "2026-11-21T12:00:06.001Z".parse().unwrap());
        let onward = Vec::new();
        MessagePage { chrome, status, code: code.into(), back: back.into(), again, not_before, onward }
            .render()
            .unwrap()
    }

    #[test]
    fn page_offers_another_try_only_if_it_may_succeed() {
        let busy = page(429, "busy", "/en/sales/7");
        assert!(busy.contains(r#"action="/en/sales/7/buy""#) && busy.contains(r#"name="quantity" value="2""#));
        let codes =
            [("not_open", true), ("not_called", true), ("bad_token", true), ("sold_out", false), ("by_draw", false)];
        for (code, is_offered) in codes {
            assert_eq!(page(409, code, "/en/sales/7").contains("Try again"), is_offered, "{code}");
        }
        let away = page(503, "unavailable", "");
        assert!(away.contains(r#"href="/en/sales/7/buy">Try again"#) && away.contains(r#"http-equiv="refresh""#));
    }

    #[test]
    fn page_tells_the_moment_of_the_account() {
        let early = page(429, "too_early", "/en/sales/7");
        assert!(early.contains("2026-11-21 12:00:07 UTC") && early.contains(r#"datetime="2026-11-21T12:00:07Z""#));
        assert!(early.contains(r#"action="/en/sales/7/buy""#), "it can be pressed again from here");
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
