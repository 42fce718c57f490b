//! The document of the API (OpenAPI 3.1). It is made from what handlers read and answer with: a file with handlers has
//! one table of [`operations!`](crate::operations), the extractors of a handler say what its request has
//! ([`Described`]), and the types of bodies, queries and answers describe themselves with `JsonSchema`. An answer of
//! every test is checked against the result (`tests/web/document.rs`).

mod described;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::handler::Handler;
use axum::http::StatusCode;
pub use described::{Described, DescribedArguments};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::problem::ProblemBody;
use crate::query_keys::QueryKeys;
use crate::{Code, Shop};
use domain::Scope;

const ABOUT: &str = "A flash-sale shop. Times are RFC 3339 in UTC, money is in minor units, ids are strings. A request that \
                     changes something must come from the same origin, or from a program that sends a token, or neither \
                     `Origin` nor `Sec-Fetch-Site`.";
const KEY: &str = "Makes the request repeatable: for 24 hours the same key with the same body gets the first answer, with \
                   `Idempotent-Replayed: true`, and nothing is made twice. Refusals (4xx) are not kept.";
const IF_MATCH: &str = "The `ETag` with which the resource was read: another version is not changed.";

const TOKEN: &str = "The token of a program, `sk_…`, which an owner of the shop makes, with the scope that the operation names. \
                     A cookie beside it is not read. `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` tell \
                     what is left, if the token has a rate.";

/// Where references to types of requests point until the document is finished.
const REQUEST_SCHEMAS: &str = "/components/requests";
const SCHEMAS: &str = "/components/schemas";

/// Declares the operations of a file as `pub fn document` and `pub fn routes`: after the summary (and, from the third line
/// on, a description) the method, the path, the name of the operation, the handler, what its extractors do not tell
/// ([`Operation`] has the words), its answers, and the problems that other operations do not have.
#[macro_export]
macro_rules! operations {
    ($tag:literal $(
        $(#[doc = $line:literal])+
        $method:ident $path:literal $id:ident = $handler:path $(, $word:ident $(<$type:ty>)? $(($argument:expr))?)*;
        $($status:literal $answer:ty $(, $text:literal)?;)*
        $(refuses $($code:ident)+;)?
    )*) => {
        /// Adds the operations of this file to the document.
        pub fn document(api: &mut $crate::document::Api) {
            $(
                let mut operation = api.operation(stringify!($method), $path, stringify!($id), $tag, &[$($line),+]);
                $crate::document::describe(&mut operation, $handler);
                $(operation.$word$(::<$type>)?($($argument)?);)*
                $(operation.answers::<$answer>($status, concat!($($text)?));)*
                $(operation.refuses(&[$($crate::problem::Code::$code),+]);)?
                operation.add();
            )*
        }

        /// The routes of the operations of this file.
        pub fn routes(shop: &std::sync::Arc<$crate::Shop>) -> $crate::router::Routes {
            $crate::router::Routes::new()$(.route(
                $path,
                $crate::router::operation($crate::router::MethodFilter::$method, $handler, &[$(stringify!($word)),*], shop),
            ))*
        }
    };
}

/// Adds what the extractors of a handler tell.
pub fn describe<A: DescribedArguments>(operation: &mut Operation<'_>, _: impl Handler<A, Arc<Shop>>) {
    A::describe(operation);
}

/// The document while it is collected.
pub struct Api {
    paths: Map<String, Value>,
    requests: SchemaGenerator,
    answers: SchemaGenerator,
    /// The responses that operations share: with one problem each.
    responses: Map<String, Value>,
}

impl Default for Api {
    fn default() -> Api {
        let settings = || SchemaSettings::draft2020_12().with_transform(for_generators as fn(&mut Schema));
        let at = |path: &'static str| move |settings: &mut SchemaSettings| settings.definitions_path = path.into();
        Api {
            paths: Map::new(),
            requests: settings().for_deserialize().with(at(REQUEST_SCHEMAS)).into_generator(),
            answers: settings()
                .for_serialize()
                .with(at(SCHEMAS))
                .with_transform(without_null as fn(&mut Schema))
                .into_generator(),
            responses: Map::new(),
        }
    }
}

/// Leaves out what generators of clients stumble over: widths of integers, and defaults, for which some take a field as one
/// that is always there. A default that is not simply nothing is said in words. Comments lose the marks of rustdoc.
fn for_generators(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.contains("int")) {
        schema.remove("format");
    }
    let nothing = [json!(null), json!(false), json!(""), json!([]), json!({})];
    if let Some(about) = schema.get("description").and_then(Value::as_str) {
        let about = about.replace("[`", "`").replace("`]", "`").replace("`None`", "`null`");
        schema.insert("description".to_owned(), about.into());
    }
    if let Some(default) = schema.remove("default").filter(|default| !nothing.contains(default)) {
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = format!("{about} By default `{default}`.");
        schema.insert("description".to_owned(), about.trim().into());
    }
    transform_subschemas(&mut (for_generators as fn(&mut Schema)), schema);
}

