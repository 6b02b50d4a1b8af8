//! `toolhost play`: the whole specification without a model.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples};

#[test]
fn two_agents_hand_work_to_each_other() {
    // tool-spec-v2 §11.1
    let terminal = Terminal::new();
    let mut play = terminal.toolhost(["play"]);
    play.arg(examples().join("review.yaml"));
    play.arg("--keep").arg(terminal.path("kept"));
    let ran = Ran::of(&mut play).exits(0);
    assert_eq!(ran.json()["verdict"], "8 words, all of them true");
    for says in [
        "writer  begins",
        "reviewer  step-1  file-system__read  ok",
        "writer  step-2  agents__request  ok",
        "shell__exec  E_TOOL_NOT_IN_CATALOG",
        "writer  has answered",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let workspaces = terminal.path("kept/workspaces");
    let mut published = Vec::new();
    let mut folders = vec![workspaces];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is read") {
            let path = entry.expect("it is read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("workspace/published.txt") {
                published.push(fs::read_to_string(path).expect("it is read"));
            }
        }
    }
    assert_eq!(published, ["OTTERS\n8 words, all of them true\n"]);
}

#[test]
fn a_hundred_turns_at_once_are_all_answered_and_leave_nothing() {
    // tool-spec-v2 §2.6(2), §2.6(4)
    let terminal = Terminal::new();
    let mut play = terminal.toolhost(["play", "--turns", "100", "-q"]);
    let result = Ran::of(play.arg(examples().join("review.yaml")))
        .exits(0)
        .json();
    assert_eq!(
        (&result["answered"], &result["failed"]),
        (&json!(100), &json!(0))
    );
    let answers = result["answers"].as_array().expect("answers");
    let ids: BTreeSet<_> = answers
        .iter()
        .map(|answer| answer["correlationId"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids.len(), 100, "each request has an id of its own");
    assert_eq!(
        result["left"],
        json!({"queued": 0, "waiting": 0, "storedEvents": 0})
    );
}

#[test]
fn what_is_wrong_with_a_script_or_its_turn_is_said() {
    let terminal = Terminal::new();
    let bundle = examples().join("review-agents.yaml");
    let script = |agents: &str| {
        let head = format!("bundle: {}\nstart: {{agent: writer}}\n", bundle.display());
        terminal.write("s.yaml", format!("{head}agents: {agents}\n"))
    };
    let play = || terminal.run(["play", "-q", &terminal.path("s.yaml").to_string_lossy()]);
    script("{reader: {}}");
    play().fails(2, "start.agent 'writer' is not among its agents");
    script("{writer: {step: []}}");
    play().fails(2, "step");
    script("{writer: {}}");
    let ran = play().exits(1);
    assert!(
        ran.stderr
            .contains("none of file-system__write has succeeded"),
        "{ran:?}"
    );
    script("{writer: {steps: [one: {tool: nobody__knows}]}}");
    let ran = play().exits(1);
    assert!(ran.stderr.contains("'one' should be ok"), "{ran:?}");
    script("{nobody: {}, writer: {}}");
    play().fails(2, "nobody");
    script("{writer: {steps: [input: {tool: a__b}]}}");
    play().fails(2, "'input' is what the event gave");
    script("{writer: {steps: [{one: {tool: a__b}}, {one: {tool: a__b}}]}}");
    play().fails(2, "an earlier call is called 'one'");
    terminal.run(["play", "none.yaml"]).fails(2, "none.yaml");
}
