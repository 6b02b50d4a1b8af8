//! The workdir of a call: never a directory by accident, and none with the host's own files.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::terminal::{Ran, TOOLHOST, Terminal, examples};

const WRITE: [&str; 3] = [
    "file-system__write",
    "--args",
    r#"{"path":"a.txt","content":"hi"}"#,
];

fn write_in(terminal: &Terminal, workdir: &Path) -> Command {
    let mut command = terminal.toolhost(["call"]);
    command
        .arg(examples())
        .args(WRITE)
        .arg("--workdir")
        .arg(workdir);
    command
}

#[test]
fn the_default_workdir_is_the_workspace_and_not_the_current_directory() {
    let terminal = Terminal::new();
    let write = |instance: &[&str]| {
        let mut command = terminal.toolhost(["call", "--state-root", "../state"]);
        command.env("XDG_CACHE_HOME", terminal.path("cache"));
        Ran::of(command.arg(examples()).args(WRITE).args(instance)).exits(0)
    };
    let ran = write(&[]);
    assert!(
        ran.stderr.starts_with("note: the workdir is ../state/"),
        "{ran:?}"
    );
    let path = ran.stderr.split("the workdir is ").nth(1).unwrap();
    let path = path.split(';').next().unwrap();
    assert_eq!(
        fs::read_to_string(terminal.path("here").join(path).join("a.txt")).unwrap(),
        "hi"
    );
    assert_eq!(terminal.names("here"), Vec::<String>::new());

    let other = write(&["--instance", "../../etc"]);
    assert!(
        other.stderr.contains("the workdir is ") && !other.stderr.contains(path),
        "{other:?}"
    );
    let again = write(&[]);
    assert!(!again.stderr.contains("the workdir is "), "{again:?}");
    assert_eq!(terminal.names(""), ["D", "cache", "here", "home", "state"]);
}

#[test]
fn an_unsafe_workdir_is_refused_before_a_tool_runs() {
    let terminal = Terminal::new();
    terminal.write("file", "x");
    terminal.write("op/policy.yaml", "{}");
    fs::create_dir(terminal.path("state")).unwrap();
    for (workdir, says) in [
        (
            "/",
            "the workdir / is refused: it is or contains the whole file system",
        ),
        ("../nowhere", "the workdir ../nowhere cannot be opened"),
        ("../file", "the workdir ../file is not a directory"),
        ("../home", "it is or contains the home directory"),
        ("..", "it is or contains"),
        ("../op", "it is or contains the policy file"),
        ("../state", "it is or contains the state root"),
        ("../state/below", "it lies within the state root"),
    ] {
        let _ = fs::create_dir(terminal.path("state/below"));
        let mut command = write_in(&terminal, Path::new(workdir));
        command.args(["--policy", "../op/policy.yaml", "--state-root", "../state"]);
        command.env("XDG_CACHE_HOME", terminal.path("cache"));
        let ran = Ran::of(&mut command).fails(2, says);
        assert!(ran.stderr.contains("\nhint: "), "{ran:?}");
    }
    let mut cache = write_in(&terminal, &terminal.path("cache/toolhost"));
    cache.env("XDG_CACHE_HOME", terminal.path("cache"));
    fs::create_dir_all(terminal.path("cache/toolhost")).unwrap();
    Ran::of(&mut cache).fails(2, "it is or contains the cache of compiled components");
    assert_eq!(terminal.names("home"), Vec::<String>::new());
    assert_eq!(terminal.names("state/below"), Vec::<String>::new());
}

#[test]
fn a_workdir_with_a_secret_of_the_policy_is_refused_before_a_tool_runs() {
    let terminal = Terminal::new();
    terminal.write("D/secrets/token", "sk-in-the-workdir");
    terminal.write("op/other", "sk-elsewhere");
    std::os::unix::fs::symlink("../op/other", terminal.path("D/link")).unwrap();
    for policy in [
        "tools: {file-system: {env: {TOKEN: {fromFile: ../D/secrets/token}}}}",
        // Of a tool that is not called, and through a link.
        "tools: {fetch: {env: {TOKEN: {fromFile: ../D/link}}}}",
        "mcpServers: {files: {command: [no-such-server], env: {TOKEN: {fromFile: ../D/secrets/token}}}}",
    ] {
        terminal.write("op/policy.yaml", policy);
        let mut command = write_in(&terminal, &terminal.path("D"));
        command.args(["--policy", "../op/policy.yaml"]);
        let says = "is refused: it is or contains a file with a secret";
        Ran::of(&mut command).fails(2, says);
        assert_eq!(terminal.names("D"), ["link", "secrets"], "{policy}");
    }
    terminal.write(
        "op/policy.yaml",
        "strict: false\ntools: {fetch: {env: {TOKEN: {fromFile: other}}}}",
    );
    fs::remove_file(terminal.path("D/link")).unwrap();
    let mut command = write_in(&terminal, &terminal.path("D"));
    command.args(["--policy", "../op/policy.yaml"]);
    Ran::of(&mut command).exits(0);
}

