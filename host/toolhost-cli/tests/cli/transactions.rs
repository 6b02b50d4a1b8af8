//! Calls with `workdir: transactional`: what they change is kept whole or not at all, and can be undone.

mod library;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::terminal::{Ran, Terminal};

/// A workdir on the file system of the state root, and tools that change files in it.
struct Setup {
    terminal: Terminal,
    bundle: PathBuf,
    work: TempDir,
}

impl Setup {
    fn new(policy: &str) -> Self {
        let terminal = Terminal::new();
        let bundle = terminal.bundle("bundle", &[("bash", &["exec"]), ("fs_probe", &["run"])]);
        terminal.write("policy.yaml", policy);
        let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        // Undo records of a workdir that was removed and whose inode this one has.
        for left in staged(work.path()) {
            let _ = fs::remove_dir_all(left);
        }
        Self {
            terminal,
            bundle,
            work,
        }
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.work.path().join(path), content).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.work.path().join(path)).ok()
    }

    /// The names in the workdir, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    fn command(&self, tool: &str, args: &Value) -> Command {
        let mut command = self.terminal.toolhost(["call", "--usage", "--policy"]);
        command
            .arg(self.terminal.path("policy.yaml"))
            .arg("--workdir")
            .arg(self.work.path())
            .arg(&self.bundle)
            .args([tool, "--args", &args.to_string()]);
        command
    }

    fn bash(&self, line: &str) -> Command {
        self.command("bash__exec", &json!({ "command": line }))
    }

    fn undo(&self, more: &[&str]) -> Ran {
        let mut command = self.terminal.toolhost(["undo", "--workdir"]);
        Ran::of(command.arg(self.work.path()).args(more))
    }

    /// Starts a call that has changed files, and goes on until the file `go` exists.
    fn start(&self, line: &str) -> Child {
        let line = format!("{line}; while [ ! -e go ]; do sleep 0.02; done");
        let mut command = self.bash(&line);
        let running = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        eventually(|| !staged(self.work.path()).is_empty());
        running
    }
}

/// The staging directories of a workdir's transactions, and its undo records.
fn staged(workdir: &Path) -> Vec<PathBuf> {
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
    staged_beneath(&shared.join("cli-state/toolhost/staging"), workdir)
}

fn staged_beneath(staging: &Path, workdir: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let inode = format!("{:016x}-", fs::metadata(workdir).unwrap().ino());
    let Ok(entries) = fs::read_dir(staging) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_workdir = paths.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&inode) && path.join("f0").exists()
    });
    of_workdir.collect()
}

fn eventually(is_true: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(5));
    }
}

/// A script for `fs_probe` that creates `new`, changes `old` and removes `gone`, and then takes more steps.
fn script(more: &[Value]) -> Value {
    let mut steps = vec![
        json!({"op": "open-at", "path": "new", "open": ["create"], "flags": ["write"], "as": 1}),
        json!({"op": "write", "on": 1, "text": "new"}),
        json!({"op": "open-at", "path": "old", "flags": ["read", "write"], "as": 2}),
        json!({"op": "write", "on": 2, "text": "changed"}),
        json!({"op": "unlink-file-at", "path": "gone"}),
    ];
    steps.extend_from_slice(more);
    json!({ "script": steps })
}

fn changed(setup: &Setup) -> (Vec<String>, Option<String>) {
    (setup.names(), setup.read("old"))
}

const TRANSACTIONAL: &str = "defaults: {workdir: transactional}";

