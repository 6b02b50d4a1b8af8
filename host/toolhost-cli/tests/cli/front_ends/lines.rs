//! A process that answers lines of JSON on its standard output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Lines {
    child: Child,
    /// None once the process is to end.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
}

impl Lines {
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            last_id: 0,
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_ref().unwrap(), "{message}").unwrap();
    }

    /// Sends a request, and returns its answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.request_and(method, params, &mut Vec::new())
    }

    /// Sends a request, and returns its answer. Adds the notifications before it to `notified`.
    pub(crate) fn request_and(
        &mut self,
        method: &str,
        params: &Value,
        notified: &mut Vec<Value>,
    ) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            notified.push(message);
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Lines {
    /// Ends the process as a client does: it closes stdin.
    fn drop(&mut self) {
        self.stdin = None;
        let _has_ended = self.child.wait().is_ok();
    }
}
