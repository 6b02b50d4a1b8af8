//! Transactions as the overlay makes them: a workdir, staged files and lists of renames.

mod commits;
mod concurrent;
mod held;
mod hostile;
mod killed;
mod limits;
mod runs;
mod shortage;
mod undone;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::step::on_step;
use super::*;
use crate::workdir::tree_path::TreePath;
use crate::workdir::{Workdir, WorkdirUsages};
use toolhost_contract::FileChanges;

/// A state root and a workdir beside each other.
struct Site {
    root: StagingRoot,
    workdir: Workdir,
    path: PathBuf,
    state: PathBuf,
}

/// A transaction that a test makes by hand.
struct Draft<'a> {
    site: &'a Site,
    staging: Staging,
    set: ChangeSet,
}

/// All files beneath a directory: mode and content, or the target of a link.
type Tree = BTreeMap<String, String>;

impl Site {
    fn at(top: &Path) -> Self {
        let (state, path) = (top.join("state"), top.join("work"));
        for dir in [&state, &path] {
            fs::create_dir_all(dir).unwrap();
        }
        let workdir = Workdir::open_own(&path, &WorkdirUsages::default()).unwrap();
        let root = StagingRoot::open(&state).unwrap();
        Self {
            root,
            workdir,
            path,
            state,
        }
    }

    fn begin(&self) -> Draft<'_> {
        Draft {
            site: self,
            staging: Staging::create(&self.root, &self.workdir).unwrap(),
            set: ChangeSet::default(),
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path.join(path)).ok()
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        add_tree(&self.path, "", &mut tree);
        tree
    }

    /// The staging directories, without the one for locks.
    fn staged(&self) -> Vec<String> {
        self.root.ids(None).unwrap()
    }

    fn undo(&self) -> Result<Undone, UndoError> {
        self.root.undo(&self.workdir, None)
    }
}

fn add_tree(top: &Path, prefix: &str, tree: &mut Tree) {
    for entry in fs::read_dir(top).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let found = fs::symlink_metadata(entry.path()).unwrap();
        let mode = found.mode() & 0o7777;
        if found.is_dir() {
            tree.insert(path.clone(), format!("dir {mode:o}"));
            add_tree(&entry.path(), &format!("{path}/"), tree);
        } else if found.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            tree.insert(path, format!("link {}", target.display()));
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            tree.insert(path, format!("file {mode:o} {text}"));
        }
    }
}

impl Draft<'_> {
    fn stamp(&self, path: &str) -> Stamp {
        let found = self.found(path);
        found.unwrap_or_else(|| panic!("{path} is missing"))
    }

    fn found(&self, path: &str) -> Option<Stamp> {
        let found = self.site.workdir.dir.symlink_metadata(path).ok()?;
        Some(Stamp::of(&found))
    }

    /// Where a staged file of a new name lies.
    fn new_path(&self) -> (String, PathBuf) {
        let staged = self.staging.new_name();
        let path = self.staging.path().join(&staged);
        (staged, path)
    }

    fn read(&mut self, path: &str) -> &mut Self {
        let stamp = self.stamp(path);
        self.set.read.push((path.into(), stamp));
        self
    }

    /// Writes a file that replaces another or is new.
    fn write(&mut self, path: &str, text: &str) -> &mut Self {
        let (staged, file) = self.new_path();
        fs::write(&file, text).unwrap();
        let at = TreePath::from(path);
        let is_taken = self
            .set
            .ops
            .iter()
            .any(|op| matches!(op, RenameOp::Take { path: taken, .. } if *taken == at));
        let op = match self.found(path).filter(|_| !is_taken) {
            Some(expected) => {
                let mode = fs::metadata(self.site.path.join(path)).unwrap().mode();
                fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
                RenameOp::Exchange {
                    staged,
                    path: at,
                    expected,
                }
            }
            None => RenameOp::Put { staged, path: at },
        };
        self.set.ops.push(op);
        self
    }

    fn link(&mut self, path: &str, target: &str) -> &mut Self {
        let (staged, file) = self.new_path();
        symlink(target, file).unwrap();
        let path = path.into();
        self.set.ops.push(RenameOp::Put { staged, path });
        self
    }

    /// Makes a directory with files.
    fn make_dir(&mut self, path: &str, files: &[(&str, &str)]) -> &mut Self {
        let (staged, dir) = self.new_path();
        fs::create_dir(&dir).unwrap();
        for (name, text) in files {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let path = path.into();
        self.set.ops.push(RenameOp::Put { staged, path });
        self
    }

    /// Removes a file or an empty directory.
    fn remove(&mut self, path: &str) -> &mut Self {
        self.take(path);
        self
    }

    fn take(&mut self, path: &str) -> String {
        let (staged, expected) = (self.staging.new_name(), self.stamp(path));
        let path = path.into();
        self.set.ops.push(RenameOp::Take {
            path,
            staged: staged.clone(),
            expected,
        });
        staged
    }

    fn rename(&mut self, from: &str, to: &str) -> &mut Self {
        let staged = self.take(from);
        let path = to.into();
        self.set.ops.push(RenameOp::Put { staged, path });
        self
    }

    fn commit(self) -> Result<Committed, CommitError> {
        self.commit_with(&CommitOptions::default())
    }

    fn commit_with(self, options: &CommitOptions) -> Result<Committed, CommitError> {
        let clock = CommitClock::start(options.time);
        (self.staging).commit(
            &self.site.workdir,
            (&self.set, &FileChanges::default()),
            options,
            clock,
        )
    }
}

