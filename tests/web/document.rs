//! Checks every answer that a test gets from the API against the OpenAPI document: its status, the code of a problem,
//! the type and the shape of its body. A field that the document does not name is an error, too.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use boon::{Compiler, Schemas};

use super::*;
use web::problem::Code;
use web::query_keys::is_path;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// Codes that any operation may answer with, if the document names their status for it.
const COMMON: [Code; 14] = [
    Code::BadRequest,
    Code::BadJson,
    Code::NotSignedIn,
    Code::CrossSite,
    Code::NotAllowed,
    Code::MustChangePassword,
    Code::SecondFactorRequired,
    Code::NotFound,
    Code::RequestTimeout,
    Code::TooLarge,
    Code::UnsupportedMediaType,
    Code::Invalid,
    Code::Internal,
    Code::Unavailable,
];

/// The document as it is.
pub fn document() -> Value {
    serde_json::from_slice(&seckill::app::DOCUMENT.text()).unwrap()
}

/// The document, with objects that allow only the properties they name.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = document();
    close(&mut document["paths"], true);
    // The schemas themselves stay open, because `allOf` extends some of them. Their uses are closed.
    for schema in document["components"]["schemas"].as_object_mut().unwrap().values_mut() {
        close(schema, false);
    }
    document
});

fn close(schema: &mut Value, and_itself: bool) {
    match schema {
        Value::Object(fields) => {
            let is_open = !fields.contains_key("additionalProperties") && !fields.contains_key("unevaluatedProperties");
            let names_properties = fields.contains_key("properties") && fields.contains_key("type")
                || fields.contains_key("allOf")
                || fields.get("$ref").is_some_and(is_object);
            for (name, inner) in fields.iter_mut() {
                match (name.as_str(), inner) {
                    ("allOf", Value::Array(parts)) => parts.iter_mut().for_each(|part| close(part, false)),
                    (_, inner) => close(inner, true),
                }
            }
            if and_itself && is_open && names_properties {
                fields.insert("unevaluatedProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, true)),
        _ => {}
    }
}

fn is_object(target: &Value) -> bool {
    static OBJECTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().unwrap().iter();
        let objects = schemas.filter(|(_, schema)| schema["type"] == "object" || schema.get("allOf").is_some());
        objects.map(|(name, _)| format!("#/components/schemas/{name}")).collect()
    });
    target.as_str().is_some_and(|target| OBJECTS.contains(target))
}

/// The documented path of a request, and its operations.
fn documented(path: &str) -> Option<(&'static str, &'static Value)> {
    let path = path.split('?').next().unwrap();
    let paths = DOCUMENT["paths"].as_object().unwrap();
    // A path without parameters is preferred to paths with some.
    let exact = paths.get_key_value(path).into_iter();
    let (pattern, operations) = exact.chain(paths.iter().filter(|(pattern, _)| is_path(pattern, path))).next()?;
    Some((pattern, operations))
}

fn resolved(value: &'static Value) -> (&'static Value, Option<String>) {
    match value["$ref"].as_str() {
        Some(target) => (DOCUMENT.pointer(target.trim_start_matches('#')).unwrap(), Some(target.to_owned())),
        None => (value, None),
    }
}

/// Fails if the document does not allow this answer to a request.
pub fn check(method: &str, path: &str, answer: &TestResponse) {
    // The other providers want answers in forms of their own.
    if path.starts_with("/api/webhooks/payments/") && !path.ends_with("/sandbox") {
        return;
    }
    let Some((pattern, operations)) = documented(path).filter(|_| path.starts_with("/api/")) else { return };
    let method = method.to_lowercase();
    let Some(operation) = operations.get(&method) else { return };
    let (status, request) = (answer.status.as_u16(), format!("{method} {path}"));
    let Some(response) = operation["responses"].get(status.to_string()) else {
        panic!("{request}: status {status} is not documented; {}", answer.text());
    };
    let place = format!("#/paths/{}/{method}/responses/{status}", pattern.replace('/', "~1"));
    let (response, target) = resolved(response);
    let names_location = response.pointer("/headers/Location").is_some();
    assert_eq!(answer.header("location").starts_with("/api/"), names_location, "{request}: {status}: Location");
    let content = &response["content"];
    let kind = answer.header("content-type").split(';').next().unwrap();
    if content.is_null() {
        assert_eq!((kind, answer.body.len()), ("", 0), "{request}: {status} is documented without a body");
        return;
    }
    assert!(content.get(kind).is_some(), "{request}: {status} is not documented as {kind:?}");
    if !kind.ends_with("json") {
        return;
    }
    let schema = format!("{}/content/{}/schema", target.unwrap_or(place), kind.replace('/', "~1"));
    check_shape(&schema, &answer.json())
        .unwrap_or_else(|error| panic!("{request}: {status}: {error}\n{}", answer.text()));
    if kind == "application/problem+json" {
        let (code, described) = (answer.code(), response["description"].as_str().unwrap());
        let is_common = COMMON.iter().any(|common| common.as_str() == code);
        assert!(is_common || described.contains(&format!("`{code}`")), "{request}: {status} does not name {code}");
    }
}

thread_local! {
    static SHAPES: RefCell<(Compiler, Schemas)> = RefCell::new({
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource("http://shop/openapi.json", DOCUMENT.clone()).unwrap();
        (compiler, Schemas::new())
    });
}

fn check_shape(schema: &str, body: &Value) -> Result<(), String> {
    let schema = format!("http://shop/openapi.json{}", schema.replace('{', "%7B").replace('}', "%7D"));
    SHAPES.with_borrow_mut(|(compiler, schemas)| {
        let index = compiler.compile(&schema, schemas).map_err(|error| format!("{error:#}"))?;
        schemas.validate(body, index).map_err(|error| format!("{error:#}"))
    })
}

#[test]
fn operations_are_routes_and_have_names_of_their_own() {
    let document = DOCUMENT["paths"].as_object().unwrap();
    let operations = document.iter().flat_map(|(path, operations)| {
        METHODS.iter().filter_map(move |method| Some((path.as_str(), *method, operations.get(*method)?)))
    });
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations {
        let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no operationId"));
        assert!(names.insert(name), "{name} names two operations");
        assert!(operation["responses"].get("default").is_none(), "{name}: each status is named");
    }
    // Two types of one name get numbers, which would change when a third one comes.
    let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap().keys();
    let numbered: Vec<&String> = schemas.filter(|name| name.ends_with(|last: char| last.is_ascii_digit())).collect();
    assert!(numbered.is_empty(), "name these types with #[schemars(rename = …)]: {numbered:?}");
}

/// Every documented operation has a handler, and every handler of a documented path is documented. The answer to a
/// wrong method names the methods of a path.
#[tokio::test]
async fn methods_of_every_path_are_documented() {
    let shop = TestShop::open().await;
    for (path, operations) in DOCUMENT["paths"].as_object().unwrap() {
        let filled = path.replace("{name}", "a.webp").replace(['{', '}'], "");
        let answer = shop.visitor().send("OPTIONS", &filled, &[], Body::empty()).await;
        let allowed = answer.header("allow").to_lowercase();
        let allowed: BTreeSet<&str> =
            allowed.split(',').map(str::trim).filter(|method| METHODS.contains(method)).collect();
        let documented: BTreeSet<&str> =
            METHODS.into_iter().filter(|method| operations.get(method).is_some()).collect();
        assert_eq!(allowed, documented, "{path}: {answer:?}");
    }
}
