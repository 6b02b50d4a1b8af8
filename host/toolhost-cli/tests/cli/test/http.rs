//! HTTP requests of a tool are answered by its case, and reach nothing else.

use serde_json::Value;

use super::generated::hostile;
use crate::terminal::Terminal;

/// The report of these cases of a tool that sends requests.
fn report(cases: &str) -> Value {
    let terminal = Terminal::new();
    hostile(&terminal, "fetch", "{type: object}");
    terminal.write("here/tests/a.yaml", cases);
    let ran = terminal.run(["test", "--no-generated", "-q", "--json"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    ran.json()
}

const POLICY: &str = "policy: {tools: {x: {http: {allow: ['https://api.example.com', 'http://other.example:8080']}}}}";

#[test]
fn requests_are_answered_by_method_host_and_path() {
    let report = report(&format!(
        "- name: each has its answer
  tool: x__run
  args: {{url: 'https://api.example.com/v1?y=1', times: 3}}
  {POLICY}
  http:
    - {{url: 'https://api.example.com/v1', body: no query}}
    - {{url: 'http://api.example.com:8080/v1?y=1', body: another host}}
    - {{method: POST, url: 'https://api.example.com/v1?y=1', body: another method}}
    - {{url: 'https://api.example.com/v1?y=1', status: 503, delayMs: 20}}
    - {{url: 'https://api.example.com/v1?y=1', headers: {{x-a: b}}, json: {{a: 1}}}}
  repeat: 2
  parallel: 2
  expect:
    outputAt: {{/answers/0/status: 503, /answers/1/status: 200, /answers/2/status: 200}}
    outputMatches: {{/answers/1/body: '^.\"a\":1.$'}}
    denials: []
- name: a port is part of the host
  tool: x__run
  args: {{url: 'http://other.example:8080/'}}
  {POLICY}
  http: [{{url: 'http://other.example:8080', body: hi}}]
  expect: {{outputAt: {{/answers/0/body: hi}}}}
"
    ));
    assert_eq!(report["ok"], true, "{report:#}");
}

#[test]
fn a_request_without_an_answer_fails_the_case() {
    let report = report(&format!(
        "- name: nothing answers
  tool: x__run
  args: {{url: 'https://api.example.com/v2'}}
  {POLICY}
  http: [{{url: 'https://api.example.com/v1'}}]
  expect: {{outputAt: {{/answers/0/status: 599}}}}
"
    ));
    let problems = report["cases"][0]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{report:#}");
    assert_eq!(problems[0]["what"], "http");
    assert_eq!(problems[0]["got"], "GET api.example.com/v2");
}

#[test]
fn an_answer_does_not_grant_the_request() {
    let report = report(
        "- name: no policy
  tool: x__run
  args: {url: 'https://api.example.com/v1'}
  http: [{url: 'https://api.example.com/v1', body: hi}]
  expect: {outputMatches: {/answers/0/error: Denied}}
",
    );
    assert_eq!(report["ok"], true, "{report:#}");
}

#[test]
fn a_case_that_lacks_a_policy_fails_with_the_line_that_grants_what_was_denied() {
    let terminal = Terminal::new();
    hostile(&terminal, "fetch", "{type: object}");
    let case = "- name: forgotten
  tool: x__run
  args: {url: 'https://api.example.com/v1'}
  http: [{url: 'https://api.example.com/v1', body: hi}]
  expect: {outputAt: {/answers/0/status: 200}}
";
    terminal.write("here/tests/a.yaml", case);
    let line = r#"tools: {x: {http: {allow: ["GET https://api.example.com/v1"]}}}"#;
    let ran = terminal.run(["test", "--no-generated", "-q"]).exits(1);
    let mut lines = ran.stdout.lines().map(str::trim);
    assert!(
        lines.any(|shown| shown == "denied: http: GET https://api.example.com/v1"),
        "{ran:?}"
    );
    assert!(lines.any(|shown| shown == line), "{ran:?}");
    let report = terminal.run(["test", "--no-generated", "-q", "--json"]);
    let report = report.exits(1).json();
    assert_eq!(
        report["cases"][0]["grants"][0]["policy"], line,
        "{report:#}"
    );
    let junit = ["test", "--no-generated", "-q", "--junit", "r.xml"];
    terminal.run(junit).exits(1);
    let junit = std::fs::read_to_string(terminal.path("here/r.xml")).unwrap();
    assert!(junit.contains("granted by: tools: {x: {http: "), "{junit}");

    // No hint is printed for a denial that the case expects.
    let expected = case.replace(
        "expect: {",
        "expect: {denials: ['http: GET https://api.example.com/v1'], ",
    );
    terminal.write("here/tests/a.yaml", expected);
    let ran = terminal.run(["test", "--no-generated", "-q"]).exits(1);
    assert!(!ran.stdout.contains("denied: "), "{ran:?}");

    // With the line, the case passes.
    terminal.write(
        "here/tests/a.yaml",
        format!("{case}  policy:\n    {line}\n"),
    );
    terminal.run(["test", "--no-generated", "-q"]).exits(0);
}
