//! An error about a program that is missing on the machine names the command that installs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Desk;
use crate::terminal::Ran;

/// Builds a new tool with nothing in `PATH` but these programs, each a script.
fn build(lang: &str, programs: &[(&str, &str)]) -> Ran {
    let desk = Desk::new();
    desk.run(&["new", "notes", "--lang", lang]).exits(0);
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

fn says(ran: Ran, what: &str, next: &str) {
    let ran = ran.fails(2, what);
    assert!(ran.stderr.contains(&format!("hint: {next}")), "{ran:?}");
}

#[test]
fn a_missing_program_is_named_with_how_to_install_it() {
    says(
        build("rust", &[]),
        "`cargo` is not installed, or not in PATH",
        "Install Rust: https://rustup.rs",
    );
    says(
        build("typescript", &[]),
        "`node` is not installed, or not in PATH",
        "Install Node 20 or newer",
    );
    says(
        build("python", &[]),
        "`python3` is not installed, or not in PATH",
        "Install Python 3.10 or newer",
    );
    let node = [("node", "echo v20.1.0")];
    says(
        build("typescript", &node),
        "`npm` is not installed, or not in PATH",
        "Install Node 20 or newer",
    );
}

#[test]
fn a_program_that_is_too_old_or_incomplete_is_reported() {
    let node = [("node", "echo v18.19.1")];
    says(
        build("typescript", &node),
        "node is v18.19.1; tools are built with Node 20 or newer",
        "Install Node 20",
    );
    let python = [("python3", "exit 1")];
    says(
        build("python", &python),
        "python3 is older than 3.10",
        "Install Python 3.10 or newer",
    );
    let no_venv = "[ $1 = -c ] && exit 0; echo 'ensurepip is not available'; exit 1";
    let python = [("python3", no_venv)];
    says(
        build("python", &python),
        "python3 cannot make a virtual environment",
        "On Debian and Ubuntu: apt install python3-venv",
    );
    let npm = [
        ("node", "echo v20.1.0"),
        ("npm", "echo 'npm error network' >&2; exit 1"),
    ];
    says(
        build("typescript", &npm),
        "`npm ci --omit=dev` failed",
        "See that npm reaches its registry",
    );
}

#[test]
fn a_rust_without_the_target_is_reported_with_the_command_that_adds_it() {
    // The error of rustc about the first crate that it compiles.
    let message = r#"{"reason":"compiler-message","message":{"message":"can't find crate for `core`","level":"error","code":{"code":"E0463","explanation":null},"spans":[],"rendered":""}}"#;
    let cargo = format!("echo '{}'; exit 101", message.replace('\'', "'\\''"));
    says(
        build("rust", &[("cargo", &cargo)]),
        "rustc has no standard library for wasm32-wasip2",
        "rustup target add wasm32-wasip2",
    );
}
