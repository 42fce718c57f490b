//! The document was written by hand once. Nothing that it said is lost: every operation, parameter, status, problem code,
//! header, field, bound and pattern is in the generated one. That one may say more. What differs on purpose stands in
//! [`IMPROVEMENTS`] with the reason.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;

use super::*;
use web::problem::Code;

/// What a difference contains, and why it is one.
const IMPROVEMENTS: &[(&str, &str)] = &[
    ("403: [\"cross_site\"] gone", "only requests that change something are held to the origin"),
    ("404: [\"no_such_packet\", \"no_such_sale\"] gone", "the path has neither"),
    ("404: [\"no_such_packet\"] gone", "the path has no packet"),
    ("401: gone", "visitors get 404 from every operation of the staff"),
    ("challenge 400: gone", "the operation reads no body"),
    ("400: [\"bad_json\"] gone", "the body is a picture"),
    ("put /api/account/second-factor 422: [\"bad_code\"] gone", "the code of a field, not of the problem"),
    ("history[].actor: gone", "shoppers never got it; the staff's order has a type of its own"),
    ("history[].note: gone", "as above"),
    ("payment_declined: enum [true], gone", "generators of clients have no type for one boolean"),
    ("repeated: enum [true], gone", "as above"),
    (".place", "a dead letter has one of two places, each with its own fields"),
    ("button 200.mode: enum", "every mode has one type"),
    (".reasons: additionalProperties", "each reason is named"),
    ("draw.excluded: additionalProperties", "each reason is named"),
    ("/payments 20", "a started payment has one type, because generators of clients stumble over two"),
    ("body.data.instrument: new", "it was read and not documented"),
];

/// A schema without words, with references resolved, and with one form for what has several: a value that may be null,
/// a list of constants, parts that belong together.
fn plain(document: &Value, schema: &Value) -> Map<String, Value> {
    let mut plain_schema = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            "description" | "example" | "examples" | "title" | "default" => {}
            "$ref" => {
                let target = document.pointer(value.as_str().unwrap().trim_start_matches('#')).unwrap();
                merge(&mut plain_schema, plain(document, target));
            }
            "allOf" => {
                for part in value.as_array().unwrap() {
                    merge(&mut plain_schema, plain(document, part));
                }
            }
            "oneOf" | "anyOf" => {
                let parts: Vec<_> = value.as_array().unwrap().iter().map(|part| plain(document, part)).collect();
                let (null, parts): (Vec<_>, Vec<_>) =
                    parts.into_iter().partition(|part| part.get("type") == Some(&json!("null")));
                if !null.is_empty() {
                    plain_schema.insert("null".to_owned(), json!(true));
                }
                match parts.as_slice() {
                    [one] => merge(&mut plain_schema, one.clone()),
                    many if many.iter().all(|part| part.contains_key("enum")) => {
                        let constants = many.iter().flat_map(|part| part["enum"].as_array().unwrap().clone());
                        plain_schema.insert("enum".to_owned(), constants.collect());
                    }
                    many => drop(plain_schema.insert("anyOf".to_owned(), json!(many))),
                }
            }
            "const" => drop(plain_schema.insert("enum".to_owned(), json!([value]))),
            "type" if value.is_array() => {
                let (null, kinds): (Vec<_>, Vec<_>) =
                    value.as_array().unwrap().iter().partition(|kind| **kind == "null");
                if !null.is_empty() {
                    plain_schema.insert("null".to_owned(), json!(true));
                }
                plain_schema.insert("type".to_owned(), kinds[0].clone());
            }
            "properties" => {
                let fields = value.as_object().unwrap().iter();
                let fields = fields.map(|(name, field)| (name.clone(), Value::Object(plain(document, field))));
                merge(&mut plain_schema, Map::from_iter([(key.clone(), Value::Object(fields.collect()))]));
            }
            "additionalProperties" if *value == json!(true) => {}
            "items" => drop(plain_schema.insert(key.clone(), Value::Object(plain(document, value)))),
            _ => merge(&mut plain_schema, Map::from_iter([(key.clone(), value.clone())])),
        }
    }
    if let Some(constants) = plain_schema.get("enum").and_then(Value::as_array).cloned() {
        let (null, mut constants): (Vec<_>, Vec<_>) = constants.into_iter().partition(Value::is_null);
        if !null.is_empty() {
            plain_schema.insert("null".to_owned(), json!(true));
        }
        constants.sort_by_key(ToString::to_string);
        plain_schema.insert("enum".to_owned(), constants.into());
        plain_schema.remove("type");
    }
    plain_schema
}

fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(fields)), Value::Object(more)) => fields.extend(more),
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// Collects what the first schema says and the second does not.
fn compare(
    place: &str,
    before: &Map<String, Value>,
    now: &Map<String, Value>,
    is_answer: bool,
    lost: &mut Vec<String>,
) {
    let names = |schema: &Map<String, Value>| -> BTreeSet<String> {
        let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let empty = Map::new();
    let fields = |schema: &Map<String, Value>| schema.get("properties").and_then(Value::as_object).cloned();
    for (key, value) in before {
        match key.as_str() {
            // An answer may promise more, a request must not ask for more.
            "required" => {
                let (before, now) = (names(before), names(now));
                let is_kept = if is_answer { before.is_subset(&now) } else { before == now };
                if !is_kept {
                    lost.push(format!("{place}: required {before:?}, now {now:?}"));
                }
            }
            "properties" => {
                let now = fields(now).unwrap_or_default();
                for (name, field) in value.as_object().unwrap() {
                    let place = format!("{place}.{name}");
                    match now.get(name).and_then(Value::as_object) {
                        Some(now) => compare(&place, field.as_object().unwrap(), now, is_answer, lost),
                        None => lost.push(format!("{place}: gone")),
                    }
                }
            }
            "items" => {
                let now = now.get("items").and_then(Value::as_object).unwrap_or(&empty);
                compare(&format!("{place}[]"), value.as_object().unwrap(), now, is_answer, lost);
            }
            "anyOf" => {
                let (before, now) = (value.as_array(), now.get(key).and_then(Value::as_array));
                let (before, now) = (before.into_iter().flatten(), now.into_iter().flatten());
                if before.clone().count() != now.clone().count() {
                    lost.push(format!("{place}: other alternatives"));
                }
                for (before, now) in before.zip(now).filter_map(|(before, now)| before.as_object().zip(now.as_object()))
                {
                    compare(place, before, now, is_answer, lost);
                }
            }
            _ if now.get(key) == Some(value) => {}
            _ => {
                let now = now.get(key).map_or("gone".to_owned(), |now| format!("now {now}"));
                lost.push(format!("{place}: {key} {value}, {now}"));
            }
        }
    }
    if !is_answer && !before.contains_key("required") && !names(now).is_empty() && before.contains_key("properties") {
        lost.push(format!("{place}: now required {:?}", names(now)));
    }
    // An optional field of a request may be null: it counts as left out.
    if is_answer && now.contains_key("null") && !before.contains_key("null") && !before.is_empty() {
        lost.push(format!("{place}: now null as well"));
    }
    if let (Some(before), Some(now)) = (fields(before), fields(now)) {
        let new = now.keys().filter(|name| !before.contains_key(*name));
        lost.extend(new.map(|name| format!("{place}.{name}: new")));
    }
}

/// A document, whose operations are read by method and path.
struct Side(Value);

impl Side {
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let target = value["$ref"].as_str().map(|target| target.trim_start_matches('#'));
        target.map_or(value, |target| self.0.pointer(target).unwrap())
    }

    fn operations(&self) -> BTreeMap<String, &Value> {
        let paths = self.0["paths"].as_object().unwrap().iter();
        let operations = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
        });
        operations.collect()
    }

    fn parameters<'a>(&'a self, operation: &'a Value) -> BTreeMap<String, &'a Value> {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.map(|parameter| self.resolved(parameter));
        parameters
            .map(|one| (format!("{} {}", one["in"].as_str().unwrap(), one["name"].as_str().unwrap()), one))
            .collect()
    }

    fn schemas<'a>(&'a self, content: &'a Value) -> BTreeMap<&'a str, Map<String, Value>> {
        let kinds = content.as_object().into_iter().flatten();
        kinds.map(|(kind, content)| (kind.as_str(), plain(&self.0, &content["schema"]))).collect()
    }

    fn codes(&self, response: &Value) -> BTreeSet<&'static str> {
        let words: BTreeSet<&str> = response["description"].as_str().unwrap().split('`').skip(1).step_by(2).collect();
        let codes = Code::ALL.iter().map(|code| code.as_str());
        codes.filter(|code| words.contains(code)).collect()
    }

    fn is_problem(&self, response: &Value) -> bool {
        response["content"].get("application/problem+json").is_some()
    }
}

