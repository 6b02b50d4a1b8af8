//! `toolhost calls`, and what servers write about calls.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal, examples, with_stdin};

/// A terminal with the state root `state`, whose key is that of the shared cache: nothing is compiled again.
pub(crate) fn terminal() -> Terminal {
    let terminal = Terminal::new();
    let key = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-state/toolhost/cache.key");
    if !key.exists() {
        terminal.call("text__upper", r#"{"text": "a"}"#).exits(0);
    }
    terminal.write("state/cache.key", fs::read(key).expect("it is read"));
    let private = Permissions::from_mode(0o600);
    fs::set_permissions(terminal.path("state/cache.key"), private).expect("it is ours");
    terminal
}

/// Runs `toolhost call` with the state root `state`.
fn call(terminal: &Terminal, instance: &str, tool: &str, args: &Value) -> Ran {
    let mut command = terminal.toolhost(["call"]);
    command.arg(examples()).args([tool, "--args"]);
    command.arg(args.to_string()).args(["--instance", instance]);
    command.args(["--quiet", "--state-root", "../state"]);
    command.arg("--workdir").arg(terminal.path("D"));
    Ran::of(&mut command)
}

fn calls(terminal: &Terminal, words: &[&str]) -> Ran {
    let words = ["calls"].iter().chain(words);
    terminal.run(words.chain(&["--state-root", "../state"]))
}

/// The ids of the tools in a list.
fn tools(ran: &Ran) -> Vec<String> {
    let calls = ran.json()["calls"].clone();
    let calls = calls.as_array().expect("a list").clone();
    let tool = |call: Value| call["tool"].as_str().expect("a name").to_owned();
    calls.into_iter().map(tool).collect()
}

#[test]
fn calls_of_ended_processes_are_listed_found_and_shown() {
    let terminal = terminal();
    let ran = calls(&terminal, &[]).exits(0);
    assert!(ran.stdout.starts_with("no calls are kept in "), "{ran:?}");
    assert_eq!(terminal.names("state"), ["cache.key"], "nothing is made");

    let missing = json!({"path": "nowhere.txt"});
    call(&terminal, "ann", "text__upper", &json!({"text": "needle"})).exits(0);
    call(&terminal, "ann", "file-system__read", &missing).exits(1);
    call(&terminal, "bob", "no__tool", &json!({})).exits(1);
    let json = |words: &[&str]| tools(&calls(&terminal, &[words, &["--json"]].concat()).exits(0));
    let all = ["text__upper", "file-system__read", "no__tool"];
    assert_eq!(json(&[]), all, "the newest is last");
    assert_eq!(json(&["--failed"]), all[1..]);
    assert_eq!(json(&["--instance", "ann"]), all[..2]);
    assert_eq!(json(&["--tool", "no__tool"]), all[2..]);
    assert_eq!(json(&["--text", "NEEDLE"]), all[..1]);
    assert_eq!(json(&["--code", "E_TOOL_NOT_IN_CATALOG"]), all[2..]);
    assert_eq!(json(&["--since", "1h", "--limit", "1"]), all[2..]);
    assert_eq!(json(&["--until", "1h"]), [""; 0]);
    let list = calls(&terminal, &[]).exits(0).stdout;
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0][2..5], ["ann", "text__upper", "ok"]);
    let refused = ["bob", "no__tool", "error", "E_TOOL_NOT_IN_CATALOG"];
    assert_eq!(lines[2][2..6], refused);
    assert_eq!(lines[2].last(), Some(&"ms"));

    let shown = calls(&terminal, &["show", lines[1][0]]).exits(0).stdout;
    for says in [
        r#"arguments  {"path":"nowhere.txt"}"#,
        "message    ",
        "recording  ",
        "/failed/",
        "used       ",
    ] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    let shown = calls(&terminal, &["show", lines[0][0], "--json"]).exits(0);
    let shown = shown.json();
    assert_eq!(shown["arguments"], r#"{"text":"needle"}"#);
    assert_eq!(shown["output"], r#"{"text":"NEEDLE"}"#);
    calls(&terminal, &["show", "4711"]).fails(2, "no kept call has the number or the id '4711'");
    calls(&terminal, &["--since", "yesterday"]).fails(2, "write 90s, 15m");
}

#[test]
fn a_policy_that_turns_calls_off_leaves_no_database() {
    let terminal = terminal();
    let policy = terminal.write("policy.yaml", "calls: off");
    let mut command = terminal.toolhost(["call"]);
    command
        .arg(examples())
        .args(["text__upper", "--args", r#"{"text": "a"}"#]);
    command.arg("--policy").arg(policy);
    command.args(["--state-root", "../state", "--quiet"]);
    Ran::of(&mut command).exits(0);
    let names = terminal.names("state");
    assert!(
        !names.iter().any(|name| name.starts_with("calls.db")),
        "{names:?}"
    );
}

/// The messages of a client of `serve` that calls one tool.
fn messages(tool: &str, arguments: &Value) -> String {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}});
    [initialize, initialized, call]
        .map(|it| format!("{it}\n"))
        .concat()
}

