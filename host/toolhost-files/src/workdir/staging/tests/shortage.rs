//! Steps that fail as the disk is full, or as no file descriptor is left.

use std::cell::Cell;
use std::rc::Rc;

use rustix::io::Errno;

use super::super::step::Step;
use super::*;
use crate::workdir::{FileReplacement, ReplaceFilesError};

/// Steps of a commit at which the file system writes.
const WRITES: [Step; 5] = [
    Step::JournalWritten,
    Step::JournalNamed,
    Step::Renaming,
    Step::Renamed,
    Step::EndMarked,
];

/// Fails at a step with this error, so many times.
fn fail(at: Step, errno: Errno, times: usize) {
    let left = Rc::new(Cell::new(times));
    on_step(Some(Box::new(move |step| {
        if step != at || left.get() == 0 {
            return Ok(());
        }
        left.set(left.get() - 1);
        Err(errno.into())
    })));
}

/// A workdir with undo records of commits that wrote 1, 2 and 3 to `a`.
fn site(top: &Path) -> Site {
    let site = Site::at(top);
    for text in ["1", "2", "3"] {
        commit(&site, text).unwrap();
    }
    site
}

fn commit(site: &Site, text: &str) -> Result<Committed, CommitError> {
    let mut draft = site.begin();
    draft.write("a", text).write(&format!("new-{text}"), text);
    let options = CommitOptions {
        label: text.to_owned(),
        ..CommitOptions::default()
    };
    draft.commit_with(&options)
}

/// The labels of the undo records, the newest first.
fn records(site: &Site) -> Vec<String> {
    let records = site.root.undo_records(&site.workdir).unwrap();
    records.into_iter().map(|record| record.label).collect()
}

#[test]
fn a_commit_that_meets_a_full_disk_drops_the_oldest_undo_records_until_it_has_room() {
    for step in WRITES {
        for (errno, times) in [(Errno::NOSPC, 1), (Errno::DQUOT, 2)] {
            let top = tempfile::tempdir().unwrap();
            let site = site(top.path());
            fail(step, errno, times);
            let committed = commit(&site, "4");
            on_step(None);
            committed.unwrap();
            assert_eq!(site.read("a").as_deref(), Some("4"), "{step:?}");
            let left = ["4", "3", "2"];
            assert_eq!(records(&site), left[..4 - times], "{step:?}");
            site.undo().unwrap();
            assert_eq!(site.read("a").as_deref(), Some("3"), "{step:?}");
            assert_eq!(site.read("new-4"), None);
        }
    }
}

#[test]
fn a_commit_for_which_there_is_no_room_says_so_and_changes_nothing() {
    for step in WRITES {
        let top = tempfile::tempdir().unwrap();
        let site = site(top.path());
        let before = site.tree();
        fail(step, Errno::NOSPC, usize::MAX);
        let refused = commit(&site, "4");
        on_step(None);
        let Err(error @ CommitError::Short { shortage, .. }) = refused else {
            panic!("{step:?}: {refused:?}");
        };
        assert_eq!(shortage, Shortage::Disk, "{step:?}");
        assert!(error.to_string().starts_with("the disk is full"), "{error}");
        assert_eq!(site.tree(), before, "{step:?}");
        assert_eq!(site.staged(), [""; 0], "{step:?}");
    }
}

#[test]
fn descriptors_that_are_missing_cost_no_undo_record() {
    for (step, errno) in [
        (Step::Checked, Errno::MFILE),
        (Step::Renaming, Errno::NFILE),
    ] {
        let top = tempfile::tempdir().unwrap();
        let site = site(top.path());
        let before = site.tree();
        fail(step, errno, usize::MAX);
        let refused = commit(&site, "4");
        on_step(None);
        let Err(CommitError::Short { shortage, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(shortage, Shortage::Descriptors);
        assert_eq!((site.tree(), records(&site).len()), (before, 3));
    }
}

#[test]
fn a_transaction_that_begins_on_a_full_disk_takes_the_room_of_old_undo_records() {
    let top = tempfile::tempdir().unwrap();
    let site = site(top.path());
    fail(Step::Making, Errno::NOSPC, 2);
    let staging = Staging::create(&site.root, &site.workdir);
    on_step(None);
    drop(staging.unwrap());
    assert_eq!(records(&site), ["3"]);
    // While another commit holds the lock, no record is dropped.
    let inode = fs::metadata(&site.path).unwrap().ino();
    let locked = site.root.lock_workdir(inode).unwrap();
    fail(Step::Making, Errno::NOSPC, 1);
    let refused = Staging::create(&site.root, &site.workdir);
    on_step(None);
    let shortage = refused.err().and_then(|error| error.shortage());
    assert_eq!(shortage, Some(Shortage::Disk));
    drop(locked);
    assert_eq!(records(&site), ["3"]);
    fail(Step::Making, Errno::NOSPC, usize::MAX);
    let refused = Staging::create(&site.root, &site.workdir);
    on_step(None);
    assert!(refused.is_err());
    assert!(site.staged().is_empty());
}

#[test]
fn an_undo_that_meets_a_full_disk_drops_the_records_of_earlier_calls() {
    let top = tempfile::tempdir().unwrap();
    let site = site(top.path());
    fail(Step::UndoMarked, Errno::NOSPC, 1);
    let undone = site.undo();
    on_step(None);
    assert_eq!(undone.unwrap().label, "3");
    assert_eq!(
        (site.read("a").as_deref(), records(&site)),
        (Some("2"), vec!["2".to_owned()])
    );
    fail(Step::UndoMarked, Errno::NOSPC, usize::MAX);
    let refused = site.undo();
    on_step(None);
    let Err(UndoError::Short { shortage, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(shortage, Shortage::Disk);
    assert_eq!(site.read("a").as_deref(), Some("2"));
}

#[test]
fn a_file_that_another_program_takes_away_while_it_is_read_is_a_conflict() {
    type Change = fn(&Path);
    let changes: [Change; 2] = [
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            symlink("b", path).unwrap();
        },
    ];
    for change in changes {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        site.write("a", "old");
        site.write("b", "old");
        let contents = top.path().join("contents");
        fs::create_dir(&contents).unwrap();
        fs::write(contents.join("new"), "new").unwrap();
        let path = site.path.join("a");
        on_step(Some(Box::new(move |step| {
            if step == Step::Hashing {
                change(&path);
            }
            Ok(())
        })));
        let replacement = FileReplacement {
            path: "a".to_owned(),
            content: Some("new".to_owned()),
            expected: Some(<sha2::Sha256 as sha2::Digest>::digest("old").into()),
        };
        let replaced = (site.workdir).replace_files(&site.root, &contents, &[replacement], "");
        on_step(None);
        let Err(ReplaceFilesError::Commit(CommitError::Conflict { files })) = replaced else {
            panic!("{replaced:?}");
        };
        assert_eq!(files, ["a"]);
        assert_eq!(site.read("b").as_deref(), Some("old"));
        assert!(site.staged().is_empty());
    }
}
