//! State roots of strangers: what others can write, links, pipes, and damaged files.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::terminal::{Ran, TOOLHOST, Terminal, examples};

/// Calls a tool that answers `pending`, with a state root.
fn call_pending(terminal: &Terminal, root: &Path) -> Ran {
    let bundle = terminal.bundle("b", &[("pending", &["run"])]);
    // The binary itself sets no limit to the whole command.
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "100"])
        .arg(TOOLHOST)
        .arg("call")
        .arg(bundle);
    command.args([
        "pending__run",
        "--args",
        r#"{"handle":"x"}"#,
        "--state-root",
    ]);
    command.arg(root).env_clear();
    command
        .env("PATH", "/usr/bin:/bin")
        .env("XDG_CACHE_HOME", terminal.path("cache"));
    Ran::of(&mut command)
}

fn poll(terminal: &Terminal, root: &Path, handle: &str) -> Ran {
    let mut command = terminal.toolhost(["poll"]);
    command.arg(terminal.path("b")).arg(handle);
    Ran::of(command.arg("--state-root").arg(root))
}

fn handle_of(result: &Value) -> String {
    result["handle"].as_str().expect("a handle").to_owned()
}

/// Returns the only workspace in a state root.
fn workspace(root: &Path) -> PathBuf {
    let only = |dir: PathBuf| {
        let mut entries = fs::read_dir(dir).expect("it is read");
        entries
            .next()
            .expect("an entry")
            .expect("it is read")
            .path()
    };
    only(only(root.join("workspaces")).join("instances")).join("workspace")
}

#[test]
fn a_state_root_that_others_can_write_is_refused_with_the_command_that_mends_it() {
    let terminal = Terminal::new();
    let root = terminal.path("state");
    fs::create_dir(&root).unwrap();
    fs::set_permissions(&root, Permissions::from_mode(0o777)).unwrap();
    let ran = call_pending(&terminal, &root).exits(2);
    assert_eq!(ran.stdout, "");
    let mend = format!("chmod go-w '{}'", root.display());
    assert!(ran.stderr.contains(&format!("run `{mend}`")), "{ran:?}");
    assert_eq!(terminal.names("state"), Vec::<String>::new());
    assert!(
        Command::new("sh")
            .args(["-c", &mend])
            .status()
            .unwrap()
            .success()
    );
    call_pending(&terminal, &root).exits(0);
}

#[test]
fn a_handle_that_is_not_kept_is_not_offered_to_poll() {
    let terminal = Terminal::new();
    let root = terminal.write("file", "in the place of the state root");
    let bundle = terminal.bundle("b", &[("pending", &["run"])]);
    let mut command = terminal.toolhost(["call", "--workdir", "../D", "--state-root"]);
    command.arg(root).arg(bundle);
    let args = ["pending__run", "--args", r#"{"handle":"x"}"#];
    let ran = Ran::of(command.args(args)).exits(0);
    assert!(ran.stderr.contains("note: the handle is lost: "), "{ran:?}");
}

#[test]
fn a_workspace_that_is_a_link_to_the_home_directory_is_refused() {
    let terminal = Terminal::new();
    let root = terminal.path("state");
    let args = json!({"path": "planted", "content": "harm"}).to_string();
    let write = || {
        let mut command = terminal.toolhost(["call"]);
        command
            .arg(examples())
            .args(["file-system__write", "--args", &args]);
        Ran::of(command.arg("--state-root").arg(&root))
    };
    write().exits(0);
    let own = workspace(&root);
    assert!(own.join("planted").exists());
    for link in [own.clone(), root.join("workspaces")] {
        let moved = terminal.path("moved");
        fs::rename(&link, &moved).unwrap();
        symlink(terminal.path("home"), &link).unwrap();
        let ran = write().fails(2, &format!("{} is a symbolic link", link.display()));
        assert!(ran.stderr.contains("run `rm '"), "{ran:?}");
        fs::remove_file(&link).unwrap();
        fs::rename(&moved, &link).unwrap();
    }
    assert_eq!(terminal.names("home"), Vec::<String>::new());
    write().exits(0);
}

#[test]
fn a_damaged_log_or_database_is_reported_and_nothing_is_lost_silently() {
    let terminal = Terminal::new();
    let root = terminal.path("state");
    let handle = handle_of(&call_pending(&terminal, &root).exits(0).json());
    let (log, database) = (root.join("toolhost.db-wal"), root.join("toolhost.db"));
    // The last process may have removed the log when it ended.
    let good = [&log, &database].map(|file| (file, fs::read(file).unwrap_or_default()));
    for (file, says) in [
        (&log, "is damaged (its header does not match its checksum)"),
        (&database, "is damaged or not an SQLite database"),
    ] {
        // SQLite reads the pages in the log from there.
        let _ = fs::remove_file(&log);
        let damaged = [0x55; 8192];
        fs::write(file, damaged).unwrap();
        let ran = poll(&terminal, &root, &handle).exits(1);
        assert_eq!(ran.json()["error"]["code"], "E_HOST", "{ran:?}");
        let path = file.display().to_string();
        for part in [says, &path, "restore a copy of the state root", "move the "] {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
        for debug in ["Some(", "{ path", "SqliteFailure", "extended_code"] {
            assert!(!ran.stderr.contains(debug), "{debug}: {ran:?}");
        }
        assert!(
            fs::read(file).unwrap() == damaged.as_slice(),
            "{path} was changed"
        );
        for (file, bytes) in &good {
            fs::write(file, bytes).unwrap();
        }
        let _ = fs::remove_file(root.join("toolhost.db-shm"));
        let polled = poll(&terminal, &root, &handle).exits(0).json();
        assert_eq!(polled["status"], "pending");
    }
}

#[test]
fn nothing_in_a_state_root_makes_a_command_hang_or_reach_outside() {
    type Plant = fn(&Path, &Path);
    let plants: [(&str, Plant); 6] = [
        ("a pipe", |path, _| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("a socket", |path, _| {
            drop(UnixListener::bind(path).unwrap())
        }),
        ("a directory", |path, _| fs::create_dir(path).unwrap()),
        ("a link to a directory", |path, victim| {
            symlink(victim, path).unwrap()
        }),
        ("a link to a device", |path, _| {
            symlink("/dev/zero", path).unwrap()
        }),
        ("a huge file", |path, _| {
            File::create(path).unwrap().set_len(1 << 40).unwrap();
        }),
    ];
    for place in [
        "toolhost.db",
        "runs",
        "cache.key",
        "runs/aaaaaaaaaaaaaaaa.lock",
    ] {
        for (what, plant) in plants {
            let terminal = Terminal::new();
            let (root, victim) = (terminal.path("state"), terminal.path("victim"));
            fs::create_dir(&root).unwrap();
            fs::set_permissions(&root, Permissions::from_mode(0o700)).unwrap();
            fs::create_dir(&victim).unwrap();
            let lock = terminal.write("victim/bbbbbbbbbbbbbbbb.lock", "");
            let path = root.join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            plant(&path, &victim);
            let ran = call_pending(&terminal, &root);
            let ends = ran.code.is_some_and(|code| code <= 2);
            assert!(
                ends && !ran.stderr.contains("panicked"),
                "{place}, {what}: {ran:?}"
            );
            assert!(lock.exists(), "{place}, {what}");
            assert_eq!(terminal.names("victim").len(), 1, "{place}, {what}");
        }
    }
}
