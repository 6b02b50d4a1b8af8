use super::*;

fn keeping(commits: usize, bytes: u64) -> CommitOptions {
    CommitOptions {
        undo: UndoLimits { commits, bytes },
        ..CommitOptions::default()
    }
}

#[test]
fn undo_restores_bytes_modes_and_names() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    let time = |path: &str| {
        fs::metadata(site.path.join(path))
            .unwrap()
            .modified()
            .unwrap()
    };
    let times = [time("a.txt"), time("dir/y"), time("gone.txt")];
    let options = CommitOptions {
        label: "edit__files, call 1".into(),
        ..CommitOptions::default()
    };
    change_all(&site).commit_with(&options).unwrap();
    let records = site.root.undo_records(&site.workdir).unwrap();
    let [record] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!(record.label, options.label);
    assert!(record.files.iter().any(|path| path == "gone.txt") && record.bytes > 0);
    let undone = site.undo().unwrap();
    assert_eq!((&undone.id, &undone.files), (&record.id, &record.files));
    assert_eq!(site.tree(), before);
    assert_eq!(times, [time("a.txt"), time("dir/y"), time("gone.txt")]);
    assert!(site.staged().is_empty());
    let error = site.undo().unwrap_err();
    assert!(matches!(error, UndoError::Nothing), "{error}");
}

#[test]
fn commits_are_undone_one_after_another_or_by_id() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let write = |path: &str, text: &str| {
        let mut draft = site.begin();
        draft.write(path, text);
        draft.commit().unwrap().undo.unwrap()
    };
    let ids = [
        write("a", "1"),
        write("a", "2"),
        write("b", "1"),
        write("a", "3"),
    ];
    // The newest change of `b`, beneath a newer one of `a`.
    site.root.undo(&site.workdir, Some(&ids[2])).unwrap();
    assert_eq!(site.read("b"), None);
    // A newer commit changed what this one left.
    let error = site.root.undo(&site.workdir, Some(&ids[0])).unwrap_err();
    assert!(
        matches!(&error, UndoError::Conflict { files } if files == &["a"]),
        "{error}"
    );
    for expected in [Some("2"), Some("1"), None] {
        site.undo().unwrap();
        assert_eq!(site.read("a").as_deref(), expected);
    }
}

/// What others changed since the commit, and the path that conflicts.
#[test]
fn an_undo_that_would_lose_later_changes_is_refused() {
    type Change = fn(&Path);
    let cases: [(Change, &str); 7] = [
        (
            |top| fs::write(top.join("a.txt"), "later").unwrap(),
            "a.txt",
        ),
        (
            |top| fs::write(top.join("new.txt"), "later").unwrap(),
            "new.txt",
        ),
        (
            |top| fs::remove_file(top.join("new.txt")).unwrap(),
            "new.txt",
        ),
        (
            |top| fs::write(top.join("gone.txt"), "later").unwrap(),
            "gone.txt",
        ),
        (
            |top| fs::write(top.join("made/deep/er/later"), "").unwrap(),
            "made/deep/er/later",
        ),
        (
            |top| fs::write(top.join("made/in"), "later").unwrap(),
            "made/in",
        ),
        (
            |top| fs::write(top.join("moved"), "later").unwrap(),
            "moved",
        ),
    ];
    for (change, path) in cases {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        before_all(&site);
        change_all(&site).commit().unwrap();
        change(&site.path);
        let others = site.tree();
        let error = site.undo().unwrap_err();
        let UndoError::Conflict { files } = &error else {
            panic!("{path}: {error}");
        };
        assert!(files.iter().any(|file| file == path), "{path}: {files:?}");
        assert!(error.to_string().contains(path), "{error}");
        assert_eq!(site.tree(), others);
    }
}

#[test]
fn a_file_made_later_in_a_moved_folder_goes_back_with_it() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    site.write("old/file", "file");
    let mut draft = site.begin();
    draft.rename("old", "new");
    draft.commit().unwrap();
    site.write("new/later", "later");
    site.undo().unwrap();
    assert_eq!(site.read("old/file").as_deref(), Some("file"));
    assert_eq!(site.read("old/later").as_deref(), Some("later"));
    assert!(!site.path.join("new").exists());
}

#[test]
fn a_folder_of_10_000_files_is_moved_and_moved_back_by_two_renames() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    for file in 0..10_000 {
        let path = site.path.join("many");
        if file == 0 {
            fs::create_dir(&path).unwrap();
        }
        fs::write(path.join(file.to_string()), "").unwrap();
    }
    let mut draft = site.begin();
    draft.rename("many", "moved");
    let id = draft.commit().unwrap().undo.unwrap();
    // Neither names nor stamps of what is in it are kept.
    let journal = site.root.path().join(id).join("journal");
    assert!(fs::metadata(journal).unwrap().len() < 2000);
    assert!(site.path.join("moved/9999").exists());
    site.undo().unwrap();
    assert!(site.path.join("many/9999").exists());
}

