//! The command line on a terminal: `script` of util-linux gives it one.

mod colours;
mod questions;
mod screen;
mod testing;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::terminal::{Ran, Terminal, guest};
use screen::{screen, without_notes};

/// Longest wait for a text.
const SOON: Duration = Duration::from_secs(60);

/// Runs a command on a terminal of its own. Returns what it wrote to the terminal, and its exit code.
fn on_terminal(command: &Command, shell: &str, term: &str) -> Ran {
    let output = script(command, shell, term).output().expect("it runs");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("it is UTF-8"),
    }
}

/// The program `script` that runs a command on a terminal. `shell` is what a shell adds to the command,
/// such as redirections.
fn script(command: &Command, shell: &str, term: &str) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| {
        let word = word.to_str().expect("it is UTF-8");
        toolhost::text::shell_word(word).into_owned()
    });
    let line = format!("exec {} {shell}", words.collect::<Vec<_>>().join(" "));
    let mut script = Command::new("script");
    script.args([
        "--quiet",
        "--return",
        "--flush",
        "--command",
        &line,
        "/dev/null",
    ]);
    script.env_clear().env("TERM", term).env("SHELL", "/bin/sh");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        script.current_dir(dir);
    }
    script.stdin(Stdio::null());
    script
}

/// A command on a terminal, whose user reads and types.
struct Session {
    child: Child,
    output: std::process::ChildStdout,
    seen: String,
}

impl Session {
    fn start(command: &Command) -> Self {
        let mut script = script(command, "", "xterm");
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("it starts");
        let output = child.stdout.take().expect("it is piped");
        Self {
            child,
            output,
            seen: String::new(),
        }
    }

    /// Reads until a text was written that was not there before.
    #[track_caller]
    fn reads(&mut self, text: &str) {
        let started = Instant::now();
        let mut bytes = [0; 4096];
        while !self.seen.contains(text) {
            let count = self.output.read(&mut bytes).expect("it is read");
            assert!(count > 0, "it ended without {text:?}: {}", self.seen);
            assert!(started.elapsed() < SOON, "no {text:?}: {}", self.seen);
            self.seen += &String::from_utf8_lossy(&bytes[..count]);
        }
        let (_, rest) = self.seen.split_once(text).expect("it is there");
        self.seen = rest.to_owned();
    }

    fn types(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        stdin.write_all(text.as_bytes()).expect("it is written");
        stdin.flush().expect("it is written");
    }

    /// Waits for the end. Returns the exit code, and what was not read.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).expect("it is read");
        let code = self.child.wait().expect("it ends").code();
        let rest = String::from_utf8_lossy(&rest).into_owned();
        (code, self.seen + &rest)
    }
}

/// A call that takes some seconds. It needs a workdir.
fn slow_call(terminal: &Terminal, seconds: f64, options: &[&str]) -> Command {
    let bundle = terminal.bundle("slow", &[("sleep_forever", &["run"])]);
    let mut call = terminal.toolhost(["call", "--workdir", "../D"]);
    let args = format!("{{\"seconds\": {seconds}}}");
    call.arg(bundle)
        .args(["sleep_forever__run", "--args", &args])
        .args(options);
    call
}

#[test]
fn a_call_of_more_than_a_second_is_displayed_until_its_result() {
    let terminal = Terminal::new();
    let ran = on_terminal(&slow_call(&terminal, 2.5, &[]), "", "xterm").exits(0);
    let line = " calling sleep_forever__run, 2 s";
    let (_, after) = ran.stdout.split_once(line).expect(&ran.stdout);
    assert!(after.contains("\r\u{1b}[K{"), "it is erased: {after:?}");
    let left = without_notes(&screen(&ran.stdout));
    assert!(left.starts_with('{') && left.ends_with("}\n"), "{left}");
    let result: serde_json::Value = serde_json::from_str(&left).expect("only the result is left");
    assert_eq!(result["output"]["slept"], 2.5);
}

#[test]
fn a_result_in_a_file_has_no_progress_in_it() {
    let terminal = Terminal::new();
    let ran = on_terminal(&slow_call(&terminal, 1.5, &[]), "> out", "xterm").exits(0);
    assert!(ran.stdout.contains(" calling "), "{ran:?}");
    assert_eq!(without_notes(&screen(&ran.stdout)), "");
    let result = std::fs::read_to_string(terminal.path("here/out")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["output"]["slept"], 1.5);
}

#[test]
fn there_is_no_progress_when_quiet_on_a_dumb_terminal_or_without_a_terminal() {
    let terminal = Terminal::new();
    for (options, shell, term) in [
        (&["--quiet"][..], "", "xterm"),
        (&[], "", "dumb"),
        (&[], "2> err", "xterm"),
    ] {
        let call = slow_call(&terminal, 1.5, options);
        let mut ran = on_terminal(&call, shell, term).exits(0);
        if !shell.is_empty() {
            ran.stdout += &std::fs::read_to_string(terminal.path("here/err")).unwrap();
        }
        assert!(
            !ran.stdout.contains("calling"),
            "{options:?} {term} {ran:?}"
        );
        assert!(!ran.stdout.contains('\u{1b}'), "{options:?} {term} {ran:?}");
    }
}

#[test]
fn a_component_that_is_compiled_is_displayed() {
    let terminal = Terminal::new();
    let mut inspect = terminal.toolhost(["inspect"]);
    inspect
        .arg(guest("json-query"))
        .env("XDG_CACHE_HOME", terminal.path("cold"));
    let ran = on_terminal(&inspect, "", "xterm").exits(0);
    assert!(
        ran.stdout.contains(" compiling json-query.wasm (1."),
        "{ran:?}"
    );
    let left = screen(&ran.stdout);
    assert!(!left.contains("compiling"), "{left}");
    assert!(left.contains("handlers"), "{left}");
}

#[test]
fn the_mcp_servers_that_start_are_displayed() {
    let terminal = Terminal::new();
    let command = "command: [sleep, '2']";
    let bundle = terminal.write(
        "b.yaml",
        format!(
            "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {{name: slow}}\n\
             spec: {{transport: {{stdio: {{{command}}}}}}}\n"
        ),
    );
    let policy = format!("mcpServers: {{slow: {{{command}, inheritEnv: [PATH]}}}}\n");
    let policy = terminal.write("p.yaml", policy);
    let mut list = terminal.toolhost(["list", "--policy"]);
    list.arg(policy).arg(bundle).env("PATH", env!("PATH"));
    let ran = on_terminal(&list, "", "xterm");
    assert!(
        ran.stdout.contains(" starting MCP servers: slow, 1 s"),
        "{ran:?}"
    );
    assert!(!screen(&ran.stdout).contains("starting"), "{ran:?}");
}

#[test]
fn ctrl_c_erases_the_progress_line() {
    let terminal = Terminal::new();
    let mut session = Session::start(&slow_call(&terminal, 60.0, &[]));
    session.reads("calling sleep_forever__run, 1 s");
    session.types("\u{3}");
    let (code, rest) = session.ends();
    assert_eq!(code, Some(130), "{rest}");
    assert!(rest.contains("\r\u{1b}[K"), "{rest:?}");
    assert!(rest.contains("interrupted"), "{rest:?}");
}
