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

/// Statuses and codes in the table of errors of the API's document.
#[test]
fn document_names_every_code_with_its_status_and_no_other() {
    let document = include_str!("../../../docs/api.md").split("## Errors").nth(1).unwrap();
    let rows = document.lines().filter(|line| line.starts_with("| ")).skip(2);
    let mut named: Vec<(String, &str)> = Vec::new();
    for row in rows {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let (statuses, codes) = (cells.next().unwrap(), cells.next().unwrap());
        for code in codes.split('`').skip(1).step_by(2).filter(|code| !code.contains('/')) {
            named.push((statuses.to_owned(), code));
        }
    }
    for code in Code::ALL {
        let status = code.status().as_u16().to_string();
        let found = named.iter().any(|(statuses, name)| *name == code.as_str() && statuses.contains(&status));
        assert!(found, "docs/api.md has no row for {status} {}", code.as_str());
    }
    for (_, name) in named {
        assert!(Code::ALL.iter().any(|code| code.as_str() == name), "docs/api.md names {name}, which no answer has");
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
