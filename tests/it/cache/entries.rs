//! The list of cache entries.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use toolhost_sandbox::{CacheEntry, CacheVerdict};
use toolhost_tests::prepare_in;

use super::{artifact_path, prepare, rewrite, sandbox};

#[tokio::test]
async fn an_entry_lists_its_component_and_handlers() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "two_handlers").await;
    let own = sandbox(top.path());
    let entries = own.cache().unwrap().entries().unwrap();
    let [entry] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    let path = artifact_path(top.path());
    let tool = prepare_in(&own, "two_handlers").await;
    assert_eq!(entry.file_name, path.file_name().unwrap().to_str().unwrap());
    assert_eq!(entry.sha256.as_ref(), Some(&tool.facts().sha256));
    assert_eq!(entry.bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(entry.verdict, CacheVerdict::Valid);
    let names: Vec<_> = tool.handlers().iter().map(|h| h.name.clone()).collect();
    assert_eq!(entry.handlers, names);
}

#[tokio::test]
async fn an_unusable_entry_has_a_reason() {
    let top = tempfile::tempdir().unwrap();
    let verdicts = |what: &str| {
        let entries = sandbox(top.path()).cache().unwrap().entries().unwrap();
        let unserved =
            |entry: &CacheEntry| entry.handlers.is_empty() || entry.verdict == CacheVerdict::Valid;
        assert!(entries.iter().all(unserved), "{what}");
        entries
            .iter()
            .map(|entry| entry.verdict)
            .collect::<Vec<_>>()
    };
    let again = async || {
        sandbox(top.path()).cache().unwrap().clear().unwrap();
        prepare(top.path(), "echo").await;
        artifact_path(top.path())
    };
    let path = again().await;
    rewrite(&path, |bytes| bytes[5000] ^= 1);
    assert_eq!(verdicts("tampered"), [CacheVerdict::Tampered]);

    for (what, length) in [("empty", 0), ("short", 20), ("half", 9000)] {
        rewrite(&again().await, |bytes| bytes.truncate(length));
        assert_eq!(verdicts(what), [CacheVerdict::Truncated], "{what}");
    }

    let path = again().await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o466)).unwrap();
    assert_eq!(verdicts("writable"), [CacheVerdict::NotPrivate]);
    let elsewhere = top.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert_eq!(verdicts("a link"), [CacheVerdict::NotPrivate]);
    fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(verdicts("a FIFO"), [CacheVerdict::NotPrivate]);

    // The name of an engine for which the artifact is not signed.
    let path = again().await;
    let name = path.to_str().unwrap().to_owned();
    let engine = name.rsplit('-').nth(1).unwrap();
    fs::rename(&path, name.replace(engine, "0123456789abcdef")).unwrap();
    assert_eq!(verdicts("renamed"), [CacheVerdict::Tampered]);

    again().await;
    fs::write(top.path().join("state/cache.key"), [7; 32]).unwrap();
    assert_eq!(verdicts("another key"), [CacheVerdict::OtherKey]);
    prepare(top.path(), "echo").await;
    let both = verdicts("two keys");
    assert_eq!(both, [CacheVerdict::Valid, CacheVerdict::OtherKey]);
    let verifies = both.iter().map(|verdict| verdict.verifies());
    assert_eq!(verifies.collect::<Vec<_>>(), [true, false]);
}
