//! A process of its own with a host in it, told what to do.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use toolhost_tests::test_host::{TestTool, write_bundle, yaml};

/// The process. Dropped, it is killed.
pub(crate) struct HostProcess {
    child: Child,
    stdin: ChildStdin,
    pub(crate) said: Lines<BufReader<ChildStdout>>,
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // kill -9: it is told nothing.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl HostProcess {
    /// Starts it in a shell that has done this before.
    pub(crate) fn after(setup: &str) -> Self {
        Self::of(Command::new("sh").arg("-c"), setup)
    }

    /// Starts it where mounts are its own; none where this machine has no such places, which is said.
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
            Ok(tried) if tried.status.success() => Some(Self::of(&mut own_mounts(), mount)),
            tried => {
                eprintln!("skipped: nothing can be mounted here: {tried:?}");
                None
            }
        }
    }

    fn of(command: &mut Command, setup: &str) -> Self {
        let mut child = command
            .arg(format!("{setup} && exec \"$0\""))
            .arg(env!("CARGO_BIN_EXE_host_process"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            said: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    /// Tells it something, without waiting for the answer.
    pub(crate) fn ask(&mut self, what: &Value) {
        writeln!(self.stdin, "{what}").unwrap();
    }

    pub(crate) fn tell(&mut self, what: Value) -> Value {
        self.ask(&what);
        let said = self
            .said
            .next()
            .unwrap_or_else(|| panic!("it died: {what}"));
        serde_json::from_str(&said.unwrap()).unwrap()
    }

    /// Tells it something that must go well.
    #[track_caller]
    pub(crate) fn must(&mut self, what: Value) -> Value {
        let answer = self.tell(what.clone());
        assert_eq!(answer.get("error"), None, "{what}");
        answer
    }

    /// The result of a call.
    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Value {
        self.must(json!({"op": "call", "tool": tool, "args": args}))["result"].clone()
    }

    /// Submits a call that must be accepted, and polls until it has ended.
    pub(crate) fn submitted(&mut self, tool: &str, args: Value) -> Value {
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

/// Lines of a log, of which those of a killed process may be half ones, which stay alone.
#[track_caller]
pub(crate) fn events(logged: &str, half_at_most: usize) -> Vec<Value> {
    let lines = logged.lines().map(serde_json::from_str::<Value>);
    let (whole, half): (Vec<_>, Vec<_>) = lines.partition(Result::is_ok);
    assert!(half.len() <= half_at_most, "{half:?}");
    whole.into_iter().map(Result::unwrap).collect()
}
