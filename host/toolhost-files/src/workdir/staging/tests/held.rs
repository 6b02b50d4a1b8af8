//! Changes that wait for consent.

use super::*;

impl Draft<'_> {
    fn hold(self) -> Result<HeldChanges, CommitError> {
        let options = CommitOptions::default();
        let clock = CommitClock::start(options.time);
        let workdir = &self.site.workdir;
        (self.staging).hold(workdir, &self.set, <_>::default(), &options, &clock)
    }
}

/// Holds what [`change_all`] changes, and returns its id and its digest.
pub(super) fn hold_all(site: &Site) -> (String, String) {
    let held = change_all(site).hold().unwrap();
    let (id, digest) = (held.id().to_owned(), held.digest.clone());
    held.keep();
    (id, digest)
}

impl Site {
    pub(super) fn release(&self, (id, digest): &(String, String)) -> Result<(), HeldError> {
        let options = CommitOptions::default();
        let released = self.root.commit_held(&self.workdir, id, digest, &options);
        released.map(drop)
    }
}

fn site() -> (tempfile::TempDir, Site) {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    (top, site)
}

#[test]
fn held_changes_are_in_no_workdir_until_they_are_released_and_can_then_be_undone() {
    let (_top, site) = site();
    let before = site.tree();
    let held = hold_all(&site);
    assert_eq!(site.tree(), before);
    // Another process starts.
    site.root.recover().unwrap();
    assert_eq!(site.root.held(&held.0), HeldState::Waiting);
    assert_eq!(site.root.held_ids().unwrap(), [held.0.as_str()]);
    site.release(&held).unwrap();
    check_changed(&site);
    assert_eq!(site.root.held(&held.0), HeldState::Committed);
    // The process was killed before it removed the list.
    let list = site.root.path().join(&held.0).join("held");
    fs::write(&list, "").unwrap();
    site.root.drop_held(&held.0);
    assert!(list.exists() && site.root.held_ids().unwrap().is_empty());
    fs::remove_file(list).unwrap();
    assert!(matches!(site.release(&held), Err(HeldError::Changed)));
    check_changed(&site);
    site.undo().unwrap();
    assert_eq!(site.tree(), before);
    assert_eq!(site.root.held(&held.0), HeldState::Gone);
    assert!(matches!(site.release(&held), Err(HeldError::Changed)));
    assert_eq!(site.tree(), before);
}

#[test]
fn changes_that_are_not_kept_or_are_dropped_leave_nothing() {
    let (_top, site) = site();
    let before = site.tree();
    let held = change_all(&site).hold().unwrap();
    let id = held.id().to_owned();
    // Nobody drops them while their process works on them.
    site.root.drop_held(&id);
    assert_eq!(site.root.held(&id), HeldState::Waiting);
    drop(held);
    let (id, _) = hold_all(&site);
    site.root.drop_held(&id);
    assert_eq!(site.root.held(&id), HeldState::Gone);
    assert!(site.staged().is_empty());
    assert_eq!(site.tree(), before);
}

#[tokio::test]
async fn whether_somebody_waits_for_changes_is_asked_while_nobody_else_can_have_them() {
    let (_top, site) = site();
    let held = change_all(&site).hold().unwrap();
    let id = held.id().to_owned();
    let never = async { panic!("their process has not stored yet who waits for them") };
    site.root.drop_held_unless(&id, never).await;
    held.keep();
    for waits in [true, true, false] {
        let asked = async {
            site.root.drop_held(&id);
            assert_eq!(site.root.held(&id), HeldState::Waiting);
            waits
        };
        site.root.drop_held_unless(&id, asked).await;
        let left = if waits {
            HeldState::Waiting
        } else {
            HeldState::Gone
        };
        assert_eq!(site.root.held(&id), left);
    }
    assert!(site.staged().is_empty());
}

#[test]
fn what_was_staged_cannot_be_exchanged_for_something_else() {
    type Meddle = fn(&Path);
    let meddlers: [(&str, Meddle); 7] = [
        ("a byte of a file", |dir| {
            let file = first(dir, "f");
            fs::write(&file, "evil").unwrap();
        }),
        ("the mode of a file", |dir| {
            let file = first(dir, "f");
            fs::set_permissions(file, fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("a file that is missing", |dir| {
            fs::remove_file(first(dir, "f")).unwrap()
        }),
        ("a link in the place of a file", |dir| {
            let file = first(dir, "f");
            fs::remove_file(&file).unwrap();
            symlink("/etc/passwd", &file).unwrap();
        }),
        ("another path in the list", |dir| {
            let list = dir.join("held");
            let text = fs::read_to_string(&list).unwrap();
            fs::write(&list, text.replace("new.txt", "evl.txt")).unwrap();
        }),
        ("a path out of the workdir", |dir| {
            let list = dir.join("held");
            let text = fs::read_to_string(&list).unwrap();
            fs::write(&list, text.replace("new.txt", "../x.txt")).unwrap();
        }),
        ("a file more in a new folder", |dir| {
            let made = fs::read_dir(dir)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let made = made.into_iter().find(|path| path.is_dir()).unwrap();
            fs::write(made.join("more"), "evil").unwrap();
        }),
    ];
    for (what, meddle) in meddlers {
        let (_top, site) = site();
        let before = site.tree();
        let held = hold_all(&site);
        meddle(&site.root.path().join(&held.0));
        let refused = site.release(&held);
        assert!(
            matches!(refused, Err(HeldError::Changed)),
            "{what}: {refused:?}"
        );
        assert_eq!(site.tree(), before, "{what}");
    }
}

fn first(dir: &Path, prefix: &str) -> PathBuf {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file() && !path.is_symlink())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(prefix)
        })
        .collect();
    files.sort();
    files.swap_remove(0)
}

#[test]
fn the_digest_of_other_changes_and_another_workdir_release_nothing() {
    let (_top, site) = site();
    let (_other_top, other) = self::site();
    let (before, other_before) = (site.tree(), other.tree());
    let held = hold_all(&site);
    let wrong = (held.0.clone(), "0".repeat(64));
    assert!(matches!(site.release(&wrong), Err(HeldError::Changed)));
    let options = CommitOptions::default();
    let elsewhere = (site.root).commit_held(&other.workdir, &held.0, &held.1, &options);
    assert!(
        matches!(elsewhere, Err(HeldError::Changed)),
        "{elsewhere:?}"
    );
    let unknown = (format!("{}0", held.0), held.1.clone());
    assert!(matches!(site.release(&unknown), Err(HeldError::Changed)));
    assert_eq!((site.tree(), other.tree()), (before, other_before));
    site.release(&held).unwrap();
    check_changed(&site);
}

#[test]
fn a_file_that_was_changed_meanwhile_is_a_conflict_and_drops_them() {
    let (_top, site) = site();
    let held = hold_all(&site);
    site.write("dir/sub/z", "changed by somebody");
    let before = site.tree();
    let conflict = site.release(&held);
    assert!(matches!(
        &conflict,
        Err(HeldError::Commit(CommitError::Conflict { files })) if *files == ["dir/sub/z"]
    ));
    assert_eq!(site.tree(), before);
    assert_eq!(site.root.held(&held.0), HeldState::Gone);
}

#[test]
fn what_is_released_before_its_call_has_let_go_of_it_waits_for_that() {
    let (_top, site) = site();
    let held = change_all(&site).hold().unwrap();
    let what = (held.id().to_owned(), held.digest.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            held.keep();
        });
        site.release(&what).unwrap();
    });
    check_changed(&site);
}
