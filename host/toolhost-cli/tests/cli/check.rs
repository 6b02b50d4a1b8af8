//! `toolhost check`: findings as text and as JSON.

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples};

#[test]
fn a_bundle_that_loads_is_one_line_beside_its_notes() {
    let terminal = Terminal::new();
    let ran = Ran::of(terminal.toolhost(["check"]).arg(examples())).exits(0);
    insta::assert_snapshot!(terminal.redacted(&ran.stdout), @r"
[repo]/guest-examples/goondan.yaml: ok: 3 tools, 9 exports, 1 agent, 1 note
");
    assert!(
        ran.stderr.starts_with("E_COMPONENT_EXTRA_HANDLER"),
        "{ran:?}"
    );
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
    terminal.write("policy.yaml", "strict: false\ntools: {ecco: {}}\n");
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
        ran.stderr.contains("[../policy.yaml:2:9]"),
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
        "tool ask_agents: it imports other agents, which no policy grants it here",
        "Write `tools: {ask_agents: {agents: true}}` in the policy to grant it.",
        "tool fetch: it imports HTTP, which no policy grants it here",
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

/// An MCP server whose tools have schemas that providers refuse at the top, and one with a name that one refuses.
const SERVER: &str = r#"
import json, sys
TEXT = {"type": "string"}
FORMS = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
KEYS = {"type": "object", "properties": {"filter[id]": TEXT}}
TOOLS = [
    {"name": "forms", "description": "Has forms", "inputSchema": FORMS},
    {"name": "keys", "description": "Has a key", "inputSchema": KEYS},
]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    else:
        answer["error"] = {"code": -32601, "message": message["method"]}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn what_a_model_provider_refuses_is_an_error_and_what_it_gets_in_other_words_a_note() {
    let terminal = Terminal::new();
    let script = terminal.write("server.py", SERVER);
    let command = format!("[python3, {}]", script.display());
    let bundle = terminal.write(
        "b.yaml",
        format!(
            "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {{name: s}}\nspec: {{transport: {{stdio: {{command: {command}}}}}}}\n"
        ),
    );
    let policy = format!("mcpServers: {{s: {{command: {command}, inheritEnv: [PATH]}}}}\n");
    let policy = terminal.write("p.yaml", &policy);
    let run = |words: &[&str]| {
        let mut command = terminal.toolhost(words);
        command.arg(&bundle).arg("--policy").arg(&policy);
        Ran::of(command.env("PATH", env!("PATH")))
    };
    run(&["check"]).exits(0);
    let openai = run(&["check", "--json", "--for", "openai"]).exits(0).json();
    let findings = openai["diagnostics"].as_array().expect("a list");
    assert_eq!(findings.len(), 1, "{openai}");
    assert_eq!(findings[0]["severity"], "note");
    let message = findings[0]["message"].as_str().expect("a text");
    assert!(
        message.contains("'s__forms'") && message.contains("`a`; `b`"),
        "{message}"
    );
    let both = ["check", "--for", "openai", "--for", "anthropic"];
    let refused = run(&both).fails(1, "1 error for model providers");
    assert!(refused.stderr.contains("filter[id]"), "{}", refused.stderr);
    let anthropic = run(&["check", "--json", "--for", "anthropic"])
        .exits(1)
        .json();
    assert_eq!(anthropic["ok"], false);
    let tools = run(&["list", "--format", "openai"]).exits(0).json();
    let parameters = &tools[0]["function"]["parameters"];
    assert!(parameters.get("anyOf").is_none(), "{parameters}");
}

#[test]
fn the_example_tools_have_no_finding_of_any_provider() {
    let terminal = Terminal::new();
    let providers = ["openai", "anthropic", "gemini"];
    let providers = providers.iter().flat_map(|provider| ["--for", provider]);
    let mut command = terminal.toolhost(["check"]);
    let ran = Ran::of(command.arg(examples()).args(providers)).exits(0);
    assert!(
        ran.stdout
            .ends_with(": ok: 3 tools, 9 exports, 1 agent, 1 note\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.starts_with("E_COMPONENT_EXTRA_HANDLER"),
        "{ran:?}"
    );
}

#[test]
fn a_grant_that_a_component_cannot_use_is_a_warning() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    let policy = "tools: {echo: {agents: true, http: {allow: ['https://a.example']}}}\n";
    terminal.write("policy.yaml", policy);
    let ran = terminal
        .run(["check", "--policy", "../policy.yaml"])
        .exits(0);
    for says in [
        "the policy sets 'http' for it, and it sends no HTTP requests",
        "the policy sets 'agents' for it, and it asks no other agents",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
    assert!(!ran.stderr.contains("'env'"), "{ran:?}");
    assert!(!ran.stderr.contains("'oauth'"), "{ran:?}");
}

#[test]
fn nothing_runs_under_a_policy_with_a_misspelt_name() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("file-system", &["write"])]);
    let policy = "tools:\n  file-sistem: {readOnly: true}\nagents:\n  coder: {}\n";
    terminal.write("policy.yaml", policy);
    let args = [
        "--args",
        r#"{"path": "f", "content": "x"}"#,
        "--workdir",
        "../work",
    ];
    std::fs::create_dir(terminal.path("work")).unwrap();
    let call = |more: &[&str]| {
        let words = ["call", "file-system__write"]
            .iter()
            .chain(&args)
            .chain(more);
        terminal.run(words)
    };
    let ran = call(&["--policy", "../policy.yaml"]).exits(2);
    for says in [
        "Tool/file-sistem is not in the bundle",
        "Did you mean 'file-system'?",
        "[../policy.yaml:2:3]",
        "Agent/coder is not in the bundle",
        "[../policy.yaml:4:3]",
        "strict: false",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
    for command in ["serve", "rpc", "test", "check"] {
        let ran = terminal.run([command, ".", "--policy", "../policy.yaml"]);
        assert!(
            ran.stderr.contains("Tool/file-sistem is not"),
            "{command}: {ran:?}"
        );
    }
    assert!(!terminal.path("work/f").exists());
    terminal.write("policy.yaml", format!("strict: false\n{policy}"));
    let ran = call(&["--policy", "../policy.yaml"]).exits(0);
    assert!(ran.stderr.contains("Tool/file-sistem is not"), "{ran:?}");
    assert!(terminal.path("work/f").exists());
}

#[test]
fn the_policy_of_a_command_without_the_option_is_that_of_the_variable_and_no_other() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("file-system", &["write"])]);
    // A stranger's bundle does not bring its own.
    terminal.write(
        "here/policy.yaml",
        "tools: {file-system: {limits: {files: 0}}}",
    );
    std::fs::create_dir(terminal.path("work")).unwrap();
    let call = |name: &str, variable: &str, more: &[&str]| {
        let args = format!(r#"{{"path": "{name}", "content": "x"}}"#);
        let mut command = terminal.toolhost(["call", "file-system__write", "-v"]);
        command
            .args(["--workdir", "../work", "--args", &args])
            .args(more);
        let ran = Ran::of(command.env("TOOLHOST_POLICY", variable));
        (ran, terminal.path(&format!("work/{name}")).exists())
    };
    let (ran, exists) = call("a", "", &[]);
    assert!(
        exists && ran.stderr.contains("there is no policy"),
        "{ran:?}"
    );

    let own = terminal.write("own.yaml", "tools: {file-system: {readOnly: true}}");
    let own = own.to_str().unwrap();
    let (ran, exists) = call("b", own, &[]);
    assert!(
        !exists && ran.stderr.contains("(TOOLHOST_POLICY)"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("own.yaml"), "{ran:?}");

    terminal.write("other.yaml", "{}");
    let (ran, exists) = call("c", own, &["--policy", "../other.yaml"]);
    assert!(
        exists && ran.stderr.contains("../other.yaml (--policy)"),
        "{ran:?}"
    );

    std::os::unix::fs::symlink("nothing", terminal.path("dangling")).unwrap();
    let dangling = terminal.path("dangling");
    let folder = terminal.path("work");
    for unusable in [
        "/nothing/policy.yaml",
        dangling.to_str().unwrap(),
        folder.to_str().unwrap(),
        // It is there, and relative.
        "../other.yaml",
    ] {
        let (ran, exists) = call("d", unusable, &[]);
        assert!(!exists, "{unusable}: {ran:?}");
        ran.exits(2);
    }
}