#[test]
fn the_oldest_commits_are_dropped_beyond_the_limits() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let big = "x".repeat(100_000);
    site.write("a", &big);
    let write = |text: &str, options: &CommitOptions| {
        let mut draft = site.begin();
        draft.write("a", text);
        draft.commit_with(options).unwrap().undo
    };
    let records = || site.root.undo_records(&site.workdir).unwrap();
    for text in ["1", "2", "3", "4"] {
        assert!(write(text, &keeping(3, 1 << 30)).is_some());
    }
    assert_eq!(records().len(), 3);
    // The file that is replaced now is small, the next one is not.
    write(&big, &keeping(3, 40_000)).unwrap();
    assert_eq!(records().len(), 3);
    assert_eq!(
        write("5", &keeping(3, 40_000)),
        None,
        "it alone is too large"
    );
    assert!(records().is_empty() && site.staged().is_empty());
    assert_eq!(write("6", &keeping(0, 1 << 30)), None);
    assert!(matches!(site.undo(), Err(UndoError::Nothing)));
    assert_eq!(site.read("a").as_deref(), Some("6"));
}

#[test]
fn undo_records_outlive_the_process_and_belong_to_their_workdir() {
    let (top, other) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir_in("/tmp").unwrap(),
    );
    let site = Site::at(top.path());
    let mut draft = site.begin();
    draft.write("a", "new");
    draft.commit().unwrap();
    let again = Site::at(top.path());
    again.root.recover().unwrap();
    let elsewhere = Workdir::open_own(other.path(), &WorkdirUsages::default()).unwrap();
    assert!(again.root.undo_records(&elsewhere).unwrap().is_empty());
    assert!(matches!(
        again.root.undo(&elsewhere, None),
        Err(UndoError::Nothing)
    ));
    again.undo().unwrap();
    assert_eq!(again.read("a"), None);
}

#[test]
fn an_undo_that_breaks_off_leaves_the_commit_whole_and_can_be_repeated() {
    use super::super::step::Step;
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    let before = site.tree();
    change_all(&site).commit().unwrap();
    // Another program makes a file where one would be put back, after the check.
    let path = site.path.join("gone.txt");
    on_step(Some(Box::new(move |step| {
        if step == Step::UndoMarked {
            fs::write(&path, "later")?;
        }
        Ok(())
    })));
    let error = site.undo().unwrap_err();
    on_step(None);
    let UndoError::Conflict { files } = error else {
        panic!("{error:?}");
    };
    assert_eq!(files, ["gone.txt"]);
    assert_eq!(site.read("gone.txt").as_deref(), Some("later"));
    fs::remove_file(site.path.join("gone.txt")).unwrap();
    check_changed(&site);
    site.undo().unwrap();
    assert_eq!(site.tree(), before);
}

#[test]
fn a_directory_with_the_inode_of_a_removed_workdir_gets_none_of_its_files() {
    use super::super::plan::WorkdirPlace;
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    site.write("secret", "secret");
    let mut draft = site.begin();
    draft.remove("secret");
    let id = draft.commit().unwrap().undo.unwrap();
    // As if the directory had been made at another time, elsewhere.
    let journal = site.root.path().join(&id).join("journal");
    let text = fs::read_to_string(&journal).unwrap();
    let place = WorkdirPlace::of(&site.workdir).unwrap();
    let known = serde_json::to_string(&place).unwrap();
    let other = known
        .replace("/work\"", "/gone\"")
        .replace("\"born\":[", "\"born\":[1");
    assert!(text.contains(&known) && known != other);
    fs::write(&journal, text.replace(&known, &other)).unwrap();
    assert!(site.root.undo_records(&site.workdir).unwrap().is_empty());
    for id in [None, Some(&*id)] {
        let error = site.root.undo(&site.workdir, id).unwrap_err();
        assert!(matches!(error, UndoError::Nothing), "{error}");
    }
    assert_eq!(site.read("secret"), None);
    // The next start drops it.
    assert_eq!(site.root.recover().unwrap().removed, 1);
    assert!(site.staged().is_empty());
}

#[test]
fn a_workdir_that_was_moved_keeps_its_undo_records_until_the_next_start() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let mut draft = site.begin();
    draft.write("a", "new");
    draft.commit().unwrap();
    let away = top.path().join("away");
    fs::rename(&site.path, &away).unwrap();
    let moved = Workdir::open_own(&away, &WorkdirUsages::default()).unwrap();
    site.root.undo(&moved, None).unwrap();
    assert!(!away.join("a").exists());
}
