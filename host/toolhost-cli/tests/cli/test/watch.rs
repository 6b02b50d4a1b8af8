//! `toolhost test --watch`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::bundle;
use crate::terminal::{Terminal, root};

/// Longest wait for a line. A source may be built first.
const SOON: Duration = Duration::from_secs(300);

/// A command that runs with `--watch`, and the lines of both streams.
pub(crate) struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let also = send.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = also.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for all of these texts, in any order. Returns the lines.
    pub(crate) fn until(&self, says: &[&str]) -> Vec<String> {
        let started = Instant::now();
        let mut seen: Vec<String> = Vec::new();
        while !says
            .iter()
            .all(|says| seen.iter().any(|line| line.contains(says)))
        {
            let left = SOON.saturating_sub(started.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => seen.push(line),
                Err(_) => panic!("no {says:?} in {seen:#?}"),
            }
        }
        seen
    }

    /// Interrupts it. Returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let kill = format!("kill -INT {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().code()
    }
}

pub(crate) const WAITING: &str = "waiting for changes";

#[test]
fn tests_run_again_when_a_file_changes_and_ctrl_c_ends_it() {
    let terminal = Terminal::new();
    let file = bundle(
        &terminal,
        "- {name: a, tool: echo__say, expect: {output: {}}}\n",
    );
    terminal.write("here/tests/b.yaml", "- {name: b, tool: echo__say}\n");
    terminal.write("policy.yaml", "locale: en");
    let words = [
        "test",
        "--watch",
        "--no-generated",
        "--policy",
        "../policy.yaml",
    ];
    let watching = Watching::start(&mut terminal.toolhost(words));
    watching.until(&["2 cases: 2 passed", WAITING]);

    // Only the cases of a changed file run.
    fs::write(&file, "- {name: a, tool: echo__say, expect: {output: 1}}\n").unwrap();
    watching.until(&[
        "1 file changed: tests/a.yaml",
        "1 case: 0 passed, 1 failed",
        WAITING,
    ]);
    terminal.write("here/tests/c.yaml", "- {name: c, tool: echo__say}\n");
    watching.until(&["tests/c.yaml", "1 case: 1 passed", WAITING]);

    // All cases run after any other change.
    terminal.write("policy.yaml", "tools: [");
    watching.until(&["policy.yaml", "cannot be used", WAITING]);
    terminal.write("policy.yaml", "locale: ko");
    watching.until(&["policy.yaml", "3 cases: 2 passed, 1 failed", WAITING]);
    let manifest = fs::read_to_string(terminal.path("here/goondan.yaml")).unwrap();
    terminal.write("here/goondan.yaml", format!("# changed\n{manifest}"));
    watching.until(&["goondan.yaml", "3 cases: 2 passed, 1 failed", WAITING]);
    fs::copy(
        root("target/guests/text.wasm"),
        terminal.path("here/echo.wasm"),
    )
    .unwrap();
    watching.until(&["echo.wasm", "error", WAITING]);
    fs::remove_file(&file).unwrap();
    fs::copy(
        root("target/guests/echo.wasm"),
        terminal.path("here/echo.wasm"),
    )
    .unwrap();
    watching.until(&["echo.wasm", "2 cases: 2 passed", WAITING]);
    assert_eq!(watching.end(), Some(130));
}
