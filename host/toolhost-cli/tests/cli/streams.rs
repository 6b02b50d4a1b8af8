//! What goes where: answers to stdout, all else to stderr, and neither need be there.

use std::fs::OpenOptions;
use std::process::Stdio;

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
fn what_a_tool_printed_before_it_crashed_is_shown() {
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
    let told = run(&["-v"]).stderr;
    assert!(
        told.contains("panic_with_reason__run: warning (stderr): the reason"),
        "{told}"
    );
}

#[test]
fn nothing_a_tool_says_acts_on_the_terminal() {
    let terminal = Terminal::new();
    let args = r#"{"text":"\u001b[2J\u009b31m\u202e\u007f\u2028가"}"#;
    let ran = terminal.call("echo__say", args).exits(0);
    assert_eq!(
        ran.json()["output"]["text"],
        "\u{1b}[2J\u{9b}31m\u{202e}\u{7f}\u{2028}가"
    );
    let acts = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}');
    assert!(!ran.stdout.trim_end().contains(acts), "{ran:?}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
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
fn an_answer_that_cannot_be_written_is_an_error() {
    let terminal = Terminal::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = terminal.toolhost(["list"]);
    command.arg(examples()).stdout(full);
    Ran::of(&mut command).fails(2, "the answer cannot be written to stdout: No space left");
}
