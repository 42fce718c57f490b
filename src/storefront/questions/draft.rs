//! The question that a visitor typed before logging in. A cookie in their browser holds it until they come back to the
//! form.

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use domain::question::check_question;
use domain::{Locale, SaleId};
use web::extract::cookies::cookie;
use web::shared::paths::questions_path;

const NAME: &str = "question";
/// Longer than a log-in or a registration takes, in seconds.
const LIFETIME_SECONDS: u32 = 30 * 60;

/// The form that a draft belongs to: the browser sends the cookie to this form only.
#[derive(Debug, Clone, Copy)]
pub struct DraftPlace {
    pub locale: Locale,
    pub sale: SaleId,
    /// Whether the shop is reached by https.
    pub secure: bool,
}

impl DraftPlace {
    /// The `Set-Cookie` that stores a question.
    pub fn keep(self, text: &str) -> HeaderValue {
        self.cookie(&URL_SAFE_NO_PAD.encode(text), LIFETIME_SECONDS)
    }

    /// The `Set-Cookie` that deletes it.
    pub fn forget(self) -> HeaderValue {
        self.cookie("", 0)
    }

    fn cookie(self, value: &str, seconds: u32) -> HeaderValue {
        let path = questions_path(self.locale, self.sale);
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{NAME}={value}; Path={path}; HttpOnly; SameSite=Lax{secure}; Max-Age={seconds}");
        HeaderValue::try_from(text).expect("base64 and paths are valid in headers")
    }
}

/// The question in a request's cookie; `None` if it could not be asked.
pub fn kept_question(headers: &HeaderMap) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cookie(headers, NAME)?).ok()?;
    check_question(std::str::from_utf8(&bytes).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;

    use super::*;

    fn request_with(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, cookie.parse().unwrap())])
    }

    #[test]
    fn kept_question_comes_back_and_is_sent_to_its_form_only() {
        let place = DraftPlace { locale: Locale::Zh, sale: SaleId(7), secure: true };
        let kept = place.keep("它防水吗；？; Path=/");
        let (value, attributes) = kept.to_str().unwrap().split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/zh/sales/7/questions; HttpOnly; SameSite=Lax; Secure; Max-Age=1800");
        assert_eq!(kept_question(&request_with(&format!("a=b; {value}"))).as_deref(), Some("它防水吗；？; Path=/"));
        assert!(place.forget().to_str().unwrap().starts_with("question=; Path=/zh/sales/7/questions"));
    }

    #[test]
    fn cookie_of_another_hand_is_no_question() {
        for value in ["question=", "question=%%%", "question=_w", "question=YQ", "other=SXMgaXQgd2V0Pw"] {
            assert_eq!(kept_question(&request_with(value)), None, "{value}");
        }
        let long = URL_SAFE_NO_PAD.encode("x".repeat(301));
        assert_eq!(kept_question(&request_with(&format!("question={long}"))), None);
    }
}

#[cfg(test)]
mod fuzz {
    use axum::http::header::COOKIE;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_cookie_is_a_question_that_could_be_asked_or_none() {
        texts(&["question=SXMgaXQgd2V0Pw", "a=b; question=", "question=5a6D6Ziy5rC05ZCX77yf"], |text| {
            let Ok(line) = text.parse() else { return };
            if let Some(kept) = kept_question(&HeaderMap::from_iter([(COOKIE, line)])) {
                assert_eq!(check_question(&kept), Ok(kept));
            }
        });
    }
}
