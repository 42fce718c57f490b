//! Texts from outside. PostgreSQL stores no text with a NUL, so a request that has one anywhere is refused before a
//! handler sees it: the escape `\\u0000` in JSON, `%00` in forms, queries and paths.

use serde_json::Value;

use crate::{Code, Problem};

/// Whether a string of the JSON has the escape of a NUL. A NUL itself is no JSON.
pub fn has_nul_escape(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at + 1..].starts_with(b"u0000") {
            return true;
        }
        // The escaped character may be a backslash, which escapes nothing.
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// Whether urlencoded text has a NUL.
pub fn has_encoded_nul(text: &[u8]) -> bool {
    text.contains(&0) || text.windows(3).any(|part| part == b"%00")
}

/// The path of the first text with a NUL, such as `name.zh`. `None` if it is the name of a field, or this is no JSON.
pub(super) fn field_with_nul(json: &[u8]) -> Option<String> {
    fn find(value: &Value, path: &str) -> Option<String> {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            Value::String(text) => text.contains('\0').then(|| path.to_owned()),
            Value::Array(all) => all.iter().enumerate().find_map(|(n, value)| find(value, &below(&n.to_string()))),
            Value::Object(all) => all.iter().find_map(|(name, value)| find(value, &below(name))),
            _ => None,
        }
    }
    find(&serde_json::from_slice(json).ok()?, "").filter(|path| !path.is_empty() && !path.contains('\0'))
}

/// The answer to a text with a NUL.
pub fn nul_problem(field: Option<String>) -> Problem {
    let problem = match field {
        Some(field) => Problem::invalid_field(field, "bad_text"),
        None => Problem::new(Code::Invalid),
    };
    problem.detail("A text has a NUL (U+0000).")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_found_in_every_encoding_and_nothing_else_is() {
        for json in [r#"{"a":"\u0000"}"#, r#"{"a\u0000":1}"#, r#"["x\\\u0000"]"#, r#"["\n\u0000"]"#] {
            assert!(has_nul_escape(json.as_bytes()), "{json}");
            assert!(serde_json::from_str::<Value>(json).unwrap().to_string().contains("\\u0000"), "{json}");
        }
        for json in [r#"["\\u0000"]"#, r#"["u0000"]"#, r#"["\u0001"]"#, r#"["\u00000"#.trim_end_matches('0'), "[", "\\"]
        {
            assert!(!has_nul_escape(json.as_bytes()), "{json}");
        }
        assert!(has_encoded_nul(b"a=%00") && has_encoded_nul(b"a=\0") && has_encoded_nul(b"%00"));
        assert!(!has_encoded_nul(b"a=%2500&b=%0a%20"));
    }

    #[test]
    fn field_with_the_nul_is_named() {
        let field = |json: &str| field_with_nul(json.as_bytes());
        assert_eq!(field(r#"{"id":1,"name":{"zh":"x","en":"a\u0000"}}"#).as_deref(), Some("name.en"));
        assert_eq!(field(r#"{"list":["x","\u0000"]}"#).as_deref(), Some("list.1"));
        assert_eq!(field(r#"{"a\u0000":1}"#), None);
        assert_eq!(field(r#""\u0000""#), None);
        assert_eq!(field("\\u0000"), None);
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::inputs;

    fn has_nul(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains('\0'),
            Value::Array(all) => all.iter().any(has_nul),
            Value::Object(all) => all.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
            _ => false,
        }
    }

    #[test]
    fn no_text_with_a_nul_passes() {
        let json = [r#"{"username":"mei","list":["a\\b","\n"]}"#, r#"{"a":{"b":"\u0001\\u0000"}}"#];
        inputs(json.map(|text| text.as_bytes().to_vec()).to_vec(), |bytes| {
            if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
                assert_eq!(has_nul_escape(bytes), has_nul(&value), "{value}");
            }
        });
        let forms = ["username=mei&next=%2Fzh%2F", "q=%2500&before=%e4%bd%a0"];
        inputs(forms.map(|text| text.as_bytes().to_vec()).to_vec(), |bytes| {
            let nul =
                url::form_urlencoded::parse(bytes).any(|(name, value)| name.contains('\0') || value.contains('\0'));
            assert!(has_encoded_nul(bytes) || !nul, "{:?}", String::from_utf8_lossy(bytes));
        });
    }
}
