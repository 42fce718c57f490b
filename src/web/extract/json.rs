//! JSON bodies.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{MAX_BODY_BYTES, body, has_type, text};
use crate::{Code, Problem, Shop};

/// Reads the body of a request whose content type is JSON.
pub async fn json_body(request: Request) -> Result<Bytes, Problem> {
    let (parts, content) = request.into_parts();
    if !has_type(&parts.headers, "application/json") {
        return Err(Problem::new(Code::UnsupportedMediaType).detail("Send application/json."));
    }
    body(&parts.headers, content, MAX_BODY_BYTES).await
}

/// Parses JSON. An error names the field that is wrong.
pub fn from_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Problem> {
    if text::has_nul_escape(text) {
        return Err(text::nul_problem(text::field_with_nul(text)));
    }
    serde_json::from_slice(text).map_err(|error| json_problem(text, &error))
}

/// A JSON body, of a request or an answer. Types of requests refuse unknown fields with `deny_unknown_fields`.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<Shop>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Arc<Shop>) -> Result<Self, Problem> {
        from_json(&json_body(request).await?).map(Json)
    }
}

/// The detail is the parser's message. It is about the client's own text, so the client may read it.
fn json_problem(text: &[u8], error: &serde_json::Error) -> Problem {
    let words = error.to_string();
    if !error.is_data() {
        return Problem::new(Code::BadJson).detail(words);
    }
    let (code, named) = match words.split('`').nth(1) {
        Some(name) if words.starts_with("missing field") => ("required", Some(name)),
        Some(name) if words.starts_with("unknown field") => ("unknown", Some(name)),
        Some(name) if words.starts_with("duplicate field") => ("repeated", Some(name)),
        _ => ("bad_type", None),
    };
    let mut path = path_at(text, error.line(), error.column(), code == "required");
    // A missing field is not in the text.
    if let Some(named) = named.filter(|named| path.rsplit('.').next() != Some(named)) {
        path = if path.is_empty() { named.to_owned() } else { format!("{path}.{named}") };
    }
    match path.is_empty() {
        true => Problem::new(Code::Invalid).detail(words),
        false => Problem::invalid_field(path, code).detail(words),
    }
}

/// A list or an object that is open where the parser stopped.
enum Open {
    /// The index of the item.
    List(usize),
    /// The key whose value is read.
    Object(Option<String>),
}

/// The path of what the parser read last, such as `units[2].name`. The crate serde_path_to_error gives the same path, but
/// has every type that is read compiled a second time.
///
/// `column` counts bytes. The parser reads the end of an object before it says what is wrong, so there the last value is
/// meant, unless the object itself lacks a field (`is_whole`).
fn path_at(text: &[u8], line: usize, column: usize, is_whole: bool) -> String {
    let before: usize = text.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    let read = &text[..text.len().min(before + column)];
    let (mut open, mut at) = (Vec::new(), 0);
    while at < read.len() {
        let begin = at;
        at += 1;
        match (read[begin], open.last_mut()) {
            (b'[', _) => open.push(Open::List(0)),
            (b'{', _) => open.push(Open::Object(None)),
            (b']' | b'}', _) if at == read.len() && !is_whole => {}
            (b']' | b'}', _) => drop(open.pop()),
            (b',', Some(Open::List(index))) => *index += 1,
            (b',', Some(Open::Object(key))) => *key = None,
            (b'"', within) => {
                while at < read.len() && read[at] != b'"' {
                    at += if read[at] == b'\\' { 2 } else { 1 };
                }
                at = read.len().min(at + 1);
                if let Some(Open::Object(key @ None)) = within {
                    *key = serde_json::from_slice(&read[begin..at]).ok();
                }
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for open in open {
        match open {
            Open::List(index) => path.push_str(&format!("[{index}]")),
            Open::Object(Some(key)) if path.is_empty() => path = key,
            Open::Object(Some(key)) => path.push_str(&format!(".{key}")),
            Open::Object(None) => {}
        }
    }
    path
}

#[cfg(test)]
mod fuzz {
    use super::tests::TestBody;
    use super::*;
    use testing::fuzz::texts;

    /// The other crate names the object only, where a key in it is wrong.
    #[test]
    fn any_error_stands_where_serde_path_to_error_says() {
        let valid = r#"{"name":{"zh":"x"},"count":5,"others":[{"zh":"y"},{"zh":"z"}]}"#;
        texts(&[valid, "{\"count\":\n1.5, \"others\": [{}]}"], |text| {
            let Err(error) = serde_json::from_str::<TestBody>(text) else { return };
            let is_missing = error.to_string().starts_with("missing field");
            let path = path_at(text.as_bytes(), error.line(), error.column(), is_missing);
            let mut reader = serde_json::Deserializer::from_str(text);
            let other =
                serde_path_to_error::deserialize::<_, TestBody>(&mut reader).map_err(|error| error.path().to_string());
            if let (true, Err(other)) = (error.is_data(), other) {
                let object = other.strip_suffix('?').map_or(other.as_str(), |rest| rest.trim_end_matches('.'));
                let object = if object == "." { "" } else { object };
                let is_within =
                    path.strip_prefix(object).is_some_and(|rest| object.is_empty() || rest.starts_with('.'));
                assert!(path == other || is_within, "{text}: {path}, not {other}");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the shape is tested")]
    pub(super) struct TestBody {
        name: Name,
        count: u32,
        #[serde(default)]
        others: Vec<Name>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the shape is tested")]
    struct Name {
        zh: String,
    }

    async fn problem_of(text: &str) -> serde_json::Value {
        let response = from_json::<TestBody>(text.as_bytes()).unwrap_err().into_response();
        let bytes = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[tokio::test]
    async fn json_errors_name_the_field() {
        let cases = [
            (r#"{"name":{"zh":"x"},"count":"5"}"#, "count", "bad_type"),
            (r#"{"name":{"zh":7},"count":5}"#, "name.zh", "bad_type"),
            (r#"{"name":{},"count":5}"#, "name.zh", "required"),
            (r#"{"name":{"zh":"x"}}"#, "count", "required"),
            (r#"{"nome":{"zh":"x"},"count":5}"#, "nome", "unknown"),
            (r#"{"name":{"zh":"x","fr":"y"},"count":5}"#, "name.fr", "unknown"),
            (r#"{"name":{"zh":"x"},"count":1.5}"#, "count", "bad_type"),
            (r#"{"count":5,"count":5,"name":{"zh":"x"}}"#, "count", "repeated"),
            (r#"{"count":5,"name":{"zh":"x"},"others":[{"zh":"x"},{"zh":7}]}"#, "others[1].zh", "bad_type"),
            (r#"{"count":5,"name":{"zh":"x"},"others":[{"zh":"x"},{}]}"#, "others[1].zh", "required"),
            (r#"{"count":5,"name":{"zh":"x"},"others":{"zh":"x"}}"#, "others", "bad_type"),
            ("{\"name\":{\"zh\":\"[}\\\",\"},\n\"count\":\n\"五\"}", "count", "bad_type"),
        ];
        for (text, field, code) in cases {
            let json = problem_of(text).await;
            assert_eq!(json["status"], 422, "{text}");
            assert_eq!(json["fields"], serde_json::json!([{"field": field, "code": code}]), "{text}");
        }
        for text in ["", "{", "{\"count\":}", "nonsense", r#"{"name":{"zh":"x"},"count":5} more"#] {
            assert_eq!(problem_of(text).await["code"], "bad_json", "{text}");
        }
    }
}
