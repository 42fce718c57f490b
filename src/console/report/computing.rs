//! Pages of the console whose figures take long to compute
//! ([`RevalidatingCache`](base::revalidating_cache::RevalidatingCache)). A page without figures says so. It reloads
//! itself, without a script; so does a page whose figures are being renewed.

use axum::http::header::{HeaderValue, REFRESH};

use crate::prelude::*;

/// How long a page waits for figures. Most sales have theirs by then, and every page should be there within 200 ms.
pub const PAGE_PATIENCE: Duration = Duration::from_millis(100);
/// Seconds until a page is loaded again.
const RELOAD_AFTER_S: u32 = 2;

/// The page that stands in for one whose figures are being computed.
pub fn computing(page: ComputingPage) -> Answer {
    Ok(reloading(personal(StatusCode::OK, &page)?, &page.chrome.path))
}

/// A page that loads `path` next. It uses a header, because checks of accessibility would take an element for a time
/// limit.
pub fn reloading(mut page: Response, path: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(&format!("{RELOAD_AFTER_S}; url={path}")) {
        page.headers_mut().insert(REFRESH, value);
    }
    page
}

#[derive(Debug, Template)]
#[template(path = "report/computing.html")]
pub struct ComputingPage {
    pub chrome: Chrome,
    pub sale: SaleId,
    pub goods_name: String,
    /// What is being computed.
    pub title: &'static str,
    /// The page that led here: its path, and the words of the link.
    pub back: (String, String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Locale, Role};
    use web::views::test_chrome;

    #[tokio::test]
    async fn page_that_is_being_computed_says_so_and_loads_itself_again() {
        for (locale, words) in [(Locale::Zh, "正在计算…"), (Locale::En, "Working it out…")] {
            let t = words::text(locale);
            let path = format!("/admin/sales/7/clusters?lang={locale}&after=50");
            let (username, role) = (Some("vera".to_owned()), Role::Viewer);
            let chrome = Chrome { username, role, ..test_chrome(locale, &path) };
            let (goods_name, title, back) =
                ("Phone".to_owned(), t.holds.title, ("/admin/sales/7".to_owned(), t.holds.back.to_owned()));
            let page = computing(ComputingPage { chrome, sale: SaleId(7), goods_name, title, back }).unwrap();
            assert_eq!(page.headers()[REFRESH], format!("2; url={path}"));
            let body = axum::body::to_bytes(page.into_body(), usize::MAX).await.unwrap();
            let body = std::str::from_utf8(&body).unwrap();
            assert!(body.contains(words) && body.contains("role=\"status\""), "{body}");
            assert!(!body.contains("http-equiv"), "{body}");
        }
    }
}
