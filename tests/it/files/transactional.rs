//! What a transaction holds for a guest. That a guest gets the results of a direct call is tested in `toolhost-files`.

use std::fs;

use serde_json::{Value, json};
use toolhost_sandbox::{CommitOptions, SandboxError, StagingRoot, Workdir};
use toolhost_tests::{Work, invocation, prepared};

use super::probe::Ran;

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