/// A field that an answer may leave out is never null.
fn without_null(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, field) in fields.filter(|(name, _)| !required.contains(&json!(name))) {
        not_null(field);
    }
    transform_subschemas(&mut (without_null as fn(&mut Schema)), schema);
}

/// Takes null from what a schema allows.
fn not_null(schema: &mut Value) {
    if let Some(kinds) = schema["type"].as_array() {
        schema["type"] = kinds.iter().find(|kind| **kind != "null").cloned().unwrap_or_default();
    }
    let Some(fields) = schema.as_object_mut() else { return };
    let Some(parts) = fields.get_mut("anyOf").and_then(Value::as_array_mut) else { return };
    parts.retain(|part| part["type"] != "null");
    if let [Value::Object(part)] = parts.as_slice() {
        let part = part.clone();
        fields.remove("anyOf");
        fields.extend(part);
    }
}

impl Api {
    pub fn operation(
        &mut self,
        method: &'static str,
        path: &'static str,
        id: &str,
        tag: &str,
        doc: &[&'static str],
    ) -> Operation<'_> {
        let (summary, description) = (doc[0].trim(), doc[1..].iter().map(|line| line.trim()).collect::<Vec<_>>());
        let mut json = json!({"operationId": id, "tags": [tag], "summary": summary, "security": []});
        if !description.is_empty() {
            json["description"] = description.join(" ").trim().into();
        }
        // A token in an address is a bad request anywhere.
        let mut codes = vec![Code::BadRequest, Code::Invalid, Code::Internal, Code::Unavailable];
        codes.extend((method != "GET").then_some(Code::CrossSite));
        Operation {
            api: self,
            method,
            path,
            json,
            parameters: Vec::new(),
            answers: Map::new(),
            codes,
            headers: Vec::new(),
            media: None,
        }
    }

    /// The document.
    pub fn finish(mut self) -> Value {
        let answers = self.answers.take_definitions(true);
        let requests = self.requests.take_definitions(true);
        let document = json!({
            "openapi": "3.1.0",
            "info": {"title": "Seckill", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT},
            "servers": [{"url": "/"}],
            "paths": self.paths,
            "components": {
                "responses": self.responses,
                "parameters": {
                    "IdempotencyKey": {
                        "name": "Idempotency-Key", "in": "header", "required": false, "description": KEY,
                        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
                    },
                    "IfMatch": {
                        "name": "If-Match", "in": "header", "required": false, "description": IF_MATCH,
                        "schema": {"type": "string"},
                    },
                },
                "headers": {
                    "ETag": {"description": "The version, for `If-Match`.", "schema": {"type": "string"}},
                    "Location": {"description": "Where the new resource can be read.", "schema": {"type": "string"}},
                },
                "securitySchemes": {
                    "session": {
                        "type": "apiKey", "in": "cookie", "name": "seckill", "description": "`__Host-seckill` on https.",
                    },
                    "token": {"type": "http", "scheme": "bearer", "description": TOKEN},
                },
            },
        });
        with_requests(document, answers, requests)
    }
}

/// The finished document, as the shop uses it.
pub struct Document {
    text: Bytes,
    query_keys: QueryKeys,
}

impl From<Api> for Document {
    fn from(api: Api) -> Document {
        let document = api.finish();
        Document { text: document.to_string().into(), query_keys: QueryKeys::of(&document) }
    }
}

impl Document {
    /// The document as JSON.
    pub fn text(&self) -> Bytes {
        self.text.clone()
    }

    pub fn query_keys(&self) -> &QueryKeys {
        &self.query_keys
    }
}

/// Adds the schemas of requests to the schemas of answers, and gives all their last names.
fn with_requests(mut document: Value, answers: Map<String, Value>, requests: Map<String, Value>) -> Value {
    let differing = differing(&answers, &requests);
    // Types are called `OrderJson` only to tell them from the order of the rules.
    let plain = |name: &str| {
        let plain = name.replace("Json", "");
        if answers.contains_key(&plain) || requests.contains_key(&plain) { name.to_owned() } else { plain }
    };
    let last = |reference: &str| {
        let (place, name) = reference.rsplit_once('/').unwrap_or_default();
        match place.strip_prefix('#') {
            Some(REQUEST_SCHEMAS) if differing.contains(name) => format!("#{SCHEMAS}/{}Input", plain(name)),
            Some(REQUEST_SCHEMAS | SCHEMAS) => format!("#{SCHEMAS}/{}", plain(name)),
            _ => reference.to_owned(),
        }
    };
    let own = requests
        .iter()
        .filter(|(name, _)| differing.contains(*name))
        .map(|(name, schema)| (format!("{}Input", plain(name)), schema.clone()));
    let common = requests.iter().filter(|(name, _)| !differing.contains(*name)).chain(&answers);
    let schemas = common.map(|(name, schema)| (plain(name), schema.clone())).chain(own);
    document["components"]["schemas"] = Value::Object(schemas.collect());
    for_references(&mut document, &last);
    document
}