#[test]
fn a_call_that_fails_in_any_way_leaves_no_trace_in_the_workdir() {
    let limits = "defaults: {workdir: transactional}
tools: {fs_probe: {limits: {outputBytes: 4KiB}}, bash: {limits: {deadlineMs: 1500}}}";
    let setup = Setup::new(limits);
    setup.write("old", "old");
    setup.write("gone", "gone");
    let before = changed(&setup);
    let huge = json!({"op": "write", "on": 1, "bytes": 4_000_000_000_u64});
    let large = json!({"op": "write", "on": 1, "bytes": 1_000_000_000});
    let long = vec![json!({"op": "get-flags", "on": 1}); 200];
    for (more, code) in [
        // The tool returns an error.
        (vec![json!({"op": "no such step"})], "E_TOOL"),
        (vec![huge], "E_TOOL_TRAP"),
        (vec![large], "E_TOOL_OUT_OF_MEMORY"),
        (long, "E_TOOL_OUTPUT_TOO_LARGE"),
    ] {
        let mut command = setup.command("fs_probe__run", &script(&more));
        let result = Ran::of(&mut command).exits(1).json();
        assert_eq!(result["error"]["code"], code, "{result}");
        assert!(result.get("changes").is_none(), "{result}");
        assert_eq!(changed(&setup), before, "{code}");
    }
    let endless = "echo x > new; rm gone; echo more >> old; while [ ! -e go ]; do sleep 0.1; done";
    let result = Ran::of(&mut setup.bash(endless)).exits(1).json();
    assert_eq!(result["error"]["code"], "E_TOOL_TIMEOUT", "{result}");
    assert_eq!(changed(&setup), before);
    assert_eq!(staged(setup.work.path()), Vec::<PathBuf>::new());
    // The same steps without a failure.
    let mut command = setup.command("fs_probe__run", &script(&[]));
    let result = Ran::of(&mut command).exits(0).json();
    let after = (
        vec!["new".to_owned(), "old".to_owned()],
        Some("changed".to_owned()),
    );
    assert_eq!(changed(&setup), after, "{result}");
}

#[test]
fn an_output_that_does_not_fit_its_schema_drops_the_changes() {
    let setup = Setup::new(TRANSACTIONAL);
    let manifest = fs::read_to_string(setup.bundle.join("goondan.yaml")).unwrap();
    let refused = "exports: [{name: run, outputSchema: {type: object, required: [missing]}}]";
    let manifest = manifest.replace("exports: [{name: run}]", refused);
    assert!(manifest.contains("missing"));
    setup.terminal.write("bundle/goondan.yaml", manifest);
    setup.write("old", "old");
    setup.write("gone", "gone");
    let before = changed(&setup);
    let mut command = setup.command("fs_probe__run", &script(&[]));
    let result = Ran::of(&mut command).exits(1).json();
    assert_eq!(result["error"]["code"], "E_TOOL_INVALID_OUTPUT", "{result}");
    assert_eq!(changed(&setup), before);
}

#[test]
fn a_call_that_is_stopped_leaves_no_trace_in_the_workdir() {
    let setup = Setup::new(TRANSACTIONAL);
    setup.write("a", "1\n");
    let mut running = setup.start("echo 2 >> a; echo x > b");
    // With SIGKILL the staging directory remains, and the next start removes it.
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(setup.names(), ["a"]);
    assert_eq!(setup.read("a").unwrap(), "1\n");
    assert_eq!(staged(setup.work.path()).len(), 1);
    Ran::of(&mut setup.bash("true")).exits(0);
    assert_eq!(staged(setup.work.path()), Vec::<PathBuf>::new());
    // Ctrl-C drops the call, and its changes with it.
    let mut running = setup.start("echo 2 >> a; echo x > b");
    let pid = running.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert_eq!(setup.names(), ["a"]);
    assert_eq!(staged(setup.work.path()), Vec::<PathBuf>::new());
}

#[test]
fn the_cancellation_of_a_pending_call_is_a_transaction_of_its_own() {
    // It writes `/cancelled`.
    let mut setup = Setup::new(TRANSACTIONAL);
    setup.bundle = setup.terminal.bundle("pending", &[("pending", &["run"])]);
    let mut call = setup.command("pending__run", &json!({"handle": "not yet"}));
    let result = Ran::of(&mut call).exits(0).json();
    let handle = result["handle"].as_str().unwrap();
    assert_eq!(setup.names(), Vec::<String>::new());
    let mut cancel = setup.terminal.toolhost(["cancel", "--policy"]);
    cancel
        .arg(setup.terminal.path("policy.yaml"))
        .arg("--workdir")
        .arg(setup.work.path())
        .arg(&setup.bundle)
        .arg(handle);
    Ran::of(&mut cancel).exits(0);
    assert_eq!(setup.read("cancelled").unwrap(), "not yet");
    let undone = setup.undo(&["--json"]).exits(0).json();
    assert_eq!(undone["undone"]["files"], json!(["cancelled"]), "{undone}");
    assert_eq!(setup.names(), Vec::<String>::new());
}

