//! Runs the binary with directories of the test, not those of the user.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const TOOLHOST: &str = env!("CARGO_BIN_EXE_toolhost");

/// A folder of the repository.
pub(crate) fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The bundle of examples.
pub(crate) fn examples() -> PathBuf {
    let examples = root("guest-examples");
    let built = examples.join(".toolhost/text.wasm");
    assert!(
        built.exists(),
        "{}: run `cargo xtask guests`",
        built.display()
    );
    examples
}

/// The component of a guest, as `cargo xtask guests` built it.
pub(crate) fn guest(name: &str) -> PathBuf {
    let path = root("target/guests").join(format!("{name}.wasm"));
    assert!(
        path.exists(),
        "{}: run `cargo xtask guests`",
        path.display()
    );
    path
}

/// The beginnings of notes about a start that compiles for longer than a second.
const SLOW_START: [&str; 2] = [
    "note: compiling components: ",
    "note: waiting for another process that compiles components: ",
];

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::ended(command.output().expect("it runs"))
    }

    /// Leaves out notes about a slow start: whether there are some depends on the machine.
    pub(crate) fn ended(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).expect("stderr is UTF-8");
        let is_slow = |line: &str| SLOW_START.iter().any(|note| line.starts_with(note));
        let lines = stderr.split_inclusive('\n');
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: lines.filter(|line| !is_slow(line)).collect(),
        }
    }

    /// The JSON value on stdout: one line, and nothing else.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.matches('\n').count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Asserts that stdout is empty, and that stderr has one error with this text.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, says: &str) -> Self {
        let ran = self.exits(code);
        assert_eq!(ran.stdout, "", "{ran:?}");
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran:?}");
        assert!(
            ran.stderr.contains(says),
            "it does not say {says:?}: {ran:?}"
        );
        for never in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
            assert!(!ran.stderr.contains(never), "{ran:?}");
        }
        ran
    }
}

/// The environment of a user: an empty home and current directory. All tests share the cache, so
/// that each guest is compiled once.
pub(crate) struct Terminal {
    top: TempDir,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().expect("a temporary directory");
        for name in ["home", "here", "D"] {
            fs::create_dir(top.path().join(name)).expect("it is made");
        }
        Self { top }
    }

    /// A path in the temporary directory: `here` is the current directory, `D` a workdir.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
        fs::write(&path, content).expect("it is written");
        path
    }

    /// Writes a bundle of guests, each a Tool named like the guest, with these exports.
    pub(crate) fn bundle(&self, dir: &str, tools: &[(&str, &[&str])]) -> PathBuf {
        let document = |(name, exports): &(&str, &[&str])| {
            let exports: Vec<_> = exports.iter().map(|e| format!("{{name: {e}}}")).collect();
            self.write(
                &format!("{dir}/{name}.wasm"),
                fs::read(guest(name)).expect("it is read"),
            );
            format!(
                "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: {name}}}\n\
                 spec: {{entry: ./{name}.wasm, exports: [{}]}}\n",
                exports.join(", ")
            )
        };
        let documents: Vec<_> = tools.iter().map(document).collect();
        self.write(&format!("{dir}/goondan.yaml"), documents.join("---\n"));
        self.path(dir)
    }

    /// The binary, with these arguments.
    pub(crate) fn toolhost<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut command = Command::new(TOOLHOST);
        command
            .args(words)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", shared.join("cli-cache"))
            .env("XDG_STATE_HOME", shared.join("cli-state"))
            .current_dir(self.path("here"))
            .stdin(Stdio::null());
        command
    }

    /// Runs it.
    pub(crate) fn run<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Ran {
        Ran::of(&mut self.toolhost(words))
    }

    /// The log of events of an instance in the shared state, which it is removed from: each event's type and call.
    pub(crate) fn take_events(instance: &str) -> Vec<(String, String)> {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-state");
        let of_instance = format!("{instance}~");
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            let log = folder.join("events.jsonl");
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&of_instance) && log.exists() {
                let text = fs::read_to_string(&log).expect("it is read");
                fs::remove_dir_all(folder).expect("it is removed");
                let of_line = |line: &str| {
                    let event: Value = serde_json::from_str(line).expect("a line of JSON");
                    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                    (text("type"), text("toolCallId"))
                };
                return text.lines().map(of_line).collect();
            }
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(entries.map(|e| e.path()).filter(|path| path.is_dir()));
        }
        Vec::new()
    }

    /// Runs `toolhost call` on the examples, with the workdir `D`.
    pub(crate) fn call(&self, tool: &str, args: &str) -> Ran {
        let mut command = self.toolhost(["call"]);
        command.arg(examples()).arg(tool).arg("--args").arg(args);
        Ran::of(command.arg("--workdir").arg(self.path("D")))
    }

    /// Text without this machine's paths.
    pub(crate) fn redacted(&self, text: &str) -> String {
        text.replace(&self.top.path().to_string_lossy().into_owned(), "[top]")
            .replace(&root("").to_string_lossy().into_owned(), "[repo]/")
    }

    /// Names of the entries of a directory.
    pub(crate) fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).expect("it is read");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("it is read").file_name();
        let mut names: Vec<_> = entries
            .map(|e| name(e).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Runs a command that reads this from stdin.
pub(crate) fn with_stdin(command: &mut Command, text: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // A command may close the pipe without reading it to the end.
    let _ = child.stdin.take().expect("it is piped").write_all(text);
    Ran::ended(child.wait_with_output().expect("it ends"))
}