/// The types that have one schema in requests and another in answers, for example because a field may be left out.
fn differing(answers: &Map<String, Value>, requests: &Map<String, Value>) -> BTreeSet<String> {
    let both = || requests.iter().filter_map(|(name, schema)| Some((name, schema, answers.get(name)?)));
    let mut differing = BTreeSet::new();
    for (name, request, answer) in both() {
        let mut request = request.clone();
        for_references(&mut request, &|reference| reference.replace(REQUEST_SCHEMAS, SCHEMAS));
        if request != *answer {
            differing.insert(name.clone());
        }
    }
    // What contains a type that differs, differs as well.
    loop {
        let refers = |schema: &Value| {
            let text = schema.to_string();
            differing.iter().any(|name| text.contains(&format!("{REQUEST_SCHEMAS}/{name}\"")))
        };
        let more: Vec<String> = both()
            .filter(|(name, request, _)| !differing.contains(*name) && refers(request))
            .map(|(name, ..)| name.clone())
            .collect();
        if more.is_empty() {
            return differing;
        }
        differing.extend(more);
    }
}

/// Replaces each reference in a document.
fn for_references(value: &mut Value, replaced: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(reference) if key == "$ref" => *reference = replaced(reference),
                    value => for_references(value, replaced),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| for_references(item, replaced)),
        _ => {}
    }
}

/// What is said about a response with one of these problems.
fn about(codes: &[Code]) -> String {
    let lines = codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.detail()));
    lines.collect::<Vec<_>>().join("\n\n")
}

/// An operation while it is described.
pub struct Operation<'a> {
    api: &'a mut Api,
    method: &'static str,
    path: &'static str,
    json: Value,
    parameters: Vec<Value>,
    answers: Map<String, Value>,
    codes: Vec<Code>,
    /// Headers of answers.
    headers: Vec<&'static str>,
    /// The type of answers, if it is not JSON.
    media: Option<&'static str>,
}