/// Files of every kind, to be changed by [`change_all`].
fn before_all(site: &Site) {
    for (path, text) in [
        ("a.txt", "old a"),
        ("run.sh", "old run"),
        ("gone.txt", "gone"),
        ("dir/x", "old x"),
        ("dir/y", "y"),
        ("dir/sub/z", "z"),
        ("moved/one", "1"),
        ("moved/two", "2"),
        ("dead/file", "dead"),
    ] {
        site.write(path, text);
    }
    fs::create_dir(site.path.join("empty")).unwrap();
    symlink("a.txt", site.path.join("link")).unwrap();
    for (path, mode) in [("run.sh", 0o755), ("moved", 0o750), ("gone.txt", 0o600)] {
        fs::set_permissions(site.path.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Creates, changes, removes and moves files, links and directories.
fn change_all(site: &Site) -> Draft<'_> {
    let mut draft = site.begin();
    draft
        .read("dir/sub/z")
        .write("a.txt", "new a")
        .write("run.sh", "new run")
        .write("dir/x", "new x")
        .write("moved/one", "new 1")
        .remove("gone.txt")
        .remove("empty")
        .remove("link")
        .remove("dead/file")
        .remove("dead")
        .write("new.txt", "new")
        .write("dead", "a file now")
        .link("link", "new.txt")
        .make_dir("made", &[("in", "in"), ("deep/er/file", "deep")])
        .rename("dir/y", "made/deep/y")
        .rename("moved", "dir/renamed")
        // Through a directory that was moved by now.
        .write("dir/renamed/three", "3");
    draft
}

/// What [`change_all`] leaves.
fn check_changed(site: &Site) {
    for (path, text) in [
        ("a.txt", "new a"),
        ("run.sh", "new run"),
        ("dir/x", "new x"),
        ("dir/sub/z", "z"),
        ("dir/renamed/one", "new 1"),
        ("dir/renamed/two", "2"),
        ("dir/renamed/three", "3"),
        ("made/in", "in"),
        ("made/deep/er/file", "deep"),
        ("made/deep/y", "y"),
        ("new.txt", "new"),
        ("link", "new"),
        ("dead", "a file now"),
    ] {
        assert_eq!(site.read(path).as_deref(), Some(text), "{path}");
    }
    for path in ["gone.txt", "empty", "dir/y", "moved"] {
        assert!(!site.path.join(path).exists(), "{path}");
    }
    let mode = fs::metadata(site.path.join("run.sh")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o755);
}

fn failure() -> io::Error {
    rustix::io::Errno::IO.into()
}
