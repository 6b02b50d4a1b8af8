//! `toolhost check`: findings as text and as JSON.

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples};

#[test]
fn a_bundle_that_loads_is_one_line() {
    let terminal = Terminal::new();
    let ran = Ran::of(terminal.toolhost(["check"]).arg(examples())).exits(0);
    insta::assert_snapshot!(terminal.redacted(&ran.stdout), @r"
[repo]/guest-examples/goondan.yaml: ok: 3 tools, 9 exports, 1 agent
");
    assert_eq!(ran.stderr, "");
}

const WRONG: &str = "\
apiVersion: goondan.ai/v1
kind: Tool
metadata:
  name: Bash
spec:
  runtime: bun
  entry: ./bash.wasm
  exports:
    - name: exec
    - name: exec
";

#[test]
fn every_finding_is_printed_with_its_line_and_a_hint() {
    let terminal = Terminal::new();
    terminal.write("here/goondan.yaml", WRONG);
    let ran = terminal
        .run(["check"])
        .fails(1, "error: goondan.yaml holds 3 errors");
    insta::assert_snapshot!(ran.stderr, @r"
E_CONFIG_INVALID_NAME

  × 'Bash' contains 'B': only a-z, 0-9, '_' and '-' are allowed
   ╭─[goondan.yaml:4:9]
 3 │ metadata:
 4 │   name: Bash
   ·         ──┬─
   ·           ╰── documents[0].metadata.name
 5 │ spec:
   ╰────
  help: Use lower-case letters, digits, '_' and '-', without '__'.

E_CONFIG_SCHEMA_INVALID

  × 'spec.runtime' was removed in v2
   ╭─[goondan.yaml:6:3]
 5 │ spec:
 6 │   runtime: bun
   ·   ───┬───
   ·      ╰── documents[0].spec.runtime
 7 │   entry: ./bash.wasm
   ╰────
  help: Remove it: every Tool is a WASI component.

E_CONFIG_DUPLICATE_NAME

  × duplicate export 'exec'
    ╭─[goondan.yaml:10:13]
  8 │   exports:
  9 │     - name: exec
    ·             ──┬─
    ·               ╰── declared here first
 10 │     - name: exec
    ·             ──┬─
    ·               ╰── documents[0].spec.exports[1].name
    ╰────
  help: Rename or remove one of the two.

error: goondan.yaml holds 3 errors
hint: Correct the errors above; nothing was loaded.
");
}

#[test]
fn findings_are_printed_as_json() {
    let terminal = Terminal::new();
    terminal.write("here/goondan.yaml", WRONG);
    let ran = terminal.run(["check", "--json"]).exits(1);
    assert_eq!(ran.stderr, "");
    let answer = ran.json();
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["tools"], json!([]));
    let first = &answer["diagnostics"][0];
    assert_eq!(first["code"], "E_CONFIG_INVALID_NAME");
    assert_eq!(
        (&first["line"], &first["file"]),
        (&json!(4), &json!("goondan.yaml"))
    );
    assert_eq!(first["documentPath"], "documents[0].metadata.name");

    let unread = terminal.run(["check", "nowhere", "--json"]).exits(2).json();
    assert_eq!(unread["ok"], false);
    assert_eq!(unread["diagnostics"], json!([]));
    assert!(
        unread["error"]["message"]
            .as_str()
            .unwrap()
            .contains("nowhere"),
        "{unread}"
    );
}

#[test]
fn tools_are_printed_as_json() {
    let terminal = Terminal::new();
    let answer = Ran::of(terminal.toolhost(["check", "--json"]).arg(examples()))
        .exits(0)
        .json();
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["agents"], json!(["coder"]));
    let tools = answer["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["file-system", "text", "echo"]);
    assert_eq!(
        tools[1]["exports"],
        json!(["text__upper", "text__count", "text__fail"])
    );
    assert_eq!(tools[1]["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_warning_is_printed_and_does_not_fail_the_command() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    terminal.write("policy.yaml", "tools: {ecco: {}}\n");
    let ran = terminal
        .run(["check", "--policy", "../policy.yaml"])
        .exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
goondan.yaml: ok: 1 tool, 1 export, 0 agents, 2 remarks
");
    assert!(
        ran.stderr
            .contains("also serves handlers that are not exported: context"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("[../policy.yaml:1:9]"),
        "a policy's line is shown too: {ran:?}"
    );
    assert!(
        ran.stderr.contains("Tool/ecco is not in the bundle"),
        "{ran:?}"
    );
}

#[test]
fn a_missing_grant_is_a_warning_with_the_policy_line_that_grants_it() {
    let terminal = Terminal::new();
    terminal.bundle(
        "here",
        &[
            ("ask_agents", &["run"]),
            ("dial_out", &["run"]),
            ("fetch", &["run"]),
        ],
    );
    let ran = terminal.run(["check"]).exits(0);
    for says in [
        "tool ask_agents: it imports other agents, which the policy does not grant",
        "Write `tools: {ask_agents: {agents: true}}` in the policy to grant it.",
        "tool fetch: it imports HTTP, which the policy does not grant",
        "Write `tools: {fetch: {http: {allow: [\"GET https://api.example.com/*\"]}}}` in the policy to grant it.",
        "tool dial_out: it imports interfaces that no policy can grant: network: dns, network: tcp",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
    terminal.write(
        "policy.yaml",
        "tools: {ask_agents: {agents: true}, fetch: {http: {allow: ['https://a.example']}}}\n",
    );
    let ran = terminal
        .run(["check", "--policy", "../policy.yaml"])
        .exits(0);
    assert!(!ran.stderr.contains("it imports other agents"), "{ran:?}");
    assert!(!ran.stderr.contains("it imports HTTP"), "{ran:?}");
    assert!(ran.stderr.contains("that no policy can grant"), "{ran:?}");
}