impl Operation<'_> {
    /// The request needs a session.
    pub fn session(&mut self) {
        self.json["security"] = json!([{"session": []}]);
    }

    /// The request needs the token of a program, with this scope. Operations of the staff take a session as well.
    pub fn token(&mut self, scope: Scope) {
        if let Some(ways) = self.json["security"].as_array_mut() {
            ways.push(json!({"token": [scope.as_str()]}));
        }
        self.refuses(&[Code::BadApiToken, Code::ScopeMissing, Code::ForeignNetwork, Code::RateLimited]);
    }

    /// The request may have an idempotency key ([`crate::idempotency`]). The handler may need its id as well.
    pub fn repeatable(&mut self) {
        let key = json!({"$ref": "#/components/parameters/IdempotencyKey"});
        if !self.parameters.contains(&key) {
            self.parameters.push(key);
            self.refuses(&[Code::KeyReused, Code::UnderWay]);
        }
    }

    /// The list of what an account has may be read at a rate only ([`crate::account_limits`]).
    pub fn limited(&mut self) {
        self.refuses(&[Code::RateLimited]);
    }

    /// The request may name the version that it changes.
    pub fn if_match(&mut self) {
        self.parameters.push(json!({"$ref": "#/components/parameters/IfMatch"}));
        self.refuses(&[Code::StaleVersion]);
    }

    /// Parameters in the path, in their order.
    pub fn path<T: JsonSchema>(&mut self) {
        let schema = self.api.requests.subschema_for::<T>();
        self.add_path(schema);
    }

    fn add_path(&mut self, schema: Schema) {
        let names = self.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let schemas = match schema.get("prefixItems").and_then(Value::as_array) {
            Some(parts) => parts.clone(),
            None => vec![schema.to_value()],
        };
        for (name, schema) in names.zip(schemas) {
            self.parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
        }
    }

    /// Keys of the query: the fields of the type.
    pub fn query<T: JsonSchema>(&mut self) {
        let fields = T::json_schema(&mut self.api.requests);
        self.add_query(fields);
    }

    fn add_query(&mut self, mut fields: Schema) {
        for_generators(&mut fields);
        let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, field) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let (mut schema, mut parameter) = (field.clone(), json!({"name": name, "in": "query"}));
            if let Some(description) = schema.as_object_mut().and_then(|schema| schema.remove("description")) {
                parameter["description"] = description;
            }
            // A key is left out rather than null.
            not_null(&mut schema);
            parameter["required"] = required.contains(&json!(name)).into();
            parameter["schema"] = schema;
            self.parameters.push(parameter);
        }
    }

    /// Leaves out a key of a query that another operation has.
    pub fn without_key(&mut self, key: &str) {
        self.parameters.retain(|parameter| parameter["name"] != key);
    }

    /// The language of texts in the answer.
    pub fn language(&mut self) {
        let schema = json!({"type": "string", "enum": ["zh", "en"]});
        self.parameters.push(json!({"name": "lang", "in": "query", "required": false, "schema": schema}));
    }

    pub fn header(&mut self, name: &str) {
        self.parameters.push(json!({"name": name, "in": "header", "required": true, "schema": {"type": "string"}}));
    }

    pub fn body<T: JsonSchema>(&mut self) {
        let schema = self.api.requests.subschema_for::<T>();
        self.set_body(schema);
    }

    fn set_body(&mut self, schema: Schema) {
        self.json["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        self.reads_body();
        self.refuses(&[Code::BadJson]);
    }

    /// A body that may be left out.
    pub fn optional_body<T: JsonSchema>(&mut self) {
        self.body::<T>();
        self.json["requestBody"]["required"] = false.into();
    }

    /// A body that generated requests begin with.
    pub fn example(&mut self, json: &str) {
        let example: Value = serde_json::from_str(json).unwrap_or_default();
        self.json["requestBody"]["content"]["application/json"]["example"] = example;
    }

    /// A body that is a picture.
    pub fn picture(&mut self) {
        let kinds = ["image/png", "image/jpeg", "image/webp"].map(|kind| (kind.to_owned(), json!({"schema": {}})));
        self.json["requestBody"] = json!({"required": true, "content": Map::from_iter(kinds)});
        self.reads_body();
    }

    fn reads_body(&mut self) {
        self.refuses(&[Code::BadRequest, Code::RequestTimeout, Code::TooLarge, Code::UnsupportedMediaType]);
    }

    /// The tag, where it is not the file's.
    pub fn tag(&mut self, tag: &str) {
        self.json["tags"] = json!([tag]);
    }

    /// Answers are CSV.
    pub fn csv(&mut self) {
        self.media = Some("text/csv");
    }

    /// Answers are server-sent events.
    pub fn events(&mut self) {
        self.media = Some("text/event-stream");
    }

    /// Problems that the operation may end in.
    pub fn refuses(&mut self, codes: &[Code]) {
        let new = codes.iter().filter(|code| !self.codes.contains(code)).collect::<Vec<_>>();
        self.codes.extend(new);
    }

    /// The answers have the version.
    pub fn versioned(&mut self) {
        self.headers.push("ETag");
    }

    /// The answer tells where what was created can be read.
    pub fn located(&mut self) {
        self.headers.push("Location");
    }

    /// An answer. `()` has no body.
    pub fn answers<T: JsonSchema>(&mut self, status: u16, text: &str) {
        let schema = self.api.answers.subschema_for::<T>();
        self.add_answer(status, text, schema);
    }

    fn add_answer(&mut self, status: u16, text: &str, schema: Schema) {
        let usual = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        let mut answer = json!({"description": if text.is_empty() { usual.unwrap_or_default() } else { text }});
        if schema != <()>::json_schema(&mut self.api.answers) {
            answer["content"] = json!({self.media.unwrap_or("application/json"): {"schema": schema}});
            for header in self.headers.iter().filter(|header| **header != "Location" || status != 200) {
                answer["headers"][header] = json!({"$ref": format!("#/components/headers/{header}")});
            }
        }
        self.answers.insert(status.to_string(), answer);
    }

    pub fn add(mut self) {
        self.codes.sort_by_key(|code| code.status());
        let problem = self.api.answers.subschema_for::<ProblemBody>();
        for codes in self.codes.chunk_by(|a, b| a.status() == b.status()) {
            let content = json!({"application/problem+json": {"schema": problem}});
            let mut response = json!({"description": about(codes), "content": content});
            if let [code] = codes {
                let name = format!("{code:?}");
                self.api.responses.insert(name.clone(), response);
                response = json!({"$ref": format!("#/components/responses/{name}")});
            }
            self.answers.insert(codes[0].status().as_str().to_owned(), response);
        }
        if !self.parameters.is_empty() {
            self.json["parameters"] = self.parameters.into();
        }
        self.json["responses"] = self.answers.into();
        let path = self.api.paths.entry(self.path).or_insert_with(|| json!({}));
        path[self.method.to_lowercase()] = self.json;
    }
}
