//! Cases generated from schemas find faults of tools.

use std::fs;

use serde_json::Value;

use super::timeless;
use crate::terminal::{Terminal, guest};

/// A bundle of one guest whose `run` takes these parameters.
pub(super) fn hostile(terminal: &Terminal, name: &str, parameters: &str) {
    let component = format!("here/{name}.wasm");
    terminal.write(&component, fs::read(guest(name)).unwrap());
    terminal.write(
        "here/goondan.yaml",
        format!(
            "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: x}}\n\
             spec: {{entry: ./{name}.wasm, exports: [{{name: run, parameters: {parameters}}}]}}\n"
        ),
    );
}

#[test]
fn a_crash_is_reported_with_the_call_that_causes_it() {
    let terminal = Terminal::new();
    hostile(
        &terminal,
        "trap",
        "{type: object, properties: {a: {type: boolean}}, additionalProperties: false}",
    );
    let ran = terminal.run(["test", "-q"]).exits(1);
    let first: Vec<_> = ran.stdout.lines().take(2).collect();
    let first = first.join("\n");
    insta::assert_snapshot!(first, @r"
FAIL generated x__run (valid): required arguments only: result: expected a result of the tool's own: ok, pending, or an error that it raises but got E_TOOL_TRAP: Tool 'x__run' failed: it crashed: it reached an `unreachable` instruction.
     again: toolhost call goondan.yaml x__run --args '{}'
");
    let report = terminal.run(["test", "-q", "--json"]).exits(1).json();
    let kinds = |kind: &str| {
        let failed = report["generated"]["failed"].as_array().unwrap().iter();
        failed.filter(|case| case["kind"] == kind).count()
    };
    // Invalid arguments never reach the tool.
    assert_eq!((kinds("valid"), kinds("invalid")), (3, 0));
    assert!(report["generated"]["passed"].as_u64().unwrap() >= 2);
}

#[test]
fn the_reported_command_repeats_the_call() {
    let terminal = Terminal::new();
    hostile(&terminal, "trap", "{type: object}");
    let manifest = fs::read_to_string(terminal.path("here/goondan.yaml")).unwrap();
    let agent = |name| {
        format!(
            "---\napiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {{name: {name}}}\nspec: {{tools: [Tool/x]}}\n"
        )
    };
    let component = fs::read(terminal.path("here/trap.wasm")).unwrap();
    terminal.write("here/a b/trap.wasm", component);
    terminal.write("here/a b/c.yaml", manifest + &agent("one") + &agent("two"));
    terminal.write(
        "here/my policy.yaml",
        "tools: {x: {limits: {deadlineMs: 900}}}",
    );
    let words = ["test", "a b/c.yaml", "--policy", "my policy.yaml"];
    let ran = terminal.run(words).exits(1);
    let again = ran
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("again: toolhost "));
    let again = again.unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(
        again,
        "call 'a b/c.yaml' --policy 'my policy.yaml' x__run --args '{}' --agent one"
    );
    let words: Vec<_> = again
        .split('\'')
        .enumerate()
        .flat_map(|(n, part)| match n % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect();
    let result = terminal.run(&words).exits(1).json();
    assert_eq!(result["error"]["code"], "E_TOOL_TRAP", "{result}");
}

#[test]
fn exits_timeouts_and_invalid_outputs_fail_generated_cases() {
    for (name, code) in [
        ("exit_process", "E_TOOL_EXIT"),
        ("recurse", "E_TOOL_TRAP"),
        ("panic_with_reason", "E_TOOL_TRAP"),
    ] {
        let terminal = Terminal::new();
        hostile(
            &terminal,
            name,
            "{type: object, additionalProperties: false}",
        );
        let ran = terminal.run(["test", "-q"]).exits(1);
        assert!(ran.stdout.contains(code), "{name}: {ran:?}");
    }
}

#[test]
fn hostile_paths_reach_the_tool_but_nothing_outside_the_workdir() {
    let paths = "{type: array, items: {type: string}, minItems: 1}";
    for op in [
        "read", "write", "truncate", "unlink", "rename", "link_to", "symlink", "list", "mkdir",
    ] {
        let terminal = Terminal::new();
        let parameters = format!(
            "{{type: object, properties: {{op: {{const: {op}}}, paths: {paths}}}, required: [op, paths], additionalProperties: false}}"
        );
        hostile(&terminal, "climb_out_of_workdir", &parameters);
        let ran = terminal.run(["test", "-q", "--filter", "hostile"]).exits(0);
        let count: usize = ran.stdout.split(' ').next().unwrap().parse().unwrap();
        assert!(count > 20, "{op}: {ran:?}");
        let listed = terminal
            .run(["test", "--list", "--filter", "canary"])
            .exits(0);
        assert!(listed.stdout.contains("../beside/canary.txt"), "{listed:?}");
    }
}

#[test]
fn a_denial_in_a_generated_case_is_a_note_and_not_a_failure() {
    let terminal = Terminal::new();
    let path = "{type: string}";
    hostile(
        &terminal,
        "write_bytes",
        &format!(
            "{{type: object, properties: {{path: {path}, bytes: {{const: 3}}}}, required: [path, bytes]}}"
        ),
    );
    terminal.write("policy.yaml", "tools: {x: {readOnly: true}}");
    let ran = terminal
        .run(["test", "-q", "--policy", "../policy.yaml"])
        .exits(0);
    assert!(
        ran.stdout
            .contains("note: x__run was denied 'filesystem: write to a read-only workdir' in "),
        "{ran:?}"
    );
    let granted = terminal.run(["test", "-q"]).exits(0);
    assert!(!granted.stdout.contains("denied"), "{granted:?}");
}

#[test]
fn the_seed_selects_the_random_arguments_and_is_reported() {
    let terminal = Terminal::new();
    let number = "{type: integer, minimum: 0, maximum: 9}";
    hostile(
        &terminal,
        "echo_raw",
        &format!(
            "{{type: object, properties: {{a: {number}, b: {number}, c: {number}, d: {number}}}}}"
        ),
    );
    let listed = |seed: &str| {
        terminal
            .run(["test", "--list", "--seed", seed])
            .exits(0)
            .stdout
    };
    assert_eq!(listed("7"), listed("7"));
    let report = terminal.run(["test", "-q", "--seed", "7", "--json"]).json();
    assert_eq!(report["generated"]["seed"], Value::from(7));
    let ran = terminal.run(["test", "-q", "--seed", "7"]);
    assert!(timeless(&ran.stdout).contains("(seed 7)"), "{ran:?}");
}
