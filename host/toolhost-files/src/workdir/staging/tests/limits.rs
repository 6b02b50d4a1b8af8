//! What a commit may be, so that it can be read, checked and taken back.

use std::time::Duration;

use super::super::journal::BYTES_MAX;
use super::super::step::Step;
use super::*;

fn labelled(label: String) -> CommitOptions {
    CommitOptions {
        label,
        ..CommitOptions::default()
    }
}

#[test]
fn a_commit_whose_journal_nobody_would_read_is_refused_before_anything_moved() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    let max = usize::try_from(BYTES_MAX).unwrap();
    // With the second, the list of renames fits, and not all marks that may follow it.
    for label in [max, max - (32 << 10)] {
        let refused = change_all(&site).commit_with(&labelled("x".repeat(label)));
        let Err(error @ CommitError::TooLarge { .. }) = refused else {
            panic!("{refused:?}")
        };
        assert!(error.to_string().contains("change fewer files"), "{error}");
        assert_eq!(site.tree(), before);
        assert!(site.staged().is_empty());
    }
}

#[test]
fn the_largest_journal_that_is_written_can_be_read_by_recovery_and_undo() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    let label = "x".repeat(usize::try_from(BYTES_MAX).unwrap() - (80 << 10));
    let options = labelled(label);
    // It is killed within its renames, and taken back by the next commit.
    let mut left = 3;
    on_step(Some(Box::new(move |step| {
        left -= i32::from(step == Step::Renamed);
        if left > 0 { Ok(()) } else { Err(failure()) }
    })));
    assert!(change_all(&site).commit_with(&options).is_err());
    on_step(None);
    assert_eq!(site.root.recover().unwrap().left, []);
    assert_eq!(site.tree(), before);
    change_all(&site).commit_with(&options).unwrap();
    check_changed(&site);
    site.undo().unwrap();
    assert_eq!(site.tree(), before);
}

#[test]
fn a_journal_has_each_directory_once_however_long_its_path_is() {
    const FILES: u64 = 1_000;
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let deep = vec!["d".repeat(200); 15].join("/");
    for file in 0..FILES {
        site.write(&format!("{deep}/{file}"), "");
    }
    let before = site.tree();
    let mut draft = site.begin();
    for file in 0..FILES {
        draft.remove(&format!("{deep}/{file}"));
    }
    let id = draft.commit().unwrap().undo.unwrap();
    let journal = site.root.path().join(id).join("journal");
    let bytes = fs::metadata(journal).unwrap().len();
    assert!(bytes < 5_000 + 100 * FILES, "{bytes}");
    site.undo().unwrap();
    assert_eq!(site.tree(), before);
}

#[test]
fn a_commit_that_is_not_checked_in_time_changes_nothing() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    let options = CommitOptions {
        time: Duration::ZERO,
        ..CommitOptions::default()
    };
    // It does not wait until all files are checked.
    on_step(Some(Box::new(|step| {
        assert_ne!(step, Step::Checked);
        Ok(())
    })));
    let refused = change_all(&site).commit_with(&options);
    on_step(None);
    assert!(
        matches!(refused, Err(CommitError::Late { .. })),
        "{refused:?}"
    );
    assert_eq!(site.tree(), before);
    assert!(site.staged().is_empty());
}
