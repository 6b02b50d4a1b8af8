//! From an empty directory to a tool that answers: `toolhost new`, `build`, and what the other commands
//! say of source.

mod builds;
mod made;
mod missing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::terminal::{Ran, Terminal, root};

/// A terminal of somebody who writes tools: the machine's compilers, and one cache of kits for all
/// tests.
struct Desk {
    terminal: Terminal,
}

impl Desk {
    fn new() -> Self {
        Self {
            terminal: Terminal::new(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.terminal.path(&format!("here/{path}"))
    }

    fn write(&self, path: &str, text: &str) {
        self.terminal.write(&format!("here/{path}"), text);
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Replaces the only place of a text in a file.
    fn edit(&self, path: &str, before: &str, after: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(before).count(), 1, "{text}");
        self.write(path, &text.replace(before, after));
    }

    /// The binary, with the environment of who runs the tests, so that compilers find what they need.
    fn toolhost(&self, words: &[&str]) -> Command {
        let mut command = self.terminal.toolhost(words);
        for (name, value) in std::env::vars_os() {
            let name_is = name.to_string_lossy().into_owned();
            let of_the_run = |start: &str| name_is.starts_with(start);
            // What cargo tells a test is none of a tool's build.
            let told = [
                "CARGO_",
                "RUSTC",
                "RUSTFLAGS",
                "NEXTEST",
                "XDG_",
                "TOOLHOST_",
                "LD_",
            ];
            if name_is == "CARGO_HOME" || !told.iter().any(|start| of_the_run(start)) {
                command.env(name, value);
            }
        }
        // What the guests were built with is there; nothing is fetched.
        command.env("CARGO_NET_OFFLINE", "true");
        if let Some(rustc) = rustc_for_guests() {
            command.env("RUSTC", rustc);
        }
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.toolhost(words))
    }

    /// The result of a call that succeeds, with the workdir `D`.
    fn call(&self, bundle: &str, tool: &str, args: &Value) -> Value {
        let workdir = self.terminal.path("D");
        let words = [
            "call",
            bundle,
            tool,
            "--args",
            &args.to_string(),
            "--workdir",
        ];
        let ran = Ran::of(self.toolhost(&words).arg(workdir));
        ran.json()
    }
}

/// A rustc that compiles to `wasm32-wasip2`; none where the ordinary one does.
fn rustc_for_guests() -> Option<PathBuf> {
    let mut ordinary = Command::new("rustc");
    ordinary.args(["--print", "target-libdir", "--target", "wasm32-wasip2"]);
    let told = ordinary.current_dir(root("")).output();
    let has_target = told.is_ok_and(|told| {
        let dir = String::from_utf8_lossy(&told.stdout);
        told.status.success() && Path::new(dir.trim()).is_dir()
    });
    if has_target {
        return None;
    }
    let rustc = root("target/wasip2/bin/rustc");
    let rustc = rustc.canonicalize();
    Some(rustc.unwrap_or_else(|_| panic!("no rustc for guests: run `cargo xtask setup`")))
}
