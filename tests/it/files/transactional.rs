//! The tests of files again, each call as a transaction: what a guest gets, and what lies in the workdir after the
//! commit, is as in a direct call.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use toolhost_sandbox::{CommitOptions, SandboxError, StagingRoot, Workdir};
use toolhost_tests::{TRANSACTIONAL, Work, invocation, prepared};

use super::probe::Ran;

/// The groups that run again.
const GROUPS: [&str; 8] = [
    "files::budgets::",
    "files::contents::",
    "files::escapes::",
    "files::host_comparison::",
    "files::irregular::",
    "files::names::",
    "files::protection::",
    "files::times::",
];

/// What differs in a transaction by design, as docs/policy.md says.
const DIFFERENT: [&str; 9] = [
    // A file that is changed becomes a file of its own: its other names keep the former bytes.
    "files::contents::open_creates_and_truncates_as_its_flags_say",
    "files::contents::reads_and_writes_reach_the_file",
    "files::escapes::a_hard_link_in_the_workdir_is_a_file_of_the_workdir",
    "files::names::hard_links_name_the_same_file",
    // The copy of a file counts for the call.
    "files::budgets::every_call_has_its_own_disk_budget",
    // Only files and links that the call may copy have times that it can set.
    "files::irregular::irregular_files_can_be_listed_moved_and_removed",
    "files::protection::a_read_only_workdir_can_be_read_and_not_changed",
    "files::times::times_can_be_set_on_a_handle_and_on_a_name",
    // The path of each directory is read from the kernel, which names 4,096 bytes.
    "files::names::folders_can_nest_deeper_than_the_longest_path",
];

#[test]
fn every_case_of_the_tests_of_files_holds_in_a_transactional_workdir() {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(GROUPS).arg("--test-threads=2");
    for test in DIFFERENT {
        tests.args(["--skip", test]);
    }
    let ran = tests.env(TRANSACTIONAL, "1").output().unwrap();
    let [output, errors] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(ran.status.success(), "{output}\n{errors}");
    assert!(output.contains("a_guest_gets_the_same_results_as_the_host"));
}

#[tokio::test]
async fn what_a_call_changes_and_its_memory_have_one_limit() {
    const FILES: usize = 3_000;
    let work = Work::new();
    let state = tempfile::tempdir_in(work.dir.path().parent().unwrap()).unwrap();
    let staging = StagingRoot::open(state.path()).unwrap();
    let steps: Vec<Value> = (0..FILES)
        .map(|file| json!({"op": "unlink-file-at", "path": file.to_string()}))
        .collect();
    for file in 0..FILES {
        fs::write(work.path(&file.to_string()), "").unwrap();
    }
    let run = async |workdir: &Workdir, limit: Option<u64>| {
        let mut request = invocation("run", &json!({ "script": steps }), None);
        request.workdir = Some(workdir.clone());
        request.limits.memory_bytes = limit.unwrap_or(request.limits.memory_bytes);
        prepared("fs_probe").await.call(request).await
    };
    let transaction = || work.workdir.transactional(&staging).unwrap();
    // What the tool needs by itself, and a megabyte for 3,000 names.
    let direct = Work::new();
    let alone = run(&direct.workdir, None).await.usage.memory_peak;
    let limit = alone + (1 << 20);
    let report = run(&transaction(), Some(limit)).await;
    let is_refused = matches!(report.outcome, Err(SandboxError::OutOfMemory { .. }));
    assert!(is_refused, "{:?}", report.outcome);
    assert!(report.usage.memory_peak <= limit);
    let left = || fs::read_dir(work.dir.path()).unwrap().count();
    assert_eq!(left(), FILES);
    // With enough of it.
    let workdir = transaction();
    let ran = Ran::of(run(&workdir, Some(alone + (8 << 20))).await);
    assert!(ran.codes().iter().all(|code| *code == "ok"));
    assert!(ran.report.usage.memory_peak > alone + (2 << 20));
    workdir.commit(&CommitOptions::default()).unwrap();
    assert_eq!(left(), 0);
}
