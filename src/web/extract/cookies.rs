//! Cookies of a request.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

/// The value of the first cookie with this name.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim_start().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}
