//! Changesets of an agent, each tool call in a process of its own.

use std::fs;

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal};

/// Calls a tool of the bundle `b`.
fn call(terminal: &Terminal, policy: &str, tool: &str, args: &Value) -> Ran {
    let mut call = terminal.toolhost(["call"]);
    call.arg(terminal.path("b")).arg(tool);
    call.args(["--args", &args.to_string(), "--state-root"]);
    call.arg(terminal.path("state"));
    let policy = terminal.write("policy.yaml", policy);
    Ran::of(call.arg("--policy").arg(policy))
}

#[test]
fn a_changeset_spans_processes_and_the_next_process_has_the_new_tools() {
    // requirements-v1 §12.4
    let terminal = Terminal::new();
    let bundle = terminal.bundle("b", &[("text", &["upper"])]);
    let manifest = fs::read_to_string(bundle.join("goondan.yaml")).unwrap();
    let policy = "agents: {default: {changesets: true}}";
    let output = |tool: &str, args: &Value| {
        let ran = call(&terminal, policy, tool, args).exits(0);
        ran.json()["output"].clone()
    };
    let opened = output("changeset__open", &json!({}));
    let id = &opened["id"];
    let other = manifest.replace("{name: text}", "{name: shout}");
    let both = format!("{manifest}---\n{other}");
    let path = "goondan.yaml";
    output(
        "changeset__write",
        &json!({"id": id, "path": path, "content": "kind: ["}),
    );
    let rejected = output("changeset__commit", &json!({"id": id}));
    assert_eq!(rejected["status"], "rejected");
    assert_eq!(rejected["diagnostics"][0]["code"], "E_CONFIG_PARSE_ERROR");
    let file = rejected["diagnostics"][0]["file"].as_str().unwrap();
    assert!(file.ends_with("b/goondan.yaml"), "{file}");
    assert_eq!(fs::read_to_string(bundle.join(path)).unwrap(), manifest);

    output(
        "changeset__write",
        &json!({"id": id, "path": path, "content": both}),
    );
    let committed = output("changeset__commit", &json!({"id": id}));
    assert_eq!(committed["status"], "ok");
    assert_eq!(fs::read_to_string(bundle.join(path)).unwrap(), both);
    let shouted = output("shout__upper", &json!({"text": "a"}));
    assert_eq!(shouted, json!({"text": "A"}));
}

#[test]
fn an_agent_that_the_policy_does_not_name_has_no_changesets() {
    // requirements-v1 §12.4
    let terminal = Terminal::new();
    terminal.bundle("b", &[("text", &["upper"])]);
    let refused = call(&terminal, "", "changeset__open", &json!({})).exits(1);
    assert_eq!(refused.json()["error"]["code"], "E_TOOL_NOT_IN_CATALOG");
    assert!(!terminal.path("state/changesets").exists());
}
