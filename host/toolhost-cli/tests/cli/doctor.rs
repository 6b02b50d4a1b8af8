//! `toolhost doctor`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::terminal::{Ran, Terminal};

/// The command with directories of the test alone, and without compilers unless `path` names them.
fn doctor(terminal: &Terminal, path: &str) -> Command {
    let mut command = terminal.toolhost(["doctor", "--json"]);
    command
        .env("PATH", path)
        .env("XDG_CACHE_HOME", terminal.path("home/cache"))
        .env("XDG_STATE_HOME", terminal.path("home/state"));
    command
}

/// The check of this name in this area.
#[track_caller]
fn check<'a>(report: &'a Value, area: &str, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("a list");
    let mut found = checks
        .iter()
        .filter(|check| check["area"] == area && check["name"] == name);
    found
        .next()
        .unwrap_or_else(|| panic!("no {area} {name}: {report:#}"))
}

/// All files and folders below a folder, with what a write would change.
fn tree(top: &Path) -> BTreeMap<PathBuf, (i64, i64, u64)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            if found.is_dir() {
                folders.push(path.clone());
            }
            tree.insert(path, (found.mtime(), found.mtime_nsec(), found.len()));
        }
    }
    tree
}

/// Keeps a call in the state root and in the cache.
fn use_them(terminal: &Terminal) {
    let bundle = terminal.bundle("bundle", &[("pending", &["run"])]);
    let mut call = terminal.toolhost(["call"]);
    call.arg(bundle)
        .arg("pending__run")
        .env("XDG_CACHE_HOME", terminal.path("home/cache"))
        .env("XDG_STATE_HOME", terminal.path("home/state"));
    Ran::of(&mut call);
    assert!(terminal.path("home/state/toolhost/cache.key").exists());
}

#[test]
fn a_machine_without_compilers_has_warnings_and_no_error() {
    let terminal = Terminal::new();
    let ran = Ran::of(&mut doctor(&terminal, "/nowhere")).exits(0);
    let report = ran.json();
    assert_eq!(report["ok"], true);
    for (name, next) in [
        ("cargo", "https://rustup.rs"),
        ("rustc", "https://rustup.rs"),
        ("node", "https://nodejs.org"),
        ("npm", "https://nodejs.org"),
        ("python3", "https://www.python.org"),
    ] {
        let found = check(&report, "compilers", name);
        assert_eq!(found["state"], "warning", "{found}");
        assert!(found["next"].as_str().unwrap().contains(next), "{found}");
        assert!(found["neededFor"].as_str().unwrap().starts_with("tools in"));
    }
    for (area, name) in [
        ("kits", "typescript"),
        ("kits", "python"),
        ("kernel", "openat2"),
        ("kernel", "sandbox"),
        ("cache", "directory"),
        ("cache", "signature key"),
        ("state", "directory"),
        ("network", "proxy"),
        ("terminal", "stdout"),
    ] {
        let found = check(&report, area, name);
        assert_eq!(found["state"], "ok", "{found}");
    }
}

