//! An error about a program that is missing on the machine names the command that installs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Desk;
use crate::terminal::Ran;

/// Builds a new tool with nothing in `PATH` but these programs, each a script.
fn build(lang: &str, programs: &[(&str, &str)]) -> Ran {
    build_at(&Desk::new(), lang, programs)
}

fn build_at(desk: &Desk, lang: &str, programs: &[(&str, &str)]) -> Ran {
    desk.run(&["new", "notes", "--lang", lang]).exits(0);
    run_with(desk, programs)
}

/// Builds the tool `notes`.
fn run_with(desk: &Desk, programs: &[(&str, &str)]) -> Ran {
    for (name, script) in programs {
        let program = format!("bin/{name}");
        desk.write(&program, &format!("#!/bin/sh\n{script}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(desk.path(&program), executable).unwrap();
    }
    let mut command = desk.toolhost(&["build", "notes"]);
    let own = desk.terminal.path("own-cache");
    let ran = Ran::of(
        command
            .env("PATH", desk.path("bin"))
            .env("XDG_CACHE_HOME", own),
    );
    assert!(!desk.path("notes/.toolhost/notes.wasm").exists());
    ran
}

fn says_at(ran: Ran, what: &str, next: &str) {
    let ran = ran.fails(2, what);
    assert!(ran.stderr.contains(&format!("hint: {next}")), "{ran:?}");
}

#[test]
fn a_missing_program_is_named_with_how_to_install_it() {
    says_at(
        build("rust", &[]),
        "`cargo` is not installed, or not in PATH",
        "Install Rust: https://rustup.rs",
    );
    says_at(
        build("typescript", &[]),
        "`node` is not installed, or not in PATH",
        "Install Node 20 or newer",
    );
    says_at(
        build("python", &[]),
        "`python3` is not installed, or not in PATH",
        "Install Python 3.10 or newer",
    );
    let node = [("node", "echo v20.1.0")];
    says_at(
        build("typescript", &node),
        "`npm` is not installed, or not in PATH",
        "Install Node 20 or newer",
    );
}

#[test]
fn a_program_that_is_too_old_or_incomplete_is_reported() {
    let node = [("node", "echo v18.19.1")];
    says_at(
        build("typescript", &node),
        "node is v18.19.1; tools are built with Node 20 or newer",
        "Install Node 20",
    );
    let python = [("python3", "exit 1")];
    says_at(
        build("python", &python),
        "python3 is older than 3.10",
        "Install Python 3.10 or newer",
    );
    // A kit that needs componentize-py replies with this kind, and with the reason as a second error.
    let reply = r#"{"ok": false, "kind": "componentize-py", "errors": [{"text": "none"}, {"text": "it is damaged"}]}"#;
    let no_venv = format!(
        "case $2 in -c) ;; -B) echo '{reply}'; exit 2 ;; *) echo 'ensurepip is not available'; exit 1; esac"
    );
    let python = [("python3", no_venv.as_str())];
    let ran = build("python", &python).exits(2);
    for said in [
        "error: python3 cannot make a virtual environment\n",
        "hint: On Debian and Ubuntu: apt install python3-venv\n",
        "error: it is damaged\n",
    ] {
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    assert!(!ran.stderr.contains("none"), "{ran:?}");
    let npm = [
        ("node", "echo v20.1.0"),
        ("npm", "echo 'npm error network' >&2; exit 1"),
    ];
    says_at(
        build("typescript", &npm),
        "`npm ci --omit=dev` failed",
        "See that npm reaches its registry",
    );
}

#[test]
fn compilers_are_not_started_in_a_folder_where_an_agent_may_write() {
    // Python imports modules of that folder, and version managers obey files there.
    for (lang, program) in [("python", "python3"), ("typescript", "node")] {
        let desk = Desk::new();
        let record = desk.path("record");
        let script = format!("echo \"$(pwd) $1\" >> {}; exit 1", record.display());
        build_at(&desk, lang, &[(program, &script)]).fails(2, program);
        let record = fs::read_to_string(record).unwrap();
        let started = record.lines().next().unwrap();
        assert!(["/ -I", "/ --version"].contains(&started), "{record}");
    }
}

/// A cargo that writes its arguments to a file, prints a message and fails.
fn failing_cargo(message: &str) -> String {
    let line = format!(
        r#"{{"reason":"compiler-message","message":{{"message":"{message}","level":"error","spans":[],"rendered":""}}}}"#
    );
    let line = line.replace('\'', "'\\''");
    format!("echo \"$@\" >> ../cargo.log; echo '{line}'; exit 101")
}

#[test]
fn a_rust_without_the_target_is_reported_before_anything_of_the_tool_is_compiled() {
    for (message, says, next) in [
        (
            "can't find crate for `std`",
            "rustc has no standard library for wasm32-wasip2",
            "rustup target add wasm32-wasip2",
        ),
        (
            "linker `wasm-component-ld` not found",
            "rustc has no linker for wasm32-wasip2: `wasm-component-ld` is not installed",
            "Use rustc from https://rustup.rs",
        ),
    ] {
        let desk = Desk::new();
        let cargo = failing_cargo(message);
        let ran = build_at(&desk, "rust", &[("cargo", &cargo)]);
        assert!(message.starts_with("linker") || ran.stderr.contains("libstd-rust-dev-wasm32"));
        says_at(ran, says, next);
        let log = desk.read("cargo.log");
        assert!(
            log.lines().count() == 1 && !log.contains("notes/Cargo.toml"),
            "only an empty package is compiled: {log}"
        );
    }
}

#[test]
fn an_export_without_a_handler_is_reported_before_a_rust_tool_is_compiled() {
    let desk = Desk::new();
    desk.run(&["new", "notes", "--lang", "rust"]).exits(0);
    let manifest = desk.read("notes/goondan.yaml");
    let exports = "\n  exports:\n    - name: cuont\n";
    desk.write(
        "notes/goondan.yaml",
        &format!("{}{exports}", manifest.trim_end()),
    );
    let cargo = "echo \"$@\" >> ../cargo.log; exit 0";
    let ran = run_with(&desk, &[("cargo", cargo)]).exits(1);
    for says in [
        "error: notes/goondan.yaml:8:13: export 'cuont' of tool notes has no handler: ./Cargo.toml has count",
        "hint: Did you mean 'count'?",
    ] {
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
    assert_eq!(desk.read("cargo.log").lines().count(), 1);
}
