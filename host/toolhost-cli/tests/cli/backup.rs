//! `toolhost backup`, while calls run, and what is restored of it.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::terminal::{Ran, Terminal};

const TOOLS: [(&str, &[&str]); 3] = [
    ("file-system", &["read", "write"]),
    ("pending", &["run"]),
    ("spin_forever", &["run"]),
];

fn command(terminal: &Terminal, words: &[&str]) -> Command {
    let mut command = terminal.toolhost(words);
    command.args(["--state-root", "../state"]);
    command
}

#[test]
fn a_pending_call_and_a_workspace_are_there_after_a_restore() {
    let terminal = Terminal::new();
    terminal.bundle("b", &TOOLS);
    let policy = "defaults: {limits: {deadlineMs: 60000}}\nbudgets: {perDay: {calls: 100}}";
    terminal.write("policy.yaml", policy);
    let call = |tool: &str, args: &serde_json::Value| {
        let args = args.to_string();
        let words = [
            "call",
            "../b",
            tool,
            "--args",
            &args,
            "--policy",
            "../policy.yaml",
        ];
        command(&terminal, &words)
    };
    let write = |text: &str| {
        let args = json!({"path": "note.txt", "content": text});
        Ran::of(&mut call("file-system__write", &args)).exits(0);
    };
    write("kept");
    let pending = call("pending__run", &json!({"handle": r#"done:{"n":7}"#}));
    let pending = Ran::of(&mut { pending }).exits(0).json();
    let handle = pending["handle"].as_str().unwrap();

    let mut running = call("spin_forever__run", &json!({}));
    let running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut running = running.unwrap();
    let mut backup = command(&terminal, &["backup", "../copy", "--json"]);
    let made = Ran::of(&mut backup).exits(0).json();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(
        (&made["databases"], &made["skipped"]),
        (&json!(2), &json!([]))
    );
    assert!(!terminal.path("copy/runs").exists());

    write("of later");
    let poll = |code| {
        let words = ["poll", "../b", handle, "--policy", "../policy.yaml"];
        Ran::of(&mut command(&terminal, &words)).exits(code).json()
    };
    assert_eq!(poll(0)["output"], json!({"n": 7}));
    fs::rename(terminal.path("state"), terminal.path("lost")).unwrap();
    fs::rename(terminal.path("copy"), terminal.path("state")).unwrap();
    assert_eq!(poll(0)["output"], json!({"n": 7}));
    let read = Ran::of(&mut call("file-system__read", &json!({"path": "note.txt"})));
    assert_eq!(read.exits(0).json()["output"]["content"], "kept");
    let words = ["budgets", "../b", "--policy", "../policy.yaml", "--json"];
    let budgets = Ran::of(&mut command(&terminal, &words)).exits(0).json();
    let used = budgets["budgets"][0]["used"].as_u64().unwrap();
    assert!((3..=4).contains(&used), "{budgets}");
}

#[test]
fn an_earlier_backup_is_kept_and_a_missing_state_root_is_named() {
    let terminal = Terminal::new();
    let refused = Ran::of(&mut command(&terminal, &["backup", "../copy"]));
    refused.fails(2, "the state root ../state cannot be read");
    terminal.write("copy/f", "earlier");
    fs::create_dir(terminal.path("state")).unwrap();
    let refused = Ran::of(&mut command(&terminal, &["backup", "../copy"]));
    refused.fails(2, "../copy exists");
    assert_eq!(terminal.names("copy"), ["f"]);
}
