//! The visitor of a page: session, language, and paths that a redirect may lead to.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri};
use boxed::boxed;
use jiff::Timestamp;

use crate::Shop;
use crate::extract::client::is_wechat;
use crate::extract::session::cookie;
use accounts::Session;
use domain::wire::wire_enum;
use domain::{Locale, Role, ShopSettings};
use pages::Chrome;
use store::PendingCounts;
use words::Present;

/// The longest path that `next` may contain, in bytes.
const MAX_NEXT_BYTES: usize = 500;

/// The visitor of a page, with or without a session.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub shop: Arc<ShopSettings>,
    /// When the request arrived.
    now: Timestamp,
    pub locale: Locale,
    /// The path of the page, with its query.
    pub path: String,
    pub session: Option<Session>,
    pub density: Density,
    pub is_in_wechat: bool,
    is_test: bool,
    has_programs: bool,
    pending: PendingCounts,
}

impl Visitor {
    pub fn of(uri: &Uri, headers: &HeaderMap, shop: &Shop) -> Visitor {
        Visitor {
            shop: shop.catalogue.settings(),
            now: shop.clock.now(),
            locale: locale(uri, headers),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            session: shop.accounts.session(headers),
            density: Density::of(headers),
            is_in_wechat: is_wechat(headers),
            is_test: shop.payments.is_test(),
            has_programs: shop.accounts.has_tokens(),
            pending: PendingCounts::default(),
        }
    }

    /// Language, navigation and user name around the page.
    pub fn chrome(&self) -> Chrome {
        Chrome {
            shop: self.shop.clone(),
            present: Present::At(self.now),
            locale: self.locale,
            path: self.path.clone(),
            username: self.session.as_ref().map(|session| session.username.clone()),
            role: self.session.as_ref().map_or(Role::User, |session| session.role),
            is_compact: self.density == Density::Compact,
            is_test: self.is_test,
            has_programs: self.has_programs,
            pending: self.pending,
        }
    }

    /// The same for a page whose path differs from the request's path: the response to a form is shown at another path.
    pub fn chrome_at(&self, path: String) -> Chrome {
        Chrome { path, ..self.chrome() }
    }
}

impl FromRequestParts<Arc<Shop>> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shop: &Arc<Shop>) -> Result<Self, Infallible> {
        Ok(visitor(parts, shop).await)
    }
}

#[boxed]
async fn visitor(parts: &Parts, shop: &Shop) -> Visitor {
    let mut visitor = Visitor::of(&parts.uri, &parts.headers, shop);
    if let Some(session) = &visitor.session {
        shop.accounts.seen(session);
        // Without an answer the console shows its pages without these counts.
        if session.role.is_staff() && visitor.path.starts_with("/admin") {
            visitor.pending = shop.store.payments().pending_counts().await.unwrap_or_default();
        }
    }
    visitor
}

/// The language of the first path segment, otherwise of `?lang=`, otherwise the browser's preferred one.
pub fn locale(uri: &Uri, headers: &HeaderMap) -> Locale {
    let first = uri.path().split('/').nth(1).unwrap_or_default();
    first.parse().ok().or_else(|| query_value(uri.query()?, "lang")?.parse().ok()).unwrap_or_else(|| {
        let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Locale::negotiate(accepted.unwrap_or_default())
    })
}

/// The first value of a key in a query string.
pub fn query_value(query: &str, key: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == key).map(|(_, value)| value.into_owned())
}

/// The text, if it is a path of this shop, which browsers resolve to no other host.
pub fn own_path(next: &str) -> Option<&str> {
    let mut bytes = next.bytes();
    let rooted = bytes.next() == Some(b'/') && !matches!(bytes.next(), Some(b'/' | b'\\'));
    // Browsers drop tabs and line breaks before they resolve a URL.
    let plain = next.bytes().all(|byte| byte.is_ascii_graphic());
    (rooted && plain && next.len() <= MAX_NEXT_BYTES).then_some(next)
}

/// The login page, which returns to `next`.
pub fn login_path(locale: Locale, next: &str) -> String {
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("/{locale}/login?next={next}")
}

// How close the rows of the console's lists stand. A cookie stores it in the browser, so that the page is right from
// its first paint, without scripts too.

const NAME: &str = "density";
/// A year, in seconds.
const LIFETIME_SECONDS: u32 = 365 * 24 * 60 * 60;

wire_enum! {
    pub enum Density {
        Comfortable = "comfortable",
        Compact = "compact",
    }
}

impl Density {
    /// The density in the request's cookie; comfortable without one.
    pub fn of(headers: &HeaderMap) -> Density {
        cookie(headers, NAME).and_then(|text| text.parse().ok()).unwrap_or(Density::Comfortable)
    }

    /// The `Set-Cookie` that stores it. `secure`: whether the shop is reached by https.
    pub fn set_cookie(self, secure: bool) -> HeaderValue {
        let secure = if secure { "; Secure" } else { "" };
        let text = format!("{NAME}={self}; Path=/admin; HttpOnly; SameSite=Lax{secure}; Max-Age={LIFETIME_SECONDS}");
        HeaderValue::try_from(text).expect("the names are valid in headers")
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn own_path_accepts_paths_of_this_shop_only() {
        for own in ["/", "/zh/sales/7", "/admin?lang=zh", "/a//b", "/en/orders?before=%2F%2Fevil"] {
            assert_eq!(own_path(own), Some(own));
        }
        let foreign = [
            "",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "zh/",
            " /zh/",
            "/zh/ x",
            "/中",
        ];
        for foreign in foreign {
            assert_eq!(own_path(foreign), None, "{foreign:?}");
        }
        assert_eq!(own_path(&format!("/{}", "x".repeat(MAX_NEXT_BYTES))), None);
    }

    #[test]
    fn path_decides_the_language_before_query_and_browser() {
        let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::from_static("zh-CN"))]);
        let locale = |uri: &'static str| locale(&Uri::from_static(uri), &headers);
        assert_eq!(locale("/en/orders?lang=zh"), Locale::En);
        assert_eq!(locale("/admin?x=1&lang=en"), Locale::En);
        assert_eq!(locale("/admin?lang=fr"), Locale::Zh);
        assert_eq!(locale("/zhx"), Locale::Zh);
    }

    #[test]
    fn login_path_escapes_the_query_of_next() {
        let path = login_path(Locale::En, "/en/orders?before=a&b");
        assert_eq!(path, "/en/login?next=%2Fen%2Forders%3Fbefore%3Da%26b");
        let query = path.split_once('?').unwrap().1;
        assert_eq!(query_value(query, "next").as_deref(), Some("/en/orders?before=a&b"));
    }
}