#[test]
fn a_compiler_that_is_too_old_is_a_warning() {
    let terminal = Terminal::new();
    for (name, text) in [
        ("node", "echo v18.1.0"),
        ("npm", "echo 9.0.0"),
        ("python3", "exit 1"),
    ] {
        let path = terminal.write(&format!("bin/{name}"), format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = terminal.path("bin");
    let report = Ran::of(&mut doctor(&terminal, path.to_str().unwrap()))
        .exits(0)
        .json();
    let node = check(&report, "compilers", "node");
    assert_eq!(node["state"], "warning");
    assert_eq!(
        node["value"],
        "v18.1.0: tools are built with Node 20 or newer"
    );
    assert_eq!(check(&report, "compilers", "npm")["state"], "ok");
    assert_eq!(check(&report, "compilers", "python3")["state"], "warning");
}

#[test]
fn doctor_changes_nothing_on_disk() {
    let terminal = Terminal::new();
    use_them(&terminal);
    let path = env!("PATH");
    let before = tree(&terminal.path(""));
    let ran = Ran::of(&mut doctor(&terminal, path));
    assert_eq!(tree(&terminal.path("")), before, "{ran:?}");
    let fresh = Terminal::new();
    let before = tree(&fresh.path(""));
    let ran = Ran::of(&mut doctor(&fresh, path));
    assert_eq!(tree(&fresh.path("")), before, "{ran:?}");
}

#[test]
fn a_state_root_and_a_cache_that_are_used_are_good() {
    let terminal = Terminal::new();
    use_them(&terminal);
    let report = Ran::of(&mut doctor(&terminal, "/nowhere")).exits(0).json();
    let key = check(&report, "cache", "signature key");
    assert!(
        key["value"].as_str().unwrap().starts_with("valid, "),
        "{key}"
    );
    let database = check(&report, "state", "database");
    assert!(
        database["value"].as_str().unwrap().ends_with(", opens"),
        "{database}"
    );
    assert_eq!(database["state"], "ok");
}

#[test]
fn what_is_wrong_with_the_directories_is_an_error_with_the_next_move() {
    let terminal = Terminal::new();
    use_them(&terminal);
    let root = terminal.path("home/state/toolhost");
    let error = |area: &str, name: &str, next: &str| {
        let report = Ran::of(&mut doctor(&terminal, "/nowhere")).exits(1).json();
        assert_eq!(report["ok"], false);
        let found = check(&report, area, name);
        assert_eq!(found["state"], "error", "{found}");
        assert!(found["next"].as_str().unwrap().starts_with(next), "{found}");
    };
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    error("state", "directory", "chmod go-w ");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();

    let kits = terminal.path("home/cache/toolhost/kits");
    fs::create_dir(&kits).unwrap();
    fs::set_permissions(&kits, fs::Permissions::from_mode(0o775)).unwrap();
    error("kits", "directory", "rm -r ");
    fs::remove_dir(&kits).unwrap();

    fs::write(root.join("cache.key"), "short").unwrap();
    error("cache", "signature key", "rm ");
    fs::remove_file(root.join("cache.key")).unwrap();

    let database = root.join("toolhost.db");
    for file in ["toolhost.db", "toolhost.db-wal", "toolhost.db-shm"] {
        let _ = fs::remove_file(root.join(file));
    }
    fs::write(
        &database,
        "no database, but long enough to be read as one\n".repeat(100),
    )
    .unwrap();
    error("state", "database", "mv ");
    fs::remove_file(&database).unwrap();
    symlink("/dev/zero", &database).unwrap();
    error("state", "database", "mv ");
}

#[test]
fn limits_that_stop_other_commands_are_reported() {
    let terminal = Terminal::new();
    let doctor = doctor(&terminal, "/nowhere");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"ulimit -v 4000000; ulimit -f 1000; exec "$0" "$@""#]);
    shell.arg(doctor.get_program()).args(doctor.get_args());
    shell.env_clear().current_dir(terminal.path("here"));
    shell.envs(
        doctor
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let report = Ran::of(&mut shell).exits(1).json();
    let addresses = check(&report, "kernel", "address space");
    assert_eq!(addresses["state"], "error");
    assert_eq!(addresses["next"], "ulimit -v unlimited");
    let files = check(&report, "kernel", "file size");
    assert_eq!(files["state"], "warning");
    assert_eq!(files["next"], "ulimit -f unlimited");
}

#[test]
fn the_text_names_each_area_and_counts_what_is_wrong() {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(["doctor"]);
    command
        .env("PATH", "/nowhere")
        .env("HTTPS_PROXY", "http://me:secret@proxy:3128")
        .env("PIP_CERT", "/nowhere/ca.pem");
    let ran = Ran::of(&mut command);
    for says in [
        "compilers\n  warning  cargo",
        "\nkits\n",
        "\nkernel\n",
        "\ncache\n",
        "\nstate\n",
        "\nnetwork\n",
        "http://proxy:3128",
        "next: unset PIP_CERT",
        "\nterminal\n",
        " warnings\n",
    ] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("secret"), "{}", ran.stdout);
}
