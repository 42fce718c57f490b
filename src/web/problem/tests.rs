use std::collections::HashSet;

use crate::problem::*;

pub(super) fn body(problem: Problem) -> (Response, serde_json::Value) {
    let own_body = problem.extra.as_ref().map(|extra| extra.body(problem.code));
    let bytes = own_body.unwrap_or_else(|| Bytes::from_static(problem.code.body().as_bytes()));
    (problem.into_response(), serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn codes_are_unique_and_bodies_carry_the_status() {
    let codes: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes.len(), Code::ALL.len());
    for &code in Code::ALL {
        let (response, json) = body(Problem::new(code));
        assert_eq!(json["code"], code.as_str());
        assert_eq!(json["status"], response.status().as_u16());
        assert_eq!(json["type"], "about:blank");
        assert_eq!(response.headers()[CONTENT_TYPE], PROBLEM_JSON);
        let is_temporary = matches!(response.status().as_u16(), 429 | 503);
        assert_eq!(response.headers().contains_key(RETRY_AFTER), is_temporary, "{}", code.as_str());
    }
}

#[test]
fn problem_names_fields_and_hides_inner_errors() {
    let (response, json) = body(Problem::invalid_field("total", "bad_number"));
    assert_eq!(response.status(), 422);
    assert_eq!(json["fields"][0], serde_json::json!({"field": "total", "code": "bad_number"}));

    let (response, json) = body(Problem::internal("password of the database: 1234"));
    assert!(!json.to_string().contains("1234"));
    let context = response.extensions().get::<ProblemContext>().unwrap();
    assert!(context.cause.as_ref().unwrap().to_string().contains("1234"), "it is kept for the log");
}
