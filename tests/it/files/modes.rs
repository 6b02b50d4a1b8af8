//! Permissions: what a guest sets is on the disk, and what it may not set is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::{Value, json};
use toolhost_contract::{Denial, Redactor};
use toolhost_sandbox::{CommitOptions, RecordOptions, ReplayOptions, StagingRoot};
use toolhost_tests::{Work, invocation, prepared};

use super::probe::{Ran, call, check, furnished, output, script};

fn mode(work: &Work, path: &str) -> u32 {
    fs::symlink_metadata(work.path(path)).unwrap().mode() & 0o7777
}

fn set(work: &Work, path: &str, mode: u32) {
    fs::set_permissions(work.path(path), Permissions::from_mode(mode)).unwrap();
}

fn chmod(path: &str, mode: u32) -> Value {
    json!({ "op": "set-mode", "path": path, "mode": mode })
}

fn of(path: &str) -> Value {
    json!({ "op": "get-mode", "path": path, "follow": true })
}

#[tokio::test]
async fn a_mode_that_a_guest_sets_is_that_of_the_file() {
    let work = furnished();
    set(&work, "file", 0o644);
    let cases = [
        (of("file"), json!({ "mode": 0o644 })),
        (chmod("file", 0o700), json!({})),
        (of("hard"), json!({ "mode": 0o700 })),
        (of("link"), json!({ "mode": 0o700 })),
        (
            json!({ "op": "get-mode", "path": "link" }),
            json!({ "mode": 0o777 }),
        ),
        (chmod("link", 0o600), json!({})),
        (chmod("dir", 0o700), json!({})),
        (of("dir/."), json!({ "mode": 0o700 })),
        (of("."), json!({})),
        (of("dangling"), json!("no-entry")),
        (chmod("dangling", 0o600), json!("no-entry")),
        (chmod("none", 0o600), json!("no-entry")),
        (of("file/"), json!("not-directory")),
        (chmod("", 0o600), json!("no-entry")),
    ];
    check(&work, &cases).await;
    assert_eq!((mode(&work, "file"), mode(&work, "dir")), (0o600, 0o700));
}

#[tokio::test]
async fn no_guest_makes_a_file_run_as_its_owner_or_writable_by_others() {
    let work = furnished();
    set(&work, "file", 0o644);
    set(&work, "dir", 0o755);
    let before = mode(&work, "dir/inner");
    let mut cases = Vec::new();
    for path in ["file", "dir", "dir/inner", "link"] {
        for special in [0o4755, 0o2755, 0o1777, 0o6777, 0o10_0644, u32::MAX] {
            cases.push((chmod(path, special), json!("invalid")));
        }
    }
    check(&work, &cases).await;
    assert_eq!((mode(&work, "file"), mode(&work, "dir")), (0o644, 0o755));
    assert_eq!(mode(&work, "dir/inner"), before);
    // A file that runs as its owner no longer does when a guest has set its mode.
    set(&work, "file", 0o4755);
    let all = [
        (chmod("file", 0o777), json!({})),
        (chmod("dir", 0), json!({})),
    ];
    check(&work, &all).await;
    let new = Work::new();
    fs::write(new.path("new"), "").unwrap();
    let withheld = !mode(&new, "new") & 0o022;
    assert_eq!(mode(&work, "file"), 0o777 & !withheld | 0o755);
    assert_eq!(mode(&work, "dir"), 0o700);
}

#[tokio::test]
async fn no_mode_is_read_or_set_outside_of_the_workdir() {
    let top = Work::new();
    fs::write(top.path("canary"), "").unwrap();
    set(&top, "canary", 0o644);
    let work = Work::new();
    symlink(top.path("canary"), work.path("absolute")).unwrap();
    let sibling = top.dir.path().file_name().unwrap().to_str().unwrap();
    let relative = format!("../{sibling}/canary");
    symlink(&relative, work.path("relative")).unwrap();
    symlink("..", work.path("up")).unwrap();
    let through = format!("up/{sibling}/canary");
    let absolute = top.path("canary");
    for path in [
        "absolute",
        "relative",
        &relative,
        &through,
        absolute.to_str().unwrap(),
    ] {
        let ran = script(&work.workdir, &[of(path), chmod(path, 0o777)], |_| ()).await;
        assert_eq!(ran.codes(), ["not-permitted"; 2], "{path}");
        assert_eq!(ran.report.usage.denials, [Denial::OutsideWorkdir], "{path}");
        assert_eq!(mode(&top, "canary"), 0o644, "{path}");
    }
}

#[tokio::test]
async fn a_mode_is_committed_with_the_transaction_and_not_before() {
    let work = furnished();
    set(&work, "file", 0o644);
    let state = tempfile::tempdir_in(work.dir.path().parent().unwrap()).unwrap();
    let staging = StagingRoot::open(state.path()).unwrap();
    let transaction = work.workdir.transactional(&staging).unwrap();
    let steps = [chmod("file", 0o700), of("file"), chmod("dir", 0o700)];
    let ran = script(&transaction, &steps, |_| ()).await;
    assert_eq!(ran.codes(), ["ok", "ok", "unsupported"]);
    assert_eq!(ran.results[1]["mode"], 0o700);
    assert_eq!(mode(&work, "file"), 0o644);
    transaction.commit(&CommitOptions::default()).unwrap();
    assert_eq!(mode(&work, "file"), 0o700);
}

#[tokio::test]
async fn a_program_that_knows_of_no_modes_replaces_a_script_that_stays_executable() {
    let work = Work::new();
    fs::write(work.path("run.sh"), "old").unwrap();
    set(&work, "run.sh", 0o755);
    let run = async |op: &str, path: &str, other: &str| {
        let input = json!({ "op": op, "paths": [path], "other": other });
        let report = call("climb_out_of_workdir", "run", input, &work.workdir, |_| ()).await;
        assert_eq!(output(&report)["results"][0]["ok"], true, "{op}");
    };
    run("write", "/new", "").await;
    run("rename", "/run.sh", "/new").await;
    assert_eq!(fs::read(work.path("run.sh")).unwrap(), b"climbed");
    assert_eq!(mode(&work, "run.sh"), 0o755);
    // One that sets modes says what it wants.
    let steps = [
        json!({ "op": "open-at", "path": "new", "open": ["create"], "flags": ["write"] }),
        json!({ "op": "rename-at", "path": "new", "to": "run.sh" }),
    ];
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_eq!(ran.codes(), ["ok"; 2]);
    assert_eq!(mode(&work, "run.sh") & 0o111, 0);
}

#[tokio::test]
async fn modes_are_recorded_and_replayed() {
    let work = furnished();
    set(&work, "file", 0o644);
    let tool = prepared("fs_probe").await;
    let steps = [
        chmod("file", 0o700),
        of("file"),
        of("none"),
        chmod("../x", 0),
    ];
    let mut request = invocation("run", &json!({ "script": steps }), Some(&work));
    request.record = Some(RecordOptions::new(Redactor::default()));
    let mut report = tool.call(request).await;
    let recording = report.recording.take().unwrap();
    assert_eq!(
        Ran::of(report).codes(),
        ["ok", "ok", "no-entry", "not-permitted"]
    );
    set(&work, "file", 0o644);
    let replay = tool
        .replay(&recording, ReplayOptions::default())
        .await
        .unwrap();
    assert_eq!((replay.divergence, mode(&work, "file")), (None, 0o644));
    assert_eq!(replay.outcome, recording.outcome);
}
