//! How close the rows of the console's lists stand. A cookie stores it in the browser, so that the page is right from
//! its first paint, without scripts too.

use axum::http::{HeaderMap, HeaderValue};

use crate::extract::cookies::cookie;
use domain::wire::wire_enum;

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
