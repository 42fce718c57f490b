//! Versions of what is edited: the entity tag in an answer, and `If-Match` in a request.

use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;

/// The entity tag of a version.
pub fn entity_tag(version: i64) -> String {
    format!("\"{version}\"")
}

/// The versions that `If-Match` names. `None` without the header and for `*`, which every version matches. A tag that
/// is not a version matches none.
pub fn expected_versions(headers: &HeaderMap) -> Option<Vec<i64>> {
    let mut lines = headers.get_all(IF_MATCH).iter().peekable();
    lines.peek()?;
    let mut versions = Vec::new();
    for tag in lines.flat_map(|line| line.to_str().unwrap_or_default().split(',')).map(str::trim) {
        if tag == "*" {
            return None;
        }
        let quoted = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        versions.extend(quoted.and_then(|version| version.parse::<i64>().ok()));
    }
    Some(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_every_form_of_if_match() {
        let read = |lines: &[&'static str]| {
            let lines = lines.iter().map(|line| (IF_MATCH, line.parse().unwrap()));
            expected_versions(&HeaderMap::from_iter(lines))
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&["*"]), None);
        assert_eq!(read(&["\"7\""]), Some(vec![7]));
        assert_eq!(read(&["\"7\", \"9\""]), Some(vec![7, 9]));
        for matches_nothing in ["7", "W/\"7\"", "\"x\"", "\"\"", ""] {
            assert_eq!(read(&[matches_nothing]), Some(vec![]), "{matches_nothing}");
        }
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_header_names_versions_or_none() {
        texts(&["\"7\", \"9\"", "*", "W/\"7\""], |text| {
            let Ok(line) = text.parse() else { return };
            for version in expected_versions(&HeaderMap::from_iter([(IF_MATCH, line)])).into_iter().flatten() {
                assert!(text.contains(&version.unsigned_abs().to_string()), "{text}");
            }
        });
    }
}
