//! What is shown of changes before they are approved.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::OFlags;
use serde_json::{Value, json};
use toolhost_contract::FileDigest;

use super::side::{Granted, Op, Side, TEXT};
use crate::workdir::{CommitOptions, HeldChanges, StagingRoot, Workdir, WorkdirUsages};

/// Holds what these steps change in a workdir.
fn held(furnish: impl FnOnce(&Path), steps: &[Op]) -> HeldChanges {
    let (top, usages) = (tempfile::tempdir().unwrap(), WorkdirUsages::default());
    let work = top.path().join("work");
    fs::create_dir(&work).unwrap();
    furnish(&work);
    let workdir = Workdir::open_own(&work, &usages).unwrap();
    let staging = StagingRoot::open(top.path()).unwrap();
    let transaction = workdir.transactional(&staging).unwrap();
    let mut side = Side::new(&transaction, Granted::default());
    for step in steps {
        side.run(step).unwrap();
    }
    drop(side);
    let held = transaction.hold(&CommitOptions::default());
    held.unwrap().unwrap()
}

/// Returns each path and its difference.
fn shown(furnish: impl FnOnce(&Path), steps: &[Op]) -> Vec<(String, Value)> {
    let held = held(furnish, steps);
    let paths = held.changes.files.iter().map(|change| change.path.clone());
    let differences = held.differences.iter().map(|it| json!(it));
    paths.zip(differences).collect()
}

fn put(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const APPEND: OFlags = OFlags::empty();

#[test]
fn another_mode_is_shown_with_that_of_before() {
    let steps = [Op::Mode("run.sh", 0o755)];
    let shown = shown(|work| put(&work.join("run.sh"), "true\n", 0o644), &steps);
    let now = json!({"type": "file", "mode": "0755", "was": {"type": "file", "mode": "0644"}, "diff": ""});
    assert_eq!(shown, [("run.sh".to_owned(), now)]);
}

#[test]
fn a_link_is_shown_with_its_target_and_is_told_from_a_folder() {
    let steps = [
        Op::Symlink("../../secret", "docs"),
        Op::MakeDir("folder"),
        Op::Unlink("a.md"),
        Op::Symlink("b.md", "a.md"),
        Op::Unlink("old"),
    ];
    let furnish = |work: &Path| {
        put(&work.join("a.md"), "text\n", 0o600);
        symlink("there", work.join("old")).unwrap();
    };
    let shown = shown(furnish, &steps);
    let of = |path: &str| {
        let mut shown = shown.iter();
        let found = shown.find(|(of, _)| of == path);
        found.unwrap_or_else(|| panic!("{path}")).1.clone()
    };
    assert_eq!(
        of("docs"),
        json!({"type": "link", "target": "../../secret"})
    );
    assert_eq!(of("folder")["type"], "dir");
    assert_eq!(of("old"), json!({"type": "link", "target": "there"}));
    // A link in the place of a file: what is lost is shown as well.
    let replaced = of("a.md");
    assert_eq!(
        (&replaced["type"], &replaced["target"], &replaced["was"]),
        (
            &json!("link"),
            &json!("b.md"),
            &json!({"type": "file", "mode": "0600"})
        )
    );
    assert!(replaced["diff"].as_str().unwrap().ends_with("-text\n"));
}

#[test]
fn a_file_that_is_moved_over_another_shows_what_is_lost() {
    let steps = [Op::Rename("new", "kept")];
    let furnish = |work: &Path| {
        put(&work.join("new"), "new\n", 0o644);
        put(&work.join("kept"), "old\n", 0o644);
    };
    let shown = shown(furnish, &steps);
    let diff = "--- kept\n+++ kept\n@@ -1 +1 @@\n-old\n+new\n";
    let now = json!({"type": "file", "mode": "0644", "diff": diff});
    assert_eq!(shown, [("kept".to_owned(), now)]);
}

#[test]
fn a_file_in_a_renamed_folder_is_compared_with_what_it_was() {
    let steps = [
        Op::Rename("src", "old"),
        Op::Write("old/a", APPEND, true, 0),
    ];
    let furnish = |work: &Path| {
        fs::create_dir(work.join("src")).unwrap();
        let before = format!("{}\n", "-".repeat(TEXT.len()));
        put(&work.join("src/a"), &before, 0o644);
    };
    let shown = shown(furnish, &steps);
    let (path, difference) = shown.last().unwrap();
    let diff = difference["diff"].as_str().unwrap();
    let expected = format!("@@ -1 +1 @@\n-{}\n+{TEXT}\n", "-".repeat(TEXT.len()));
    assert!(path == "old/a" && diff.ends_with(&expected), "{shown:?}");
}

#[test]
fn each_file_has_a_digest_however_large_they_are() {
    let size = 17 << 20;
    let steps = [
        Op::Write("a", OFlags::CREATE, true, 0),
        Op::Cut("a", size),
        Op::Write("b", OFlags::CREATE, true, 0),
    ];
    let held = held(|_| (), &steps);
    let digests: Vec<Option<FileDigest>> = (held.changes.files.iter())
        .map(|change| change.digest)
        .collect();
    assert!(
        digests.len() == 2 && digests.iter().all(Option::is_some),
        "{digests:?}"
    );
    let diffs: Vec<Value> = held.differences.iter().map(|it| json!(it)).collect();
    assert!(diffs[0].get("diff").is_none() && diffs[1].get("diff").is_some());
}