#[test]
fn of_two_calls_at_once_on_one_file_the_first_is_committed_and_the_other_names_the_file() {
    let setup = Setup::new(TRANSACTIONAL);
    setup.write("a", "1\n");
    let late = setup.start("echo late >> a; echo x > b");
    let result = Ran::of(&mut setup.bash("echo first >> a")).exits(0).json();
    assert_eq!(result["changes"]["files"][0]["path"], "a", "{result}");
    assert_eq!(setup.read("a").unwrap(), "1\nfirst\n");
    setup.write("go", "");
    let ended = late.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let error = &result["error"];
    assert_eq!(error["code"], "E_TOOL_WORKDIR_CONFLICT", "{result}");
    assert!(
        error["message"].as_str().unwrap().contains("`a`"),
        "{error}"
    );
    assert!(
        error["suggestion"].as_str().unwrap().contains("again"),
        "{error}"
    );
    assert_eq!(setup.names(), ["a", "go"]);
    assert_eq!(setup.read("a").unwrap(), "1\nfirst\n");
}

#[test]
fn the_receipt_of_a_transaction_has_the_digests_of_the_files_that_it_commits() {
    let setup = Setup::new("tools: {bash: {workdir: durable}}");
    for (name, content) in [("changed", "1"), ("deleted", "2"), ("old", "3")] {
        setup.write(name, content);
    }
    let line = "mkdir folder; echo hi > folder/created; echo more >> changed; rm deleted; \
                mv old new; echo x > temporary; rm temporary";
    let result = Ran::of(&mut setup.bash(line)).exits(0).json();
    // As `sha256sum` prints them.
    let created = "sha256:98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4";
    let appended = "sha256:bcbe88a764e7b704af8b52367d0b5dfa949d482d8732b125a134796d2659a156";
    assert_eq!(
        result["changes"],
        json!({"truncated": false, "files": [
            {"path": "changed", "kind": "changed", "digest": appended},
            {"path": "deleted", "kind": "deleted"},
            {"path": "folder", "kind": "created"},
            {"path": "folder/created", "kind": "created", "digest": created},
            {"path": "new", "kind": "renamed", "from": "old"},
        ]}),
        "{result}"
    );
    assert_eq!(setup.read("changed").unwrap(), "1more\n");
    assert_eq!(setup.names(), ["changed", "folder", "new"]);
}

#[test]
fn calls_of_an_instance_are_undone_from_the_newest_on() {
    let setup = Setup::new(TRANSACTIONAL);
    setup.write("changed", "1\n");
    setup.write("deleted", "2");
    Ran::of(&mut setup.bash("echo hi > created; echo more >> changed; rm deleted")).exits(0);
    Ran::of(&mut setup.bash("cat changed")).exits(0);
    Ran::of(&mut setup.bash("mv created renamed")).exits(0);
    let listed = setup.undo(&["--list", "--json"]).exits(0).json();
    let calls = listed["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{listed}");
    assert_eq!(calls[0]["call"], "bash__exec call_1");
    assert_eq!(calls[0]["files"], json!(["created", "renamed"]));
    assert_eq!(calls[1]["files"], json!(["changed", "created", "deleted"]));
    let printed = setup.undo(&["--list"]).exits(0).stdout;
    assert_eq!(printed.lines().count(), 2, "{printed}");

    setup.undo(&[]).exits(0);
    assert_eq!(setup.names(), ["changed", "created"]);
    let undone = setup.undo(&["--json"]).exits(0).json();
    let files = json!(["changed", "created", "deleted"]);
    assert_eq!(undone["undone"]["files"], files, "{undone}");
    assert_eq!(setup.names(), ["changed", "deleted"]);
    assert_eq!(setup.read("changed").unwrap(), "1\n");
    assert_eq!(setup.read("deleted").unwrap(), "2");
    setup
        .undo(&[])
        .fails(1, "there is nothing to undo in this workdir");
}

