//! A host in a child process, controlled by commands.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use toolhost_tests::test_host::{TestTool, write_bundle, yaml};

use crate::helper::HELPER;

/// The child process, which is killed when this value is dropped.
pub(crate) struct HostProcess {
    child: Child,
    stdin: ChildStdin,
    pub(crate) answers: Lines<BufReader<ChildStdout>>,
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // SIGKILL: the process gets no chance to clean up.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl HostProcess {
    /// Starts it in a shell, after the command `setup`.
    pub(crate) fn after(setup: &str) -> Self {
        Self::spawn(Command::new("sh").arg("-c"), setup)
    }

    /// Starts it with its own mounts. Returns `None` and prints a note if the machine does not allow them.
    pub(crate) fn after_mounting(mount: &str, dir: &Path) -> Option<Self> {
        let own_mounts = || {
            let mut command = Command::new("unshare");
            command.args(["-rm", "sh", "-c"]);
            command
        };
        let tried = own_mounts()
            .args(["mount -t tmpfs tmpfs \"$0\""])
            .arg(dir)
            .output();
        match tried {
            Ok(tried) if tried.status.success() => Some(Self::spawn(&mut own_mounts(), mount)),
            tried => {
                eprintln!("NOT TESTED: this machine does not allow mounts: {tried:?}");
                None
            }
        }
    }

    fn spawn(command: &mut Command, setup: &str) -> Self {
        let mut child = command
            .arg(format!("{setup} && exec \"$0\" host-process"))
            .arg(HELPER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    /// Kills it, and returns what it printed that was not read: of the last line, it may have printed a part.
    pub(crate) fn kill(&mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let lines = self.answers.by_ref().map_while(Result::ok);
        lines
            .filter_map(|line| serde_json::from_str(&line).ok())
            .collect()
    }

    /// Sends a command without waiting for the answer.
    pub(crate) fn post(&mut self, what: &Value) {
        writeln!(self.stdin, "{what}").unwrap();
    }

    pub(crate) fn send(&mut self, what: Value) -> Value {
        self.post(&what);
        self.next()
    }

    /// Returns the next line that it prints.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.answers.next().unwrap();
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    /// Sends a command that must succeed, and returns the answer.
    #[track_caller]
    pub(crate) fn must(&mut self, what: Value) -> Value {
        let answer = self.send(what.clone());
        assert_eq!(answer.get("error"), None, "{what}");
        answer
    }

    /// Calls a tool and returns the result.
    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Value {
        self.must(json!({"op": "call", "tool": tool, "args": args}))["result"].clone()
    }

    /// Submits a call that must be accepted, and polls until it has ended.
    pub(crate) fn submit_and_wait(&mut self, tool: &str, args: Value) -> Value {
        let accepted = self.must(json!({"op": "submit", "tool": tool, "args": args}));
        let handle = &accepted["result"]["handle"];
        assert!(handle.is_string(), "{accepted}");
        loop {
            let polled = self.must(json!({"op": "poll", "handle": handle}))["result"].clone();
            if polled["status"] != "pending" {
                return polled;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// Writes a bundle of guests into a directory that it makes.
pub(crate) fn bundle(dir: &Path, tools: &[TestTool<'_>]) {
    std::fs::create_dir_all(dir).unwrap();
    let guests: Vec<&str> = tools.iter().map(|(_, guest, _)| *guest).collect();
    write_bundle(dir, &yaml(tools), &guests);
}

/// Parses the lines of a log; at most `partial_at_most` of them, from killed processes, may be partial.
#[track_caller]
pub(crate) fn events(logged: &str, partial_at_most: usize) -> Vec<Value> {
    let lines = logged.lines().map(serde_json::from_str::<Value>);
    let (complete, partial): (Vec<_>, Vec<_>) = lines.partition(Result::is_ok);
    assert!(partial.len() <= partial_at_most, "{partial:?}");
    complete.into_iter().map(Result::unwrap).collect()
}
