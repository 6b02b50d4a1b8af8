//! `toolhost play`: runs the whole specification without a model.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples};

#[test]
fn one_agent_requests_work_from_another() {
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
fn a_hundred_parallel_turns_are_answered_and_leave_no_files() {
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
fn an_invalid_script_or_a_failed_turn_is_an_error_with_the_reason() {
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
    play().fails(2, "'input' is reserved for the event");
    script("{writer: {steps: [{one: {tool: a__b}}, {one: {tool: a__b}}]}}");
    play().fails(2, "an earlier call is called 'one'");
    terminal.run(["play", "none.yaml"]).fails(2, "none.yaml");
}

#[test]
fn the_policy_of_a_script_cannot_grant_what_only_the_operator_may() {
    let terminal = Terminal::new();
    terminal.bundle("b", &[("look_at_environment", &["run"])]);
    let script = terminal.write(
        "s.yaml",
        "bundle: ./b\npolicy: ./p.yaml\nstart: {agent: default}\nagents:\n  default:\n    steps:\n      \
         - seen: {tool: look_at_environment__run}\n    answer: \"${seen.output}\"\n",
    );
    let play = |more: &[&str]| {
        let mut play = terminal.toolhost(["play", "-q"]);
        Ran::of(play.arg(&script).args(more).env("OUTER", "outer-secret"))
    };
    let policy = |rule: &str| {
        let text = format!("tools: {{look_at_environment: {rule}}}\n");
        terminal.write("p.yaml", text)
    };
    policy("{env: {SEEN: plain}}");
    let ran = play(&[]).exits(0);
    assert!(ran.stdout.contains("plain"), "{ran:?}");

    let path = policy("{env: {SEEN: {fromEnv: OUTER}}}");
    let ran = play(&[]).exits(2);
    assert!(ran.stderr.contains("only the operator may"), "{ran:?}");
    let path = path.to_string_lossy();
    let ran = play(&["--policy", &path]).exits(0);
    assert!(ran.stdout.contains("SEEN"), "{ran:?}");

    policy("{http: {allow: [\"https://a.example\"]}}");
    play(&[]).fails(2, "p.yaml grants HTTP requests");
    play(&["--policy", &path]).exits(0);
}

/// Processes whose environment contains this text.
fn processes_with(text: &str) -> usize {
    let environments = fs::read_dir("/proc")
        .expect("it is read")
        .filter_map(|entry| {
            let path = entry.ok()?.path().join("environ");
            fs::read(path).ok()
        });
    let holds = |environment: &Vec<u8>| {
        let text = text.as_bytes();
        environment.windows(text.len()).any(|part| part == text)
    };
    environments.filter(holds).count()
}

#[test]
fn a_signal_ends_the_agents_and_leaves_no_process_or_directory() {
    let terminal = Terminal::new();
    terminal.bundle("spin", &[("spin_forever", &["run"])]);
    let agent = |name: &str| {
        format!(
            "---\napiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {{name: {name}}}\n\
             spec: {{tools: [Tool/spin_forever]}}\n"
        )
    };
    let tools = fs::read_to_string(terminal.path("spin/goondan.yaml")).expect("it is read");
    let agents = [agent("asker"), agent("spinner")].concat();
    terminal.write("spin/goondan.yaml", format!("{tools}{agents}"));
    let script = terminal.write(
        "spin.yaml",
        "bundle: ./spin\nstart: {agent: asker}\nagents:\n  asker:\n    steps:\n      \
         - asked: {tool: agents__request, args: {target: spinner, input: 1}}\n  spinner:\n    steps:\n      \
         - spun: {tool: spin_forever__run}\n",
    );
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let temporary = terminal.path(&format!("tmp{signal}"));
        fs::create_dir(&temporary).expect("it is made");
        let mut play = terminal.toolhost(["play"]);
        play.arg(&script).env("TMPDIR", &temporary);
        let mut child = play.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let spins = |line: &str| line.contains("spinner") && line.contains("begins");
        let begun = lines.any(|line| spins(&line.expect("it is text")));
        assert!(begun, "the second agent's turn begins");
        assert_eq!(fs::read_dir(&temporary).expect("it is read").count(), 1);
        let pid = child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.expect("it runs").success());
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(code), "{signal}");
        let left: Vec<_> = fs::read_dir(&temporary).expect("it is read").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        assert_eq!(processes_with(&temporary.to_string_lossy()), 0, "{signal}");
    }
}
