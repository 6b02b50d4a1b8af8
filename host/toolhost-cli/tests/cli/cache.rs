//! `toolhost cache`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::terminal::{Ran, Terminal, guest};

/// A user with a separate cache.
struct User(Terminal);

impl User {
    fn new() -> Self {
        Self(Terminal::new())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.toolhost(words);
        command
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME");
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    /// Compiles a guest.
    fn compile(&self, name: &str) {
        Ran::of(self.command(&["inspect", "-q"]).arg(guest(name))).exits(0);
    }

    /// The cached artifacts.
    fn artefacts(&self) -> Vec<PathBuf> {
        let dir = self.0.path("home/.cache/toolhost");
        let names = self.0.names("home/.cache/toolhost");
        names.iter().map(|name| dir.join(name)).collect()
    }

    fn redacted(&self, text: &str) -> String {
        self.0.redacted(text)
    }
}

#[test]
fn ls_lists_the_cached_components_and_their_handlers() {
    let user = User::new();
    let empty = user.run(&["cache", "ls"]).exits(0);
    assert_eq!(
        user.redacted(&empty.stdout),
        "0 components, 0 bytes of at most 2147.4 MB, in [top]/home/.cache/toolhost\n"
    );
    user.compile("two_handlers");
    user.compile("trap");
    let listed = user.run(&["cache", "ls"]).exits(0);
    assert_eq!(listed.stderr, "");
    let lines: Vec<_> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{listed:?}");
    assert_eq!(
        lines[0],
        "USED                SIZE  STATE         COMPONENT     SERVES"
    );
    for line in &lines[1..3] {
        assert!(line.starts_with("just now  "), "{line}");
        assert!(line.contains("  valid  "), "{line}");
    }
    assert!(
        lines[1].ends_with("  run"),
        "the last used comes first: {listed:?}"
    );
    assert!(lines[4].starts_with("2 components, "), "{listed:?}");

    let printed = user.run(&["cache", "ls", "--json"]).exits(0).json();
    assert_eq!(printed["limitBytes"], 2_u64 << 30);
    let entries = printed["entries"].as_array().expect("a list");
    assert_eq!(entries.len(), 2);
    let sum: u64 = entries.iter().filter_map(|e| e["bytes"].as_u64()).sum();
    assert_eq!(printed["bytes"], sum);
    for entry in entries {
        assert_eq!(entry["verdict"], "valid");
        assert!(
            entry["lastUsed"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z'))
        );
    }
    for (entry, name) in entries.iter().zip(["trap", "two_handlers"]) {
        let mut inspect = user.command(&["inspect", "--json"]);
        let inspected = Ran::of(inspect.arg(guest(name))).exits(0).json();
        assert_eq!(entry["sha256"], inspected["sha256"], "{name}");
    }
}

#[test]
fn verify_names_the_invalid_entries_and_what_to_do() {
    let user = User::new();
    user.run(&["cache", "verify"]).exits(0);
    user.compile("echo");
    user.compile("trap");
    let sound = user.run(&["cache", "verify"]).exits(0);
    assert!(sound.stdout.ends_with("\n2 components: ok\n"), "{sound:?}");
    assert_eq!(sound.stderr, "");

    let spoilt = user.artefacts().remove(0);
    let mut bytes = fs::read(&spoilt).expect("it is read");
    bytes[5000] ^= 1;
    fs::remove_file(&spoilt).expect("it is removed");
    fs::write(&spoilt, bytes).expect("it is written");
    fs::set_permissions(&spoilt, fs::Permissions::from_mode(0o400)).expect("it is ours");

    let ran = user.run(&["cache", "verify"]).exits(1);
    let name = spoilt
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    assert!(
        ran.stdout.contains(&format!("tampered      {name}\n")),
        "{ran:?}"
    );
    assert!(
        ran.stdout.ends_with("2 components: 1 cannot be verified\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("`toolhost cache clear`"), "{ran:?}");
    let printed = user.run(&["cache", "verify", "--json", "-q"]).exits(1);
    assert_eq!(printed.stderr, "");
    assert_eq!(printed.json()["ok"], false);
    // The component is compiled again, and its entry is valid.
    for name in ["echo", "trap"] {
        user.compile(name);
    }
    user.run(&["cache", "verify"]).exits(0);

    fs::write(user.0.path("home/.local/state/toolhost/cache.key"), [7; 32]).expect("it is written");
    let ran = user.run(&["cache", "verify"]).exits(1);
    assert!(ran.stderr.contains("note: other-key: "), "{ran:?}");
}

#[test]
fn clear_removes_all_cached_components_and_nothing_else() {
    let user = User::new();
    user.compile("echo");
    let own = user.0.write("home/.cache/toolhost/notes.txt", "mine");
    let printed = user.run(&["cache", "clear", "--json"]).exits(0).json();
    assert_eq!(printed["files"], 1);
    assert!(printed["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert_eq!(user.artefacts(), [own]);
    let again = user.run(&["cache", "clear"]).exits(0);
    assert_eq!(
        user.redacted(&again.stdout),
        "removed 0 files, 0 bytes, from [top]/home/.cache/toolhost\n"
    );
    user.compile("echo");
    assert_eq!(user.artefacts().len(), 2);
}

#[test]
fn an_unusable_cache_is_an_error_with_the_reason() {
    let user = User::new();
    user.compile("echo");
    let dir = user.0.path("home/.cache/toolhost");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("it is ours");
    for what in ["ls", "verify", "clear"] {
        let ran = user
            .run(&["cache", what])
            .fails(2, "other users can write to");
        assert!(ran.stderr.contains("run `chmod go-w '"), "{ran:?}");
    }
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("it is ours");
    fs::write(user.0.path("home/.local/state/toolhost/cache.key"), "short").expect("it is written");
    user.run(&["cache", "ls"])
        .fails(2, "is not a key of 32 bytes");
    Ran::of(user.command(&["cache", "ls"]).env_clear())
        .fails(2, "the directory for compiled components is not known");
    user.run(&["cache"]).exits(2);
}

#[test]
fn commands_that_run_one_tool_compile_it_alone_and_check_compiles_all() {
    let user = User::new();
    let tools: &[(&str, &[&str])] = &[
        ("echo", &["say"]),
        ("two_handlers", &["a"]),
        ("pending", &["run"]),
    ];
    let bundle = user.0.bundle("b", tools);
    let bundle = bundle.to_str().expect("it is UTF-8");
    let compiled = || {
        let entries = user.run(&["cache", "ls", "--json"]).exits(0).json();
        let entries = entries["entries"].as_array().expect("a list").clone();
        let mut handlers: Vec<_> = entries
            .iter()
            .map(|entry| entry["handlers"][0].as_str().expect("a name").to_owned())
            .collect();
        handlers.sort();
        handlers
    };
    let clear = || user.run(&["cache", "clear"]).exits(0);

    let call = ["call", bundle, "echo__say", "--args", r#"{"a":1}"#];
    user.run(&[&call[..], &["--record", "../rec"]].concat())
        .exits(0);
    assert_eq!(compiled(), ["say"]);
    clear();
    user.run(&["replay", "../rec", "--bundle", bundle]).exits(0);
    assert_eq!(compiled(), ["say"]);

    let call = [
        "call",
        bundle,
        "pending__run",
        "--args",
        r#"{"handle":"not yet"}"#,
    ];
    let handle = user.run(&call).exits(0).json()["handle"].clone();
    let handle = handle.as_str().expect("a handle");
    for (command, prepared) in [
        ("poll", vec!["run"]),
        ("cancel", vec!["run"]),
        ("poll", vec![]),
    ] {
        clear();
        user.run(&[command, bundle, handle]);
        assert_eq!(compiled(), prepared, "{command}");
    }

    user.run(&["check", bundle]).exits(0);
    assert_eq!(compiled(), ["a", "run", "say"]);
}

#[test]
fn a_start_that_waits_for_another_process_prints_so() {
    let user = User::new();
    let bundle = user.0.bundle("b", &[("echo", &["say"])]);
    user.run(&["cache", "ls"]).exits(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let lock = |slot| {
        let path = user
            .0
            .path(&format!("home/.cache/toolhost/compile-{slot}.lock"));
        let file = File::create(path).expect("it is made");
        file.set_permissions(fs::Permissions::from_mode(0o600))
            .expect("it is ours");
        file.lock().expect("nobody else has it");
        file
    };
    // As processes do that compile other components.
    let slots: Vec<_> = (0..(cores / 2).max(1)).map(lock).collect();
    let mut call = user.command(&["call"]);
    call.arg(&bundle)
        .arg("echo__say")
        .arg("--workdir")
        .arg(user.0.path("D"));
    let mut waiting = call
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let stderr = waiting.stderr.take().expect("it is piped");
    BufReader::new(stderr)
        .read_line(&mut line)
        .expect("it is read");
    let says = "note: waiting for another process that compiles components: echo (";
    assert!(line.starts_with(says), "{line}");
    assert!(waiting.try_wait().expect("it is asked").is_none());
    drop(slots);
    let ended = waiting.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains(r#""status":"ok""#));
}