#[test]
fn nothing_is_undone_if_a_file_was_changed_after_the_call() {
    let setup = Setup::new(TRANSACTIONAL);
    setup.write("a", "1\n");
    Ran::of(&mut setup.bash("echo 2 >> a; echo x > b")).exits(0);
    setup.write("a", "mine");
    setup
        .undo(&[])
        .fails(1, "`a` changed after the call, so nothing was undone");
    assert_eq!(setup.names(), ["a", "b"]);
    assert_eq!(setup.read("a").unwrap(), "mine");
}

#[test]
fn a_direct_call_keeps_what_it_changed_before_it_failed_and_cannot_be_undone() {
    let setup = Setup::new("{}");
    setup.write("old", "old");
    setup.write("gone", "gone");
    let failing = script(&[json!({"op": "no such step"})]);
    let result = Ran::of(&mut setup.command("fs_probe__run", &failing))
        .exits(1)
        .json();
    let kinds = result["changes"]["files"].as_array().unwrap();
    let kinds: Vec<_> = kinds
        .iter()
        .map(|file| (&file["path"], &file["kind"]))
        .collect();
    let [gone, new, old] = ["gone", "new", "old"].map(Value::from);
    let [deleted, created, changed] = ["deleted", "created", "changed"].map(Value::from);
    assert_eq!(
        kinds,
        [(&gone, &deleted), (&new, &created), (&old, &changed)]
    );
    assert_eq!(setup.names(), ["new", "old"]);
    setup.undo(&[]).fails(1, "there is nothing to undo");
}

#[test]
fn a_workdir_on_another_file_system_than_the_state_root_is_refused_before_the_call() {
    use std::os::unix::fs::MetadataExt;
    let mut setup = Setup::new(TRANSACTIONAL);
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
    setup.work = tempfile::tempdir_in("/dev/shm").unwrap();
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    assert_ne!(
        device(setup.work.path()),
        device(shared),
        "/dev/shm is a tmpfs"
    );
    let ran = Ran::of(&mut setup.bash("echo x > b")).exits(1);
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "E_TOOL_WORKDIR_STAGING", "{error}");
    assert!(
        error["suggestion"]
            .as_str()
            .unwrap()
            .contains("workdir: direct"),
        "{error}"
    );
    // The operator reads the paths.
    assert!(
        ran.stderr.contains(setup.work.path().to_str().unwrap()),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("/staging are not on one file system"),
        "{ran:?}"
    );
    assert_eq!(setup.names(), Vec::<String>::new());
}

#[test]
fn a_host_that_is_killed_in_a_commit_leaves_all_files_old_or_all_new() {
    let setup = Setup::new(TRANSACTIONAL);
    let states = || {
        let names = setup.names();
        let contents = names.iter().map(|name| setup.read(name).unwrap());
        contents.collect::<std::collections::BTreeSet<_>>()
    };
    for round in 0..6 {
        for number in 0..200 {
            setup.write(&number.to_string(), "old\n");
        }
        let mut command = setup.bash("for file in *; do echo new > $file; done");
        let mut running = command.stdout(Stdio::null()).spawn().unwrap();
        // The commit has begun, or has ended already.
        let has_journal = || {
            let staged = staged(setup.work.path());
            staged.iter().any(|dir| dir.join("journal").exists())
        };
        let started = Instant::now();
        while !has_journal() && running.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_micros(200));
        }
        thread::sleep(Duration::from_micros(500 * round));
        let _ = running.kill();
        running.wait().unwrap();
        // The next host takes back what was begun, and its calls work.
        Ran::of(&mut setup.bash("cat 0 > read; rm read")).exits(0);
        let found = states();
        assert_eq!(found.len(), 1, "round {round}: {found:?}");
        while setup.undo(&[]).code == Some(0) {}
    }
}

