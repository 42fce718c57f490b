//! Query keys of the API. A key that an operation does not document is refused. Otherwise a misspelt filter would
//! silently match everything. The OpenAPI document is the list.

use std::collections::HashSet;

use axum::extract::Request;
use serde_json::Value;

use crate::Problem;
use crate::document::Document;

/// The language of texts in the answer. Every operation takes it.
const LANGUAGE: &str = "lang";

/// A documented operation and its query keys.
struct Operation {
    method: String,
    /// The documented path, with parameters in braces.
    path: String,
    keys: HashSet<String>,
}

impl Operation {
    fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && is_path(&self.path, path)
    }
}

/// Whether a documented path, with parameters in braces, matches a request's path.
pub fn is_path(documented: &str, path: &str) -> bool {
    let is_part = |(documented, given): (&str, &str)| documented == given || documented.starts_with('{');
    documented.split('/').count() == path.split('/').count() && documented.split('/').zip(path.split('/')).all(is_part)
}

/// The operations of a document with their query keys.
#[derive(Default)]
pub struct QueryKeys(Vec<Operation>);

impl QueryKeys {
    pub fn of(document: &Value) -> QueryKeys {
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let queries = parameters.filter(|parameter| parameter["in"] == "query");
                let keys = queries.filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned())).collect();
                operations.push(Operation { method: method.to_uppercase(), path: path.clone(), keys });
            }
        }
        QueryKeys(operations)
    }
}

/// Refuses a request to a documented operation with a query key that it does not document.
pub fn check(document: &Document, request: &Request) -> Result<(), Problem> {
    let (method, path) = (request.method().as_str(), request.uri().path());
    let Some(query) = request.uri().query().filter(|query| !query.is_empty() && path.starts_with("/api/")) else {
        return Ok(());
    };
    let Some(operation) = document.query_keys().0.iter().find(|operation| operation.is(method, path)) else {
        return Ok(());
    };
    let mut given = url::form_urlencoded::parse(query.as_bytes()).map(|(key, _)| key);
    match given.find(|key| key != LANGUAGE && !operation.keys.contains(key.as_ref())) {
        Some(unknown) => Err(Problem::invalid_field(unknown, "unknown")),
        None => Ok(()),
    }
}