/// Sends these messages, waits for the answer to the last one, and then ends stdin.
fn answered(command: &mut Command, messages: &str, last: u64) -> Ran {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(messages.as_bytes()).expect("it is sent");
    let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let is_last = |line: &String| {
        let answer: Value = serde_json::from_str(line).expect("a message");
        answer["id"] == last
    };
    let mut lines = stdout.lines().map(|line| line.expect("a line"));
    assert!(lines.any(|line| is_last(&line)), "no answer");
    drop(stdin);
    assert_eq!(lines.count(), 0);
    Ran::ended(child.wait_with_output().expect("it ends"))
}

fn serve(terminal: &Terminal, options: &[&str]) -> Command {
    let mut command = terminal.toolhost(["serve"]);
    command.arg(examples()).args(["--instance", "ann"]);
    command.args(["--state-root", "../state"]).args(options);
    command.arg("--workdir").arg(terminal.path("D"));
    command
}

#[test]
fn a_server_writes_a_line_an_audit_log_and_a_recording_of_a_failed_call() {
    let terminal = terminal();
    let options = ["-v", "--audit-log", "../audit.jsonl", "--record", "failed"];
    let read = messages("file-system__read", &json!({"path": "nowhere.txt"}));
    let ran = answered(&mut serve(&terminal, &options), &read, 2).exits(0);
    let lines: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.contains("file-system__read  error "))
        .collect();
    assert_eq!(lines.len(), 1, "{ran:?}");
    assert!(
        lines[0].contains("Z  ann  ") && lines[0].ends_with(" ms"),
        "{lines:?}"
    );
    let audit = fs::read_to_string(terminal.path("audit.jsonl")).expect("it is written");
    let decisions: Vec<Value> = audit
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("a line of JSON")["decision"].clone()
        })
        .collect();
    assert_eq!(decisions, ["requested", "ran"]);

    let failed = calls(&terminal, &["--failed", "--json"]).exits(0).json();
    let recording = failed["calls"][0]["recording"].clone();
    let recording = recording.as_str().expect("a path");
    let mut replay = terminal.toolhost(["replay", recording, "--bundle"]);
    Ran::of(replay.arg(examples())).exits(0);
    let step = fs::read_to_string(recording).expect("it is kept");
    assert!(step.lines().count() > 2, "it has host calls");
}

#[test]
fn options_that_cannot_be_used_end_a_server_before_it_serves() {
    let terminal = terminal();
    let run = |options: &[&str]| with_stdin(&mut serve(&terminal, options), b"");
    run(&["--audit-log", "nowhere/audit.jsonl"]).fails(2, "the audit log nowhere/audit.jsonl");
    run(&["--otlp", "https://127.0.0.1:1"]).fails(2, "is not an http:// URL");
    // The log of the operator is kept out of the tools' reach.
    fs::write(terminal.path("D/audit.jsonl"), "").expect("it is written");
    run(&["--audit-log", "../D/audit.jsonl"]).exits(2);
}

#[test]
fn an_rpc_server_writes_lines_too() {
    let terminal = terminal();
    let request = |id: u64, method: &str, params: Value| {
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        )
    };
    let call = json!({"call": {"id": "c1", "name": "text__upper", "args": {"text": "a"}}});
    let mut command = terminal.toolhost(["rpc"]);
    command.arg(examples()).args(["--instance", "ann", "-v"]);
    command.args(["--state-root", "../state", "--audit-log", "../audit.jsonl"]);
    command.arg("--workdir").arg(terminal.path("D"));
    let text = request(1, "call/execute", call);
    let ran = answered(&mut command, &text, 1).exits(0);
    assert!(ran.stderr.contains("  ann  text__upper  ok  "), "{ran:?}");
    let audit = fs::read_to_string(terminal.path("audit.jsonl")).expect("it is written");
    assert_eq!(audit.lines().count(), 2, "{audit}");
}

#[test]
fn calls_are_followed_while_another_process_makes_them() {
    let terminal = terminal();
    let followed = terminal.path("followed");
    let mut command =
        terminal.toolhost(["calls", "--follow", "--json", "--state-root", "../state"]);
    command.stdout(fs::File::create(&followed).expect("it is made"));
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    call(&terminal, "ann", "text__upper", &json!({"text": "one"})).exits(0);
    call(&terminal, "ann", "no__tool", &json!({})).exits(1);
    let started = Instant::now();
    let mut lines = Vec::new();
    while lines.len() < 2 && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
        let text = fs::read_to_string(&followed).expect("it is read");
        lines = text.lines().map(str::to_owned).collect();
    }
    child.kill().expect("it runs");
    child.wait().expect("it is ours");
    let tools: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON")["tool"].clone())
        .collect();
    assert_eq!(tools, ["text__upper", "no__tool"]);
}