#[test]
fn a_workdir_of_the_kernel_is_refused_before_a_tool_runs() {
    let terminal = Terminal::new();
    for workdir in ["/proc", "/proc/self/task", "/sys", "/sys/kernel"] {
        let mut command = write_in(&terminal, Path::new(workdir));
        let ran = Ran::of(&mut command).fails(2, "a file system of the kernel");
        assert!(ran.stderr.contains("\nhint: "), "{ran:?}");
    }
}

#[test]
fn a_full_or_read_only_workdir_is_an_error_in_the_result() {
    let terminal = Terminal::new();
    let workdir = terminal.path("D").display().to_string();
    let large = r#"{"path":"a.txt","content":""#.to_owned() + &"x".repeat(90_000) + "\"}";
    terminal.write("large.json", large);
    for (mount, says) in [
        ("mount -t tmpfs -o size=64k none", "e_tool_disk_limit"),
        ("mount -t tmpfs -o ro none", "read-only"),
    ] {
        // A mount that ends with the process.
        let script =
            format!("{mount} '{workdir}' || exit 77; \"$@\"; code=$?; ls '{workdir}'; exit $code");
        let mut command = Command::new("unshare");
        command.args([
            "-rm", "sh", "-c", &script, "sh", TOOLHOST, "call", "--quiet",
        ]);
        command
            .arg(examples())
            .args(["file-system__write", "--args"]);
        command.arg(format!("@{}", terminal.path("large.json").display()));
        command
            .args(["--workdir", &workdir])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let Ok(output) = command.output() else {
            return not_tested("unshare is not installed");
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        if !matches!(output.status.code(), Some(0..=2)) {
            return not_tested(&format!("unshare cannot mount here: {stderr}"));
        }
        // The last line lists the workdir.
        assert!(stdout.starts_with("{\"toolCallId\""), "{stdout} {stderr}");
        let result: serde_json::Value =
            serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stdout} {stderr}");
        let error = result["error"].to_string().to_lowercase();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_workdir_without_read_permission_is_named() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    for (dir, mode) in [("", 0o755), ("home", 0o777), ("D", 0o777)] {
        fs::set_permissions(terminal.path(dir), fs::Permissions::from_mode(mode)).unwrap();
    }
    // Root may read everything: then the command runs as the user `nobody`, from a path that this user can read.
    let binary = terminal.path("toolhost");
    fs::copy(TOOLHOST, &binary).unwrap();
    let is_root = fs::metadata(terminal.path("here")).unwrap().uid() == 0;
    let locked = |path: &str, mode: u32| {
        fs::set_permissions(terminal.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let run = |words: &[&str]| {
        let mut command = Command::new(&binary);
        command
            .args(words)
            .env_clear()
            .env("HOME", terminal.path("home"));
        command.current_dir(terminal.path("here"));
        if is_root {
            command.uid(65534).gid(65534);
        }
        Ran::of(&mut command)
    };
    terminal.write("secret.json", "{}");
    terminal.write("args.json", "{}");
    fs::create_dir(terminal.path("locked")).unwrap();
    let call = ["call", "echo__say", "--workdir"];
    let with = |words: &[&'static str]| call.iter().chain(words).copied().collect::<Vec<_>>();

    run(&with(&["../D", "--args", "@../args.json"])).exits(0);
    locked("secret.json", 0);
    let says = "../secret.json cannot be read: permission denied";
    run(&with(&["../D", "--args", "@../secret.json"])).fails(2, says);
    run(&with(&["../D", "--policy", "../secret.json"])).fails(2, says);
    run(&["inspect", "../secret.json"]).fails(2, says);
    locked("locked", 0);
    run(&with(&["../locked"])).fails(
        2,
        "the workdir ../locked cannot be opened: Permission denied",
    );
    run(&["check", "../locked"]).fails(
        2,
        "the bundle ../locked/goondan.yaml cannot be read: permission denied",
    );
    locked("here/echo.wasm", 0);
    let ran = run(&["check"]).exits(1);
    assert!(
        ran.stderr.contains("entry echo.wasm") && ran.stderr.contains("permission denied"),
        "{ran:?}"
    );
    locked("here/goondan.yaml", 0);
    run(&["check"]).fails(2, "goondan.yaml cannot be read: permission denied");
    locked("locked", 0o700);
}

/// Prints which test this machine cannot run.
fn not_tested(why: &str) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "NOT TESTED: a full and a read-only workdir: {why}"
    );
}