fn differences(before: &Side, now: &Side) -> Vec<String> {
    let mut lost = Vec::new();
    let operations = now.operations();
    assert_eq!(before.operations().keys().collect::<Vec<_>>(), operations.keys().collect::<Vec<_>>());
    for (name, old) in before.operations() {
        let new = operations[&name];
        for key in ["operationId", "tags"] {
            assert_eq!(old[key], new[key], "{name}");
        }
        let public = json!([]);
        assert_eq!(old.get("security").unwrap_or(&public), &new["security"], "{name}");
        let (olds, news) = (before.parameters(old), now.parameters(new));
        lost.extend(news.keys().filter(|key| !olds.contains_key(*key)).map(|key| format!("{name} {key}: new")));
        for (key, old) in olds {
            let place = format!("{name} {key}");
            let Some(new) = news.get(&key) else {
                lost.push(format!("{place}: gone"));
                continue;
            };
            if old["required"].as_bool().unwrap_or(false) != new["required"].as_bool().unwrap_or(false) {
                lost.push(format!("{place}: required {}, now {}", old["required"], new["required"]));
            }
            compare(&place, &plain(&before.0, &old["schema"]), &plain(&now.0, &new["schema"]), false, &mut lost);
        }
        if old["requestBody"]["required"] != new["requestBody"]["required"] {
            lost.push(format!(
                "{name}: body {}, now {}",
                old["requestBody"]["required"], new["requestBody"]["required"]
            ));
        }
        let bodies = now.schemas(&new["requestBody"]["content"]);
        for (kind, old) in before.schemas(&old["requestBody"]["content"]) {
            compare(&format!("{name} body"), &old, &bodies[kind], false, &mut lost);
        }
        for (status, response) in old["responses"].as_object().unwrap() {
            let (old, place) = (before.resolved(response), format!("{name} {status}"));
            let Some(new) = new["responses"].get(status).map(|response| now.resolved(response)) else {
                lost.push(format!("{place}: gone"));
                continue;
            };
            if before.is_problem(old) {
                let (old, new) = (before.codes(old), now.codes(new));
                let gone: Vec<_> = old.difference(&new).collect();
                if !gone.is_empty() {
                    lost.push(format!("{place}: {gone:?} gone"));
                }
                continue;
            }
            let headers = |response: &Value| -> Vec<String> {
                response["headers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
            };
            if headers(old).iter().collect::<BTreeSet<_>>() != headers(new).iter().collect() {
                lost.push(format!("{place}: headers {:?}, now {:?}", headers(old), headers(new)));
            }
            let (olds, news) = (before.schemas(&old["content"]), now.schemas(&new["content"]));
            assert_eq!(olds.keys().collect::<Vec<_>>(), news.keys().collect::<Vec<_>>(), "{place}");
            for (kind, old) in olds {
                compare(&place, &old, &news[kind], true, &mut lost);
            }
        }
    }
    lost
}

#[test]
fn generated_document_says_what_the_one_written_by_hand_said() {
    let before = Side(serde_json::from_str(include_str!("openapi_before.json")).unwrap());
    let now = Side(serde_json::from_slice(&seckill::app::document().text()).unwrap());
    let found = differences(&before, &now);
    let is_meant = |difference: &&String| IMPROVEMENTS.iter().any(|(part, _)| difference.contains(part));
    let lost: Vec<_> = found.iter().filter(|difference| !is_meant(difference)).collect();
    assert!(
        lost.is_empty(),
        "{} differences:\n{}",
        lost.len(),
        lost.iter().map(|l| l.as_str()).collect::<Vec<_>>().join("\n")
    );
    for (part, reason) in IMPROVEMENTS {
        assert!(found.iter().any(|difference| difference.contains(part)), "{part} ({reason}) is not a difference");
    }
}
