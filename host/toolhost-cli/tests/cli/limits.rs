//! Limits of the process (`ulimit`), and signals that its parent ignores.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::terminal::{Ran, TOOLHOST, Terminal, examples};

/// The binary, after this line of a shell.
fn after(terminal: &Terminal, line: &str, words: &[&str]) -> Command {
    let mut command = terminal.toolhost::<&str>([]);
    let environment: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command = Command::new("sh");
    command
        .args(["-c", &format!("{line}; exec \"$0\" \"$@\""), TOOLHOST])
        .args(words)
        .env_clear()
        .envs(environment)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(terminal.path("here"))
        .stdin(Stdio::null());
    command
}

#[test]
fn a_write_beyond_the_limit_of_file_sizes_is_an_error_of_the_tool() {
    let terminal = Terminal::new();
    let examples = examples();
    let bundle = examples.to_str().expect("it is text");
    // The components are compiled without the limit.
    terminal.run(["list", bundle]).exits(0);
    let args = json!({"path": "large", "content": "x".repeat(100_000)}).to_string();
    let call = [
        "call",
        bundle,
        "file-system__write",
        "--workdir",
        "../D",
        "--args",
        &args,
    ];
    let ran = Ran::of(&mut after(&terminal, "ulimit -f 8", &call)).exits(1);
    let result = ran.json();
    assert_eq!(result["status"], "error", "{ran:?}");
    let message = result["error"]["message"].as_str().expect("a message");
    assert!(message.contains("large"), "{ran:?}");
    let written = fs::metadata(terminal.path("D/large")).map_or(0, |found| found.len());
    assert!(written <= 8 * 1024, "{written}");
}

#[test]
fn too_few_descriptors_or_addresses_are_errors_with_a_hint() {
    let terminal = Terminal::new();
    for (limit, says, hint) in [
        (
            "ulimit -n 6",
            "the limit of open files is 6",
            "hint: Raise the limit first",
        ),
        (
            "ulimit -n 12",
            "the limit of open files is 12",
            "`ulimit -n 1024`",
        ),
        (
            "ulimit -v 4000000",
            "the limit of address space is 3906 MiB",
            "hint: Run `ulimit -v unlimited`",
        ),
    ] {
        let mut command = after(&terminal, limit, &["list"]);
        let ran = Ran::of(command.arg(examples())).fails(2, says);
        assert!(ran.stderr.contains(hint), "{limit}: {ran:?}");
    }
}

#[test]
fn the_limit_of_open_files_is_raised_as_far_as_the_process_may() {
    let terminal = Terminal::new();
    let mut command = after(&terminal, "ulimit -S -n 20", &["list", "-q"]);
    Ran::of(command.arg(examples())).exits(0);
}

#[test]
fn a_system_without_further_threads_is_an_error_and_not_a_panic() {
    let terminal = Terminal::new();
    // The limit does not apply to root: another user runs the command.
    let user = if rustix::process::geteuid().is_root() {
        "setpriv --reuid=61234 --regid=61234 --clear-groups"
    } else {
        "env"
    };
    let as_user = |limit: &str, words: &[&str]| {
        let mut command = Command::new("sh");
        let line = format!("exec {user} {limit} \"$0\" \"$@\"");
        command.args(["-c", &line, TOOLHOST]).args(words);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command
    };
    if !as_user("prlimit --nproc=100000", &["--version"])
        .output()
        .is_ok_and(|ran| ran.status.success())
    {
        eprintln!("NOT TESTED: this machine cannot run the command as another user");
        return;
    }
    let mut command = as_user("prlimit --nproc=1", &["list"]);
    command.arg(examples()).current_dir(terminal.path("here"));
    Ran::of(&mut command).fails(2, "the system starts no further thread");
}

#[test]
fn a_command_that_nohup_starts_ignores_that_its_terminal_is_closed() {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("spin", &[("spin_forever", &["run"])]);
    let bundle = bundle.to_str().expect("it is text");
    let call = [
        "call",
        "-vv",
        "--workdir",
        "../D",
        bundle,
        "spin_forever__run",
    ];
    let mut command = after(&terminal, "trap '' HUP", &call);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut text = String::new();
    while !text.contains("prepared a component") {
        assert_ne!(
            stderr.read_line(&mut text).expect("it is text"),
            0,
            "{text}"
        );
    }
    for signal in ["-HUP", "-TERM"] {
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("it runs").success());
    }
    stderr.read_to_string(&mut text).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(143), "{text}");
}
