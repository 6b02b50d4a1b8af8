use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use toolhost_contract::{FileId, NameChange, Protected};

use super::super::step::Step;
use super::*;
use crate::workdir::WriteProtected;

fn protecting(protected: WriteProtected) -> CommitOptions {
    CommitOptions {
        protected,
        ..CommitOptions::default()
    }
}

fn id_of(path: &Path) -> FileId {
    let found = fs::symlink_metadata(path).unwrap();
    FileId {
        device: found.dev(),
        inode: found.ino(),
    }
}

#[test]
fn a_commit_makes_all_changes_and_leaves_an_undo_record() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let committed = change_all(&site).commit().unwrap();
    check_changed(&site);
    assert_eq!(site.staged(), [committed.undo.unwrap()]);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(site.root.path()), 0o700);
    assert_eq!(mode(&site.root.path().join(&site.staged()[0])), 0o700);
}

#[test]
fn a_transaction_that_is_dropped_leaves_nothing() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    drop(change_all(&site));
    assert_eq!(site.tree(), before);
    assert!(site.staged().is_empty());
}

#[test]
fn a_transaction_that_only_reads_leaves_nothing_and_still_notices_conflicts() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    site.write("a", "old");
    let mut draft = site.begin();
    draft.read("a");
    assert_eq!(draft.commit().unwrap().undo, None);
    let mut draft = site.begin();
    draft.read("a");
    site.write("a", "other");
    assert!(matches!(draft.commit(), Err(CommitError::Conflict { .. })));
    assert!(site.staged().is_empty());
}

/// Each kind of change by another program while the transaction runs, and the paths that conflict.
#[test]
fn changes_by_others_conflict_name_the_files_and_move_nothing() {
    type Change = fn(&Path);
    let cases: [(Change, &[&str]); 9] = [
        (
            |top| fs::write(top.join("a.txt"), "other").unwrap(),
            &["a.txt"],
        ),
        (
            |top| fs::remove_file(top.join("a.txt")).unwrap(),
            &["a.txt"],
        ),
        (
            |top| {
                // The same bytes, another file.
                fs::copy(top.join("dir/x"), top.join("x2")).unwrap();
                fs::rename(top.join("x2"), top.join("dir/x")).unwrap();
                fs::write(top.join("new.txt"), "other").unwrap();
            },
            &["dir/x", "new.txt"],
        ),
        (
            |top| fs::write(top.join("dir/sub/z"), "other").unwrap(),
            &["dir/sub/z"],
        ),
        (|top| fs::create_dir(top.join("made")).unwrap(), &["made"]),
        (
            |top| fs::write(top.join("moved/three"), "").unwrap(),
            &["dir/renamed/three"],
        ),
        (
            |top| fs::write(top.join("dir/renamed"), "").unwrap(),
            &["dir/renamed"],
        ),
        (
            |top| {
                let mode = fs::Permissions::from_mode(0o700);
                fs::set_permissions(top.join("gone.txt"), mode).unwrap();
            },
            &["gone.txt"],
        ),
        (
            |top| {
                fs::rename(top.join("dir"), top.join("away")).unwrap();
                symlink("away", top.join("dir")).unwrap();
            },
            &["dir/sub/z", "dir/x", "dir/y"],
        ),
    ];
    for (change, expected) in cases {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        before_all(&site);
        let draft = change_all(&site);
        change(&site.path);
        let others = site.tree();
        let error = draft.commit().unwrap_err();
        let text = error.to_string();
        let CommitError::Conflict { files } = error else {
            panic!("{expected:?}: {text}");
        };
        for path in expected {
            assert!(files.iter().any(|file| file == path), "{path}: {files:?}");
            assert!(text.contains(&format!("`{path}`")), "{text}");
        }
        assert!(text.contains("make the call again"), "{text}");
        assert_eq!(site.tree(), others, "{expected:?}");
        assert!(site.staged().is_empty());
    }
}

#[test]
fn a_file_that_another_program_makes_in_a_deleted_directory_conflicts() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let draft = change_all(&site);
    site.write("empty/other", "other");
    let others = site.tree();
    let CommitError::Conflict { files } = draft.commit().unwrap_err() else {
        panic!("no conflict");
    };
    assert_eq!(files, ["empty"]);
    assert_eq!(site.tree(), others);
}

#[test]
fn a_change_between_the_check_and_a_rename_is_noticed_and_everything_taken_back() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let draft = change_all(&site);
    let target = site.path.join("link");
    on_step(Some(Box::new(move |step| {
        if step == Step::JournalNamed {
            fs::remove_file(&target)?;
            fs::write(&target, "other")?;
        }
        Ok(())
    })));
    let error = draft.commit().unwrap_err();
    on_step(None);
    assert!(
        matches!(&error, CommitError::Conflict { files } if files == &["link"]),
        "{error}"
    );
    assert_eq!(site.read("link").as_deref(), Some("other"));
    assert_eq!(site.read("a.txt").as_deref(), Some("old a"));
    assert_eq!(site.read("moved/one").as_deref(), Some("1"));
    assert!(site.staged().is_empty());
}

