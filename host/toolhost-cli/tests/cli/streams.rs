//! Results go to stdout and everything else to stderr; either may be closed.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::terminal::{Ran, Terminal, examples};

#[test]
fn what_a_tool_logs_goes_to_stderr() {
    let terminal = Terminal::new();
    let context = |words: &[&str]| {
        let mut command = terminal.toolhost(["call", "--workdir", "../D"]);
        let ran = Ran::of(command.arg(examples()).arg("echo__context").args(words)).exits(0);
        ran.json();
        ran.stderr
    };
    assert_eq!(
        context(&[]),
        "echo__context: info (echo): called by agent coder\n"
    );
    assert_eq!(context(&["--quiet"]), "");
    assert!(context(&["-v"]).contains("debug: prepared a component"));
}

#[test]
fn output_printed_before_a_crash_is_written() {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("panics", &[("panic_with_reason", &["run"])]);
    let run = |words: &[&str]| {
        let mut command = terminal.toolhost(["call", "-q", "--workdir", "../D"]);
        if !words.is_empty() {
            command = terminal.toolhost(["call", "--workdir", "../D"]);
        }
        Ran::of(
            command
                .arg(&bundle)
                .arg("panic_with_reason__run")
                .args(words),
        )
        .exits(1)
    };
    assert_eq!(run(&[]).stderr, "");
    assert_eq!(run(&[]).json()["error"]["code"], "E_TOOL_TRAP");
    let stderr = run(&["-v"]).stderr;
    assert!(
        stderr.contains("panic_with_reason__run: warning (stderr): the reason"),
        "{stderr}"
    );
}

#[test]
fn control_characters_of_a_tool_are_escaped() {
    let terminal = Terminal::new();
    let args = r#"{"text":"\u001b[2J\u009b31m\u202e\u007f\u2028\u200f\udb40\udc41가"}"#;
    let ran = terminal.call("echo__say", args).exits(0);
    assert_eq!(
        ran.json()["output"]["text"],
        "\u{1b}[2J\u{9b}31m\u{202e}\u{7f}\u{2028}\u{200f}\u{e0041}가"
    );
    let shown = ran.stdout.trim_end_matches('\n');
    assert!(!shown.contains(toolhost::text::needs_escape), "{ran:?}");
}

#[test]
fn a_result_in_github_actions_has_no_workflow_command_and_the_same_value() {
    let terminal = Terminal::new();
    let args = r###"{"##[error]a":"##[error]b","c":["::error::d\n::error::e"]}"###;
    let mut call = terminal.toolhost(["call", "--workdir", "../D"]);
    call.arg(examples()).args(["echo__say", "--args", args]);
    let ran = Ran::of(call.env("GITHUB_ACTIONS", "true")).exits(0);
    assert!(!ran.stdout.contains("##["), "{ran:?}");
    let args: serde_json::Value = serde_json::from_str(args).unwrap();
    assert_eq!(ran.json()["output"], args);
}

#[test]
fn a_closed_stdout_pipe_is_not_an_error() {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(["list", "--json"]);
    command
        .arg(examples())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");

    let mut command = terminal.toolhost(["check", "nowhere"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let terminal = Terminal::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = terminal.toolhost(["list"]);
    command.arg(examples()).stdout(full);
    Ran::of(&mut command).fails(2, "stdout cannot be written: No space left");
}

#[test]
fn no_file_of_the_workdir_takes_the_place_of_a_closed_stream() {
    let terminal = Terminal::new();
    let args = r#"{"path":"file","content":"its own"}"#;
    let mut call = terminal.toolhost(["call", "-v", "--workdir", "../D"]);
    call.arg(examples())
        .args(["file-system__write", "--args", args]);
    // The first file that is opened gets the number of the closed stream.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"exec "$0" "$@" <&- >&- 2>&-"#]);
    shell.arg(call.get_program()).args(call.get_args());
    shell.env_clear().current_dir(terminal.path("here"));
    shell.envs(
        call.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    assert_eq!(shell.status().unwrap().code(), Some(0));
    assert_eq!(terminal.names("D"), ["file"]);
    assert_eq!(std::fs::read(terminal.path("D/file")).unwrap(), b"its own");
}

#[test]
fn a_signal_ends_a_command_that_is_busy_or_blocked() {
    let terminal = Terminal::new();
    // More than fits into a pipe: the command blocks its thread until there is a reader.
    let exports: Vec<_> = (0..2_000).map(|i| format!("{{name: A{i}}}")).collect();
    let manifest = format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: t}}\n\
         spec: {{entry: ./t.wasm, exports: [{}]}}\n",
        exports.join(", ")
    );
    terminal.write("here/goondan.yaml", manifest);
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut command = terminal.toolhost(["check", "--json", "."]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        for _ in 0..2 {
            let kill = format!("kill -{signal} {}", child.id());
            // The process may have ended with the first signal.
            let _ = Command::new("sh").args(["-c", &kill]).status().unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop(stdout);
    }
}
