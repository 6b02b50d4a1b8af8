//! The size limit of a cache, and the artifacts that it removes.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;
use toolhost_sandbox::CodeOrigin;
use toolhost_tests::{guest, invocation, prepare_in};

use super::{config, prepare, sandbox, try_sandbox};

const HOUR: Duration = Duration::from_secs(3600);

/// Sets the times of a file back by `by`.
fn age(path: &Path, by: Duration) {
    let file = File::open(path).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

/// Returns the path of a guest's artifact.
fn artifact_of(top: &Path, name: &str) -> std::path::PathBuf {
    let own = sandbox(top);
    let sha256 = own.read_facts(&guest(name)).unwrap().sha256;
    let entries = own.cache().unwrap().entries().unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry.sha256.as_ref() == Some(&sha256))
        .unwrap();
    top.join("cache").join(&entry.file_name)
}

fn count_artifacts(top: &Path) -> usize {
    sandbox(top).cache().unwrap().entries().unwrap().len()
}

#[tokio::test]
async fn the_least_recently_used_artifacts_are_evicted() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    for (name, hours) in [("echo", 3), ("trap", 2), ("recurse", 1)] {
        prepare(top, name).await;
        age(&artifact_of(top, name), HOUR * hours);
    }
    // Using the oldest artifact makes it the newest.
    assert_eq!(prepare(top, "echo").await, CodeOrigin::Cached);

    let entries = sandbox(top).cache().unwrap().entries().unwrap();
    let size: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut small = config(top);
    small.bytes = size;
    let own = try_sandbox(small).unwrap();
    own.prepare(guest("spin_forever")).await.unwrap();
    assert_eq!(prepare(top, "echo").await, CodeOrigin::Cached);
    assert_eq!(prepare(top, "spin_forever").await, CodeOrigin::Cached);
    assert_eq!(prepare(top, "trap").await, CodeOrigin::Compiled);
}

#[tokio::test]
async fn the_artifact_just_stored_is_not_evicted() {
    let top = tempfile::tempdir().unwrap();
    let mut none = config(top.path());
    none.bytes = 0;
    let own = try_sandbox(none).unwrap();
    let echo = prepare_in(&own, "echo").await;
    assert_eq!(count_artifacts(top.path()), 1);
    own.prepare(guest("trap")).await.unwrap();
    assert_eq!(count_artifacts(top.path()), 1);
    assert_eq!(prepare(top.path(), "trap").await, CodeOrigin::Cached);
    let report = echo.call(invocation("say", &json!({"a": 1}), None)).await;
    assert!(report.outcome.is_ok());
}

#[tokio::test]
async fn mapped_code_stays_valid_after_its_file_is_removed() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "echo").await;
    let own = sandbox(top.path());
    let (tool, origin) = own.prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Cached);
    own.cache().unwrap().clear().unwrap();
    for n in 0..20 {
        let report = tool.call(invocation("say", &json!({"n": n}), None)).await;
        assert!(report.outcome.is_ok());
    }
}

#[tokio::test]
async fn only_partial_artifacts_older_than_an_hour_are_removed() {
    let top = tempfile::tempdir().unwrap();
    let path = |name: &str| top.path().join("cache").join(name);
    prepare(top.path(), "echo").await;
    let (old, young) = (".0123456789abcdef.tmp", ".fedcba9876543210.tmp");
    let others = ["notes.txt", ".mine.tmp", "x.cwasm"];
    for name in others.into_iter().chain([old, young]) {
        fs::write(path(name), "half").unwrap();
        age(&path(name), HOUR * 2);
    }
    age(&path(young), HOUR / 2);
    // A partial file is never used as an artifact.
    assert_eq!(prepare(top.path(), "echo").await, CodeOrigin::Cached);
    assert!(path(old).exists(), "no artifact is stored yet");
    prepare(top.path(), "trap").await;
    assert!(!path(old).exists());
    assert!(path(young).exists());

    let cleared = sandbox(top.path()).cache().unwrap().clear().unwrap();
    assert_eq!(cleared.files, 3, "two artifacts and a partial one");
    assert!(cleared.bytes > 4);
    for name in others {
        assert!(path(name).exists(), "{name} was not made by the cache");
    }
}
