//! Each kind of expectation passes, and fails for the right reason.

use serde_json::{Value, json};

use super::json;

/// Runs one call with an `expect`, and returns the differences: `what: expected … but got …`.
fn problems(call: &str, expect: &str) -> Vec<String> {
    let case = format!("- name: a\n  {call}\n  expect: {expect}\n");
    let fails = |report: &Value| report["failed"] == 1;
    let terminal = crate::terminal::Terminal::new();
    super::bundle(&terminal, &case);
    let ran = terminal.run(["test", "--no-generated", "-q", "--json"]);
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    assert_eq!(
        ran.code,
        Some(if fails(&report) { 1 } else { 0 }),
        "{ran:?}"
    );
    let problems = report["cases"][0]["problems"].as_array().unwrap().iter();
    let text = |problem: &Value, key: &str| problem[key].as_str().unwrap().to_owned();
    problems
        .map(|one| {
            format!(
                "{}: expected {} but got {}",
                text(one, "what"),
                text(one, "expected"),
                text(one, "got")
            )
        })
        .collect()
}

#[track_caller]
fn passes(call: &str, expect: &str) {
    assert_eq!(problems(call, expect), Vec::<String>::new(), "{expect}");
}

#[track_caller]
fn fails(call: &str, expect: &str, problem: &str) {
    assert_eq!(problems(call, expect), [problem], "{expect}");
}

const SAY: &str = "tool: echo__say\n  args: {n: 2, list: [a, {b: 1}], text: 'one two'}";
const FAIL: &str = "tool: text__fail\n  args: {length: 3}";
const WRITE: &str =
    "tool: fs__write\n  args: {path: a.txt, content: hi}\n  files: {old.txt: kept, d: {dir: true}}";

#[test]
fn expectations_of_the_output_are_checked() {
    passes(SAY, "{output: {n: 2.0, list: [a, {b: 1}], text: one two}}");
    fails(
        SAY,
        "{output: {n: 2}}",
        r#"output: expected {"n":2} but got {"n":2,"list":["a",{"b":1}],"text":"one two"}"#,
    );
    passes(SAY, "{outputContains: {list: [{b: 1}]}}");
    fails(
        SAY,
        "{outputContains: {n: 3}}",
        "output/n: expected 3 but got 2",
    );
    fails(
        SAY,
        "{outputContains: {m: 3}}",
        "output/m: expected 3 but got nothing there",
    );
    passes(SAY, "{outputAt: {/list/1/b: 1, /n: 2}}");
    fails(
        SAY,
        "{outputAt: {/list/1/b: 2}}",
        "output/list/1/b: expected 2 but got 1",
    );
    fails(
        SAY,
        "{outputAt: {/list/9: 2}}",
        "output/list/9: expected 2 but got nothing there",
    );
    passes(SAY, "{outputMatches: {/text: '^one', /n: '^2$'}}");
    passes(SAY, "{outputMatches: 'one two'}");
    fails(
        SAY,
        "{outputMatches: {/text: '^two'}}",
        r#"output/text: expected a match of ^two but got "one two""#,
    );
}

#[test]
fn expectations_of_the_status_and_the_error_are_checked() {
    passes(FAIL, "{status: error}");
    passes(FAIL, "{error: {message: {matches: '^.{3}$'}}}");
    let report = json("- {name: a, tool: text__fail, args: {length: 3}}\n", 1);
    let problem = &report["cases"][0]["problems"][0];
    assert_eq!(
        (problem["what"].as_str(), problem["expected"].as_str()),
        (Some("status"), Some("ok"))
    );
    fails(
        SAY,
        "{status: pending}",
        r#"status: expected pending but got ok {"n":2,"list":["a",{"b":1}],"text":"one two"}"#,
    );
    fails(
        SAY,
        "{error: MINE}",
        r#"status: expected error but got ok {"n":2,"list":["a",{"b":1}],"text":"one two"}"#,
    );
    let invalid = "tool: text__upper\n  args: {}";
    passes(invalid, "{error: E_TOOL_INVALID_ARGS}");
    fails(
        invalid,
        "{error: MINE}",
        "error.code: expected MINE but got E_TOOL_INVALID_ARGS (Invalid arguments for tool 'text__upper': args.text: required property is missing)",
    );
    fails(
        invalid,
        "{error: {message: no}}",
        r#"error.message: expected "no" but got "Invalid arguments for tool 'text__upper': args.text: required property is missing""#,
    );
    fails(
        invalid,
        "{error: {suggestion: {matches: '^no'}}}",
        &format!(
            "error.suggestion: expected a match of ^no but got {}",
            json!(
                "Correct the arguments so that they fit the tool's parameters, and call again. required=[text], allowed=[text]"
            )
        ),
    );
}

