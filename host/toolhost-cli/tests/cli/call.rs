//! `toolhost call`: one call, one ToolResult.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples, guest, with_stdin};

#[test]
fn a_call_writes_a_file_and_prints_only_the_tool_result() {
    let terminal = Terminal::new();
    let ran = terminal
        .call("file-system__write", r#"{"path":"a/b.txt","content":"hi"}"#)
        .exits(0);
    assert_eq!(
        ran.json(),
        json!({
            "toolCallId": "call_1",
            "toolName": "file-system__write",
            "status": "ok",
            "output": {"path": "/a/b.txt", "size": 2, "written": true},
        })
    );
    assert_eq!(ran.stderr, "");
    assert_eq!(
        fs::read_to_string(terminal.path("D/a/b.txt")).unwrap(),
        "hi"
    );
}

#[test]
fn paths_out_of_the_workdir_leave_the_host_unchanged() {
    let terminal = Terminal::new();
    let outside = terminal.write("outside/kept.txt", "kept");
    std::os::unix::fs::symlink(terminal.path("outside"), terminal.path("D/out")).unwrap();
    std::os::unix::fs::symlink(&outside, terminal.path("D/link.txt")).unwrap();
    for path in ["../x", "a/../../x", "out/x", "out/kept.txt", "link.txt"] {
        let args = json!({"path": path, "content": "harm"}).to_string();
        let result = terminal.call("file-system__write", &args).exits(1).json();
        assert_eq!(result["status"], "error", "{path}");
        let error = &result["error"];
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains(path.trim_start_matches("a/../")),
            "{error}"
        );
        assert!(
            error["suggestion"].as_str().unwrap().contains("workdir"),
            "{error}"
        );
    }
    assert_eq!(terminal.names(""), ["D", "here", "home", "outside"]);
    assert_eq!(terminal.names("outside"), ["kept.txt"]);
    assert_eq!(fs::read_to_string(outside).unwrap(), "kept");
}