#[test]
fn a_commit_that_fails_at_any_step_changes_nothing() {
    for at in 0.. {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        before_all(&site);
        let (before, draft) = (site.tree(), change_all(&site));
        let (left, failed_at) = (Cell::new(at), Rc::new(Cell::new(None)));
        let failed = Rc::clone(&failed_at);
        on_step(Some(Box::new(move |step| {
            left.set(left.get() - 1);
            if left.get() != -1 || matches!(step, Step::JournalRemoved | Step::Removed) {
                return Ok(());
            }
            failed.set(Some(step));
            Err(failure())
        })));
        let committed = draft.commit();
        on_step(None);
        if failed_at.get().is_none() {
            committed.unwrap();
            check_changed(&site);
            assert!(at > 30, "{at} steps");
            return;
        }
        assert!(
            matches!(committed, Err(CommitError::Failed { .. })),
            "{committed:?}"
        );
        assert_eq!(site.tree(), before, "{:?}", failed_at.get());
        assert!(site.staged().is_empty(), "{:?}", failed_at.get());
    }
}

#[test]
fn what_is_write_protected_by_now_is_refused_before_anything_moved() {
    let protect = |top: &Path, protected: &mut Protected, what: usize| match what {
        0 => protected.add(id_of(&top.join("a.txt"))),
        1 => protected.add(id_of(&top.join("moved"))),
        2 => protected.add_name(id_of(top), "new.txt".as_ref()),
        3 => protected.add_name(id_of(&top.join("moved")), "three".as_ref()),
        4 => protected.close(id_of(&top.join("dir"))),
        _ => protected.add_name(id_of(top), "GONE.txt".as_ref()),
    };
    let paths = [
        "a.txt",
        "moved",
        "new.txt",
        "dir/renamed/three",
        "dir/x",
        "gone.txt",
    ];
    for (what, path) in paths.into_iter().enumerate() {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        before_all(&site);
        let (before, draft) = (site.tree(), change_all(&site));
        // Protected only after the transaction began.
        let at = site.path.clone();
        let is_begun = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let begun = Arc::clone(&is_begun);
        let refresh = move || {
            let mut protected = Protected::default();
            if begun.load(std::sync::atomic::Ordering::SeqCst) {
                protect(&at, &mut protected, what);
            }
            Some(vec![Arc::new(protected)])
        };
        let options = protecting(WriteProtected::refreshed_by(refresh));
        is_begun.store(true, std::sync::atomic::Ordering::SeqCst);
        let error = draft.commit_with(&options).unwrap_err();
        let CommitError::WriteProtected { files } = &error else {
            panic!("{path}: {error}");
        };
        assert!(files.iter().any(|file| file == path), "{path}: {files:?}");
        assert_eq!(site.tree(), before, "{path}");
    }
}

#[test]
fn a_folder_of_test_cases_is_not_brought_with_its_files() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let mut protected = Protected::default();
    protected.add_bundle_dir(id_of(&site.path));
    assert!(protected.forbids(id_of(&site.path), "tests", NameChange::FolderOrLink));
    let options = protecting(WriteProtected::refreshed_by(move || {
        Some(vec![Arc::new(protected.clone())])
    }));
    let mut draft = site.begin();
    draft.make_dir("tests", &[("case.yaml", "planted")]);
    let committed = draft.commit_with(&options);
    assert!(
        matches!(committed, Err(CommitError::WriteProtected { .. })),
        "{committed:?}"
    );
    assert!(!site.path.join("tests").exists());
    let mut draft = site.begin();
    draft.make_dir("tests", &[]);
    draft.commit_with(&options).unwrap();
}

#[test]
fn a_workdir_on_another_file_system_is_refused_before_a_call() {
    let (top, other) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir_in("/dev/shm").unwrap(),
    );
    let site = Site::at(top.path());
    let workdir = Workdir::open_own(other.path(), &WorkdirUsages::default()).unwrap();
    assert_ne!(id_of(&site.path).device, id_of(other.path()).device);
    let error = Staging::create(&site.root, &workdir).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StagingError::OtherFileSystem { .. }));
    for part in [
        other.path().to_str().unwrap(),
        site.root.path().to_str().unwrap(),
        "`workdir: direct`",
        "state root",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(site.staged().is_empty());
}

#[test]
fn a_state_root_that_others_can_write_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(site.root.path(), mode(0o770)).unwrap();
    let error = StagingRoot::open(&site.state).unwrap_err();
    assert!(error.to_string().contains("chmod go-w"), "{error}");
    fs::set_permissions(site.root.path(), mode(0o700)).unwrap();
    fs::remove_dir_all(site.root.path()).unwrap();
    symlink(&site.path, site.root.path()).unwrap();
    assert!(matches!(
        StagingRoot::open(&site.state),
        Err(StagingError::NotPrivate(_))
    ));
    assert!(site.tree().is_empty());
}

#[test]
fn a_durable_commit_makes_the_same_changes() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    let options = CommitOptions {
        durability: Durability::Power,
        ..CommitOptions::default()
    };
    change_all(&site).commit_with(&options).unwrap();
    check_changed(&site);
    site.undo().unwrap();
    assert_eq!(site.tree(), before);
}

#[test]
fn a_tree_of_any_depth_is_committed_undone_and_removed() {
    const DEPTH: usize = 3000;
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let mut draft = site.begin();
    let (staged, _) = draft.new_path();
    let mut here = draft.staging.dir().try_clone().unwrap();
    for level in 0..DEPTH {
        let name = if level == 0 {
            staged.as_str()
        } else {
            "deeper"
        };
        here.create_dir(name).unwrap();
        here = here.open_dir(name).unwrap();
    }
    let path = "deep".into();
    draft.set.ops.push(RenameOp::Put { staged, path });
    draft.commit().unwrap();
    assert!(site.path.join("deep/deeper/deeper").is_dir());
    site.undo().unwrap();
    assert!(site.tree().is_empty() && site.staged().is_empty());
}