#[test]
fn expectations_of_files_are_checked() {
    passes(
        WRITE,
        "{files: {a.txt: hi, old.txt: {matches: ^k}, new.txt: null, d: {dir: true}}}",
    );
    passes(WRITE, "{files: {a.txt: {base64: aGk=}}}");
    fails(
        WRITE,
        "{files: {a.txt: ho}}",
        r#"files a.txt: expected "ho" but got "hi""#,
    );
    fails(
        WRITE,
        "{files: {a.txt: null}}",
        r#"files a.txt: expected nothing of that name but got "hi""#,
    );
    fails(
        WRITE,
        "{files: {b.txt: hi}}",
        r#"files b.txt: expected "hi" but got nothing of that name"#,
    );
    fails(
        WRITE,
        "{files: {d: hi}}",
        r#"files d: expected "hi" but got a directory"#,
    );
    fails(
        WRITE,
        "{files: {a.txt: {matches: ho}}}",
        r#"files a.txt: expected a match of ho but got "hi""#,
    );
    fails(
        WRITE,
        "{files: {a.txt: {dir: true}}}",
        r#"files a.txt: expected a directory but got "hi""#,
    );
    fails(
        WRITE,
        "{files: {a.txt: {base64: AA==}}}",
        r#"files a.txt: expected a file of 1 given bytes but got "hi""#,
    );
}

#[test]
fn expectations_of_log_usage_and_denials_are_checked() {
    let context = "tool: echo__context\n  context: {agentName: default}";
    passes(
        context,
        "{log: [called by agent default, {level: info, matches: agent}]}",
    );
    fails(
        context,
        "{log: [{level: warn, matches: agent}]}",
        r#"log: expected warn: a match of agent but got info: "called by agent default""#,
    );
    fails(SAY, "{log: [hi]}", r#"log: expected "hi" but got no line"#);
    passes(
        WRITE,
        "{usage: {bytesWritten: 8KiB, memoryPeak: 64MiB, wallMs: 30000}}",
    );
    let problems = problems(WRITE, "{usage: {filesMade: 0}}");
    assert_eq!(problems, ["usage.filesMade: expected at most 0 but got 1"]);
    passes(WRITE, "{denials: []}");
    let denied = format!("{WRITE}\n  policy: {{tools: {{fs: {{readOnly: true}}}}}}");
    passes(
        &denied,
        "{status: error, denials: ['filesystem: write to a read-only workdir'], files: {a.txt: null}}",
    );
    fails(
        &denied,
        "{status: error, denials: []}",
        "denials: expected none but got filesystem: write to a read-only workdir",
    );
}

#[test]
fn a_call_has_the_context_of_its_case() {
    passes(
        "tool: echo__context\n  context: {instanceKey: k, turnId: t, traceId: r, message: I call}",
        "{outputContains: {agentName: default, instanceKey: k, turnId: t, traceId: r}, outputAt: {/message/data/content/0/text: I call}}",
    );
    // Without an instance key, each case has its own instance.
    passes(
        "tool: echo__context",
        "{outputContains: {instanceKey: a, turnId: turn}}",
    );
}