#[test]
fn an_absolute_path_resolves_beneath_the_workdir() {
    let terminal = Terminal::new();
    fs::create_dir(terminal.path("D/a")).unwrap();
    let result = terminal
        .call("file-system__write", r#"{"path":"/a/x","content":"hi"}"#)
        .exits(0);
    assert_eq!(result.json()["output"]["path"], "/a/x");
    assert_eq!(fs::read_to_string(terminal.path("D/a/x")).unwrap(), "hi");

    let stray = r#"{"path":"/home/me/x","content":"hi"}"#;
    let result = terminal.call("file-system__write", stray).exits(1).json();
    assert_eq!(result["status"], "error");
    assert_eq!(terminal.names("D"), ["a"]);
}

#[test]
fn the_exit_code_follows_the_status() {
    let terminal = Terminal::new();
    terminal.call("text__upper", r#"{"text":"hi"}"#).exits(0);
    let failed = terminal
        .call("text__fail", r#"{"length":5,"code":"MINE"}"#)
        .exits(1)
        .json();
    assert_eq!(failed["error"]["code"], "MINE");
    let refused = terminal.call("text__upper", "{}").exits(1).json();
    assert_eq!(refused["error"]["code"], "E_TOOL_INVALID_ARGS");

    let bundle = terminal.bundle("pending", &[("pending", &["run"])]);
    let mut command = terminal.toolhost(["call", "--quiet"]);
    let pending = Ran::of(
        command
            .arg(bundle)
            .args(["pending__run", "--workdir", "../D"]),
    )
    .exits(0);
    assert_eq!(pending.json()["status"], "pending");
}

#[test]
fn a_tool_outside_the_catalog_is_a_result_and_a_hint() {
    let terminal = Terminal::new();
    for name in ["nope__nope", "upper", "", "text__upper ", "text__UPPER"] {
        let ran = terminal.call(name, "{}").exits(1);
        assert_eq!(
            ran.json()["error"]["code"],
            "E_TOOL_NOT_IN_CATALOG",
            "{name}"
        );
        assert!(ran.stderr.starts_with("note: "), "{ran:?}");
        assert!(ran.stderr.contains("`toolhost list "), "{ran:?}");
        let meant = ran.stderr.contains("did you mean 'text__upper'?");
        assert_eq!(meant, !["nope__nope", ""].contains(&name), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
}

#[test]
fn usage_is_a_member_of_the_result() {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(["call", "--usage", "--workdir", "../D"]);
    let args = r#"{"path":"a.txt","content":"hello"}"#;
    // An option between the bundle and the tool is accepted.
    command
        .arg(examples())
        .args(["--args", args, "file-system__write"]);
    let usage = Ran::of(&mut command).exits(0).json()["usage"].clone();
    assert_eq!(usage["bytesWritten"], 5);
    assert!(usage["memoryPeak"].as_u64().unwrap() > 0);
    assert!(usage["wallMs"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_receipt_lists_what_a_call_created_changed_deleted_and_renamed_with_digests() {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("bundle", &[("bash", &["exec"])]);
    for (path, content) in [("D/changed", "1"), ("D/deleted", "2"), ("D/old", "3")] {
        terminal.write(path, content);
    }
    terminal.write("D/read", "4");
    let call = |command: &str| {
        let args = json!({ "command": command }).to_string();
        let mut call = terminal.toolhost(["call", "--usage", "--workdir", "../D"]);
        call.arg(&bundle).args(["--args", &args, "bash__exec"]);
        Ran::of(&mut call).exits(0).json()
    };
    let result = call(
        "cat read; mkdir folder; echo hi > folder/created; echo more >> changed; rm deleted; \
         mv old new; echo x > temporary; rm temporary; exit 1",
    );
    // As `sha256sum` prints them.
    let appended = "sha256:bcbe88a764e7b704af8b52367d0b5dfa949d482d8732b125a134796d2659a156";
    let created = "sha256:98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4";
    let renamed = "sha256:4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce";
    assert_eq!(
        result["changes"],
        json!({"truncated": false, "files": [
            {"path": "changed", "kind": "changed", "digest": appended},
            {"path": "deleted", "kind": "deleted"},
            {"path": "folder", "kind": "created"},
            {"path": "folder/created", "kind": "created", "digest": created},
            {"path": "new", "kind": "renamed", "from": "old", "digest": renamed},
        ]}),
        "{result}"
    );
    let usage = &result["usage"];
    let counts = [
        "filesCreated",
        "filesChanged",
        "filesDeleted",
        "filesRenamed",
    ];
    assert_eq!(
        counts.map(|count| usage[count].as_u64().unwrap()),
        [2, 1, 1, 1]
    );
    let result = call("cat read");
    assert!(result.get("changes").is_none(), "{result}");
    assert!(result["usage"].get("filesChanged").is_none(), "{result}");
}

#[test]
fn arguments_come_from_a_file_or_from_stdin() {
    let terminal = Terminal::new();
    let args = r#"{"text":"한글 hi"}"#;
    terminal.write("here/args.json", args);
    let from_file = terminal.call("text__upper", "@args.json").exits(0).json();
    assert_eq!(from_file["output"]["text"], "한글 HI");

    let mut command = terminal.toolhost(["call", "--args", "-", "--workdir", "../D"]);
    let from_stdin = with_stdin(command.arg(examples()).arg("text__upper"), args.as_bytes());
    assert_eq!(from_stdin.exits(0).json(), from_file);
}

#[test]
fn a_bundle_without_agents_has_one_with_every_tool() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say", "context"])]);
    let ran = terminal
        .run(["call", "echo__context", "--workdir", "../D", "-v"])
        .exits(0);
    assert_eq!(ran.json()["output"]["agentName"], "default");
    assert!(
        ran.stderr
            .contains("note: the bundle declares no Agent; the agent is 'default'"),
        "{ran:?}"
    );
    let silent = terminal
        .run(["call", "echo__say", "--workdir", "../D"])
        .exits(0);
    assert_eq!(silent.stderr, "");
}

#[test]
fn a_bundle_with_several_agents_needs_the_agent_option() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["context"])]);
    let manifest = fs::read_to_string(terminal.path("here/goondan.yaml")).unwrap();
    let agent = |name: &str| {
        format!(
            "---\napiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {{name: {name}}}\nspec: {{tools: [Tool/echo]}}\n"
        )
    };
    terminal.write(
        "here/goondan.yaml",
        manifest + &agent("one") + &agent("two"),
    );
    let call = ["call", "echo__context", "--workdir", "../D"];
    let ran = terminal.run(call).fails(2, "several agents: one, two");
    assert!(ran.stderr.contains("hint: Pass --agent NAME."), "{ran:?}");
    terminal
        .run(call.into_iter().chain(["--agent", "three"]))
        .fails(2, "no agent 'three'; it has one, two");
    terminal
        .run(call.into_iter().chain(["--agent", "tow"]))
        .fails(2, "no agent 'tow' (did you mean 'two'?); it has one, two");
    let ran = terminal
        .run(call.into_iter().chain(["--agent", "two"]))
        .exits(0);
    assert_eq!(ran.json()["output"]["agentName"], "two");
}

#[test]
fn the_limits_of_the_policy_apply_to_a_call() {
    let terminal = Terminal::new();
    terminal.write(
        "policy.yaml",
        "tools: {file-system: {limits: {diskBytes: 10}}}\n",
    );
    let mut command =
        terminal.toolhost(["call", "--policy", "../policy.yaml", "--workdir", "../D"]);
    let args = json!({"path": "a.txt", "content": "x".repeat(100)}).to_string();
    command
        .arg(examples())
        .args(["file-system__write", "--args", &args]);
    let result = Ran::of(&mut command).exits(1).json();
    assert_eq!(result["error"]["code"], "E_TOOL_DISK_LIMIT");
}

#[test]
fn a_signal_stops_the_guest() {
    stopped_by("INT", 130, "error: interrupted");
    stopped_by("TERM", 143, "error: terminated");
    stopped_by("HUP", 129, "error: the terminal was closed");
}

fn stopped_by(signal: &str, code: i32, says: &str) {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("spin", &[("spin_forever", &["run"])]);
    let mut command = terminal.toolhost(["call", "-vv", "--workdir", "../D"]);
    command
        .arg(bundle)
        .arg("spin_forever__run")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = String::new();
    let mut stderr_lines = std::io::BufReader::new(child.stderr.take().unwrap());
    // The component is loaded. The signal ends the command whether or not the guest runs already.
    while !stderr.contains("prepared a component") {
        assert_ne!(
            std::io::BufRead::read_line(&mut stderr_lines, &mut stderr).unwrap(),
            0,
            "{stderr}"
        );
    }
    let stopped = std::time::Instant::now();
    let kill = format!("kill -{signal} {}", child.id());
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    std::io::Read::read_to_string(&mut stderr_lines, &mut stderr).unwrap();
    assert!(stopped.elapsed().as_secs() < 5, "its deadline is 30 s");
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(output.stdout, b"");
    assert!(stderr.contains(says), "{stderr}");
}

#[test]
fn a_misspelt_name_is_answered_with_the_one_that_was_meant() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["context", "say"])]);
    for (tool, meant) in [
        ("context", "echo__context"),
        ("contxet", "echo__context"),
        ("echo__sya", "echo__say"),
    ] {
        let ran = terminal.run(["call", tool, "--workdir", "../D"]).exits(1);
        let error = ran.json()["error"].clone();
        assert_eq!(error["code"], "E_TOOL_NOT_IN_CATALOG");
        let suggestion = error["suggestion"].as_str().unwrap();
        assert!(
            suggestion.starts_with(&format!("Did you mean '{meant}'? ")),
            "{error}"
        );
    }
    // Options, commands and their values.
    for (words, meant) in [
        (&["cal", "echo__say"][..], "'call'"),
        (&["call", "echo__say", "--agnet", "a"], "'--agent'"),
        (&["new", "x", "--lang", "pyton"], "'python'"),
    ] {
        let ran = terminal.run(words).exits(2);
        assert!(
            ran.stderr.contains("similar") && ran.stderr.contains(meant),
            "{ran:?}"
        );
    }
    // A misspelt export.
    let manifest = fs::read_to_string(terminal.path("here/goondan.yaml")).unwrap();
    terminal.write(
        "here/goondan.yaml",
        manifest.replace("name: say", "name: sya"),
    );
    let ran = terminal.run(["check"]).exits(1);
    for says in ["handler 'sya' is not served by", "Did you mean 'say'?"] {
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
}