#[test]
fn the_changed_files_are_listed_on_stderr_if_more_is_to_be_printed() {
    let setup = Setup::new(TRANSACTIONAL);
    setup.write("deleted", "");
    setup.write("old", "");
    let mut command = setup.bash("echo hi > created; rm deleted; mv old new");
    let ran = Ran::of(command.arg("-v")).exits(0);
    for line in [
        "note: created created",
        "note: deleted deleted",
        "note: renamed old to new",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {ran:?}");
    }
    // A direct call of the same tool, without the option.
    setup.terminal.write("policy.yaml", "{}");
    let ran = Ran::of(&mut setup.bash("rm created")).exits(0);
    assert!(!ran.stderr.contains("deleted"), "{ran:?}");
}

#[test]
fn cases_of_toolhost_test_run_transactional_calls() {
    let setup = Setup::new("{}");
    let failing = script(&[json!({"op": "no such step"})]);
    let (failing, working) = (failing.to_string(), script(&[]).to_string());
    let files = "files: {old: old, gone: gone}";
    setup.terminal.write(
        "bundle/tests/a.yaml",
        format!(
            "\
- name: a call that fails leaves no trace
  tool: fs_probe__run
  args: {failing}
  {files}
  policy: {{defaults: {{workdir: transactional}}}}
  expect: {{error: E_TOOL, files: {{old: old, gone: gone, new: null}}}}
- name: a call that succeeds is committed
  tool: fs_probe__run
  args: {working}
  {files}
  policy: {{defaults: {{workdir: durable}}}}
  expect: {{files: {{old: changed, gone: null, new: new}}}}
"
        ),
    );
    let mut test = setup.terminal.toolhost(["test", "--no-generated"]);
    Ran::of(test.arg(&setup.bundle)).exits(0);
    // Also where the policy of the run says it.
    let policy = setup.terminal.write("policy.yaml", TRANSACTIONAL);
    let mut test = setup
        .terminal
        .toolhost(["test", "--no-generated", "--policy"]);
    Ran::of(test.arg(policy).arg(&setup.bundle)).exits(0);
}

#[test]
fn a_script_goes_on_after_a_transactional_call_that_left_no_trace() {
    let setup = Setup::new(TRANSACTIONAL);
    let failing = "echo x > new; while true; do sleep 0.1; done";
    setup.terminal.write(
        "policy.yaml",
        "{defaults: {workdir: transactional}, tools: {bash: {limits: {deadlineMs: 1500}}}}",
    );
    let script = setup.terminal.write(
        "s.yaml",
        format!(
            "bundle: ./bundle
policy: ./policy.yaml
start: {{agent: default}}
agents:
  default:
    steps:
      - first: {{tool: bash__exec, args: {{command: 'echo 1 > kept'}}}}
      - stopped: {{tool: bash__exec, args: {{command: '{failing}'}}, expect: E_TOOL_TIMEOUT}}
      - found: {{tool: bash__exec, args: {{command: 'echo *'}}}}
    answer: \"${{found.output}}\"
"
        ),
    );
    let mut play = setup.terminal.toolhost(["play", "-q"]);
    let ran = Ran::of(play.arg(script)).exits(0);
    assert!(ran.stdout.contains("kept"), "{ran:?}");
    assert!(!ran.stdout.contains("new"), "{ran:?}");
}

#[test]
fn agents_that_share_a_workspace_find_what_the_calls_of_others_have_committed() {
    let terminal = Terminal::new();
    let policy = terminal.write("policy.yaml", TRANSACTIONAL);
    let mut play = terminal.toolhost(["play", "-q", "--turns", "3", "--policy"]);
    play.arg(policy)
        .arg(crate::terminal::examples().join("review.yaml"));
    let result = Ran::of(&mut play).exits(0).json();
    assert_eq!(result["answered"], 3, "{result}");
    for answer in result["answers"].as_array().unwrap() {
        assert_eq!(answer["verdict"], "8 words, all of them true", "{result}");
    }
}
