//! From an empty directory to a tool that can be called: `toolhost new`, `build`, and how the other
//! commands treat sources.

mod builds;
mod dev;
mod entries;
mod made;
mod missing;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::terminal::{Ran, Terminal, root};

/// A terminal for building tools: with the machine's compilers, and one cache of kits for all
/// tests.
pub(crate) struct Desk {
    terminal: Terminal,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            terminal: Terminal::new(),
        }
    }

    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.terminal.path(&format!("here/{path}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.terminal.write(&format!("here/{path}"), text);
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Replaces a text that occurs once in a file.
    pub(crate) fn edit(&self, path: &str, before: &str, after: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(before).count(), 1, "{text}");
        self.write(path, &text.replace(before, after));
    }

    /// The binary, with the environment of the test process, which compilers need.
    pub(crate) fn toolhost(&self, words: &[&str]) -> Command {
        let mut command = self.terminal.toolhost(words);
        for (name, value) in std::env::vars_os() {
            let name_is = name.to_string_lossy().into_owned();
            let of_the_run = |start: &str| name_is.starts_with(start);
            // Cargo's variables for tests are not for the build of a tool.
            let of_tests = [
                "CARGO_",
                "RUSTC",
                "RUSTFLAGS",
                "NEXTEST",
                "XDG_",
                "TOOLHOST_",
                "LD_",
            ];
            if name_is == "CARGO_HOME" || !of_tests.iter().any(|start| of_the_run(start)) {
                command.env(name, value);
            }
        }
        // The crates that the guests were built with are there: nothing is downloaded.
        command.env("CARGO_NET_OFFLINE", "true");
        if let Some(rustc) = rustc_for_guests() {
            command.env("RUSTC", rustc);
        }
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.toolhost(words))
    }

    /// The output of a successful call with the workdir `D`.
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

/// A rustc that compiles to `wasm32-wasip2`; none if the default one does.
fn rustc_for_guests() -> Option<PathBuf> {
    let mut ordinary = Command::new("rustc");
    ordinary.args(["--print", "target-libdir", "--target", "wasm32-wasip2"]);
    let printed = ordinary.current_dir(root("")).output();
    let has_target = printed.is_ok_and(|printed| {
        let dir = String::from_utf8_lossy(&printed.stdout);
        printed.status.success() && Path::new(dir.trim()).is_dir()
    });
    if has_target {
        return None;
    }
    let rustc = root("target/wasip2/bin/rustc");
    let rustc = rustc.canonicalize();
    Some(rustc.unwrap_or_else(|_| panic!("no rustc for guests: run `cargo xtask setup`")))
}