#[test]
fn values_that_the_host_drops_from_an_error_are_reported_with_verbose() {
    let terminal = Terminal::new();
    std::fs::copy(guest("fail_in_words"), terminal.path("here/t.wasm")).unwrap();
    let head = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: t}\n";
    let yaml = format!("{head}spec: {{entry: ./t.wasm, exports: [{{name: raise}}]}}\n");
    terminal.write("here/goondan.yaml", yaml);
    let args = r#"{"code": "E_TOOL_MINE", "helpUrl": "http://a.example"}"#;
    let call = ["call", "t__raise", "--args", args, "--workdir", "../D"];
    let reported = [
        "the code 'E_TOOL_MINE' is reserved for the host; the model gets E_TOOL",
        "the helpUrl 'http://a.example' is not an https URL",
    ];
    let ran = terminal.run(call).exits(1);
    assert_eq!(ran.json()["error"]["code"], "E_TOOL");
    assert!(
        reported.iter().all(|text| !ran.stderr.contains(text)),
        "{ran:?}"
    );
    let verbose = terminal.run([&["-v"], &call[..]].concat()).exits(1);
    assert!(
        reported.iter().all(|text| verbose.stderr.contains(text)),
        "{verbose:?}"
    );
    assert!(!verbose.stdout.contains("E_TOOL_MINE"), "{verbose:?}");
}
