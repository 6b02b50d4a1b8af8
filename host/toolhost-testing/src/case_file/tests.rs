use serde_json::json;
use toolhost_contract::ToolStatus;

use toolhost_contract::JsonObject;

use super::*;
use crate::case::CaseContext;
use crate::work_tree::Content;

fn parse(text: &str) -> Result<CaseFile, Vec<String>> {
    let parsed = CaseFile::parse(&YamlSource::new("tests/a.yaml", text));
    parsed.map_err(|findings| findings.iter().map(ToString::to_string).collect())
}

/// One case with these further lines.
fn case(lines: &str) -> Result<Case, Vec<String>> {
    let file = parse(&format!("- name: a\n  tool: x__y\n{lines}"))?;
    Ok(file.cases()[0].clone())
}

#[test]
fn the_cases_of_the_templates_are_read() {
    for language in [
        "rust/template/tests/count.yaml",
        "typescript/template/tests/count.yaml",
        "python/template/tests/count.yaml",
    ] {
        let path = format!("{}/../../guest-sdk/{language}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path)
            .unwrap()
            .replace("{{name}}", "notes");
        let file = parse(&text).unwrap();
        let [counts, missing] = file.cases() else {
            panic!("{language} has two cases");
        };
        assert_eq!(counts.tool, "notes__count");
        assert_eq!(counts.files.len(), 1);
        assert_eq!(counts.expect.status(), ToolStatus::Ok);
        assert_eq!(counts.expect.output.as_ref().unwrap()["lines"], 2);
        assert_eq!(missing.expect.status(), ToolStatus::Error);
    }
}

#[test]
fn the_cases_of_the_examples_are_read() {
    let examples = format!("{}/../../guest-examples", env!("CARGO_MANIFEST_DIR"));
    for file in [
        "tests/echo.yaml",
        "tests/file-system.yaml",
        "tests/text.yaml",
        "python/csv-stats/tests/describe.yaml",
        "typescript/text-transform/tests/case.yaml",
    ] {
        let text = std::fs::read_to_string(format!("{examples}/{file}")).unwrap();
        let file = parse(&text).unwrap();
        assert!(file.cases().len() >= 3);
    }
}

#[test]
fn keys_that_are_left_out_have_defaults() {
    let case = case("").unwrap();
    assert_eq!(case.args, JsonObject::new());
    assert_eq!((case.repeat, case.parallel), (1, 1));
    assert_eq!(case.expect.status(), ToolStatus::Ok);
    assert_eq!(case.context, CaseContext::default());
}

#[test]
fn every_key_is_read() {
    let case = case(
        "  args: {n: 1, deep: [true, null, 1.5]}
  context: {agentName: coder, instanceKey: k, turnId: t, traceId: r, message: hi}
  files: {a.txt: 'text', b.bin: {base64: AAEC}, c: {dir: true}}
  policy: {tools: {x: {readOnly: true}}}
  http: [{method: POST, url: 'https://a.example/x?y=1', status: 201, headers: {X-A: 1}, json: {b: 2}, delayMs: 5}]
  repeat: 2
  parallel: 3
  expect:
    error: {code: MINE, message: {matches: '^no'}, suggestion: try}
    files: {a.txt: 'text', b.bin: {base64: AAEC}, c: {dir: true}, d: null, e: {matches: x}}
    log: [one, {level: warn, matches: two}, {level: info, text: three}]
    usage: {wallMs: 500, memoryPeak: 16MiB}
    denials: ['network: tcp']
",
    )
    .unwrap();
    assert_eq!(json!(case.args), json!({"n": 1, "deep": [true, null, 1.5]}));
    assert_eq!(case.files[1].1, Content::File(vec![0, 1, 2]));
    let answer = &case.http[0];
    assert_eq!(
        (answer.authority.as_str(), answer.path.as_str()),
        ("a.example", "/x?y=1")
    );
    assert_eq!(answer.body, b"{\"b\":2}");
    assert_eq!(answer.headers.len(), 2);
    assert_eq!(case.expect.status(), ToolStatus::Error);
    assert_eq!(case.expect.usage[1], ("memoryPeak".to_owned(), 16 << 20));
    assert_eq!(case.expect.files.len(), 5);
    assert_eq!(case.expect.log.len(), 3);
    assert!(case.policy.is_some());
}

#[test]
fn every_error_is_reported_with_its_place() {
    let check = |lines: &str, expected: &str| {
        let findings = case(lines).map(|_| ()).unwrap_err();
        assert_eq!(findings, [format!("tests/a.yaml:{expected}")], "{lines}");
    };
    check(
        "  arg: {}\n",
        "3:3: error[E_CONFIG_SCHEMA_INVALID] [0].arg: unknown key 'arg'",
    );
    check(
        "  args: []\n",
        "3:9: error[E_CONFIG_SCHEMA_INVALID] [0].args: expected a mapping but got a list",
    );
    check(
        "  files: {../a: x}\n",
        "3:11: error[E_CONFIG_SCHEMA_INVALID] [0].files.../a: '../a' is not a path in the workdir, such as notes/a.txt",
    );
    check(
        "  files: {a: 1}\n",
        "3:14: error[E_CONFIG_SCHEMA_INVALID] [0].files.a: expected the text of a file, {base64: …} or {dir: true} but got an integer",
    );
    check(
        "  files: {a: {base64: '?'}}\n",
        "3:23: error[E_CONFIG_SCHEMA_INVALID] [0].files.a.base64: invalid base64: invalid length at 0",
    );
    check(
        "  repeat: 0\n",
        "3:11: error[E_CONFIG_SCHEMA_INVALID] [0].repeat: 'repeat' must be 1 to 1000",
    );
    check(
        "  policy: {tool: {}}\n",
        "3:12: error[E_CONFIG_SCHEMA_INVALID] [0].policy.tool: unknown key 'tool'",
    );
    check(
        "  http: [{url: /x}]\n",
        "3:16: error[E_CONFIG_SCHEMA_INVALID] [0].http[0].url: '/x' is not a URL such as https://api.example.com/x",
    );
    check(
        "  expect: {outputs: 1}\n",
        "3:12: error[E_CONFIG_SCHEMA_INVALID] [0].expect.outputs: unknown key 'outputs'",
    );
    check(
        "  expect: {status: fine}\n",
        "3:20: error[E_CONFIG_SCHEMA_INVALID] [0].expect.status: 'fine' is not a status: ok, error or pending",
    );
    check(
        "  expect: {status: error, output: 1}\n",
        "3:35: error[E_CONFIG_SCHEMA_INVALID] [0].expect.output: a result of status 'error' has none: only 'ok' has one",
    );
    check(
        "  expect: {outputMatches: '('}\n",
        "3:27: error[E_CONFIG_SCHEMA_INVALID] [0].expect.outputMatches: invalid regular expression: unclosed group",
    );
    check(
        "  expect: {outputAt: {lines: 1}}\n",
        "3:23: error[E_CONFIG_SCHEMA_INVALID] [0].expect.outputAt.lines: 'lines' is not a JSON pointer: write /lines",
    );
    check(
        "  expect: {usage: {memory: 1}}\n",
        "3:20: error[E_CONFIG_SCHEMA_INVALID] [0].expect.usage.memory: unknown key 'memory'",
    );
    check(
        "  expect: {denials: ['network: tpc']}\n",
        "3:22: error[E_CONFIG_SCHEMA_INVALID] [0].expect.denials[0]: no denial is called 'network: tpc'; did you mean 'network: tcp'?",
    );
    check(
        "- name: a\n  tool: x__y\n",
        "3:9: error[E_CONFIG_DUPLICATE_NAME] [1].name: another case is called 'a'",
    );
    check(
        "- tool: x__y\n",
        "3:3: error[E_CONFIG_SCHEMA_INVALID] [1]: 'name' is missing",
    );
}

#[test]
fn an_error_about_a_file_without_cases_has_an_example() {
    for (text, says) in [
        ("", "the file has no cases"),
        ("[]", "the file has no cases"),
        ("name: a", "expected a list of cases but got a mapping"),
        ("- {name: a", "unclosed bracket"),
        ("[]\n---\n[]", "a case file is one document"),
    ] {
        let findings = parse(text).map(|_| ()).unwrap_err();
        assert!(
            findings.iter().any(|one| one.contains(says)),
            "{findings:?}"
        );
    }
}
