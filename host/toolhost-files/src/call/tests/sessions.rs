//! Random sessions in a transaction, beside a direct call and system calls of the host in directories of their own:
//! each step must have the same result, the workdir must be untouched meanwhile, and the renames of the commit must
//! make it as those.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;
use toolhost_contract::Protected;

use super::side::{Granted, Op, Side, TEXT, kind_name, no_follow, stat_text, tree};
use crate::workdir::staging::{ChangeSet, CommitClock, RenameOp, StagingRoot};
use crate::workdir::{
    FileError, FreedSpace, Overlay, Tree, Workdir, WorkdirUsages, WriteProtected, id_of,
};

/// A workdir, a transaction on it, and a twin of the workdir.
struct Session {
    top: TempDir,
    direct: Workdir,
    workdir: Workdir,
    side: Side,
    /// A direct call on a third directory.
    beside: Side,
    /// What the twin keeps open, and whether it writes that.
    held: [Option<(File, bool)>; 2],
}

/// Files, folders and links that are there at first.
fn furnish(dir: &Path) {
    fs::create_dir_all(dir.join("d/e")).unwrap();
    fs::create_dir(dir.join("f")).unwrap();
    for (path, text) in [
        ("a", "first"),
        ("d/a", "second, and longer than what is written"),
        ("d/e/a", "third"),
        ("f/b", "fourth"),
    ] {
        fs::write(dir.join(path), text).unwrap();
    }
    symlink("d", dir.join("l")).unwrap();
    symlink("../a", dir.join("d/m")).unwrap();
}

impl Session {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        for name in ["work", "twin", "beside"] {
            fs::create_dir(top.path().join(name)).unwrap();
            furnish(&top.path().join(name));
        }
        let staging = StagingRoot::open(top.path()).unwrap();
        let usages = WorkdirUsages::default();
        let direct = Workdir::open_own(&top.path().join("work"), &usages).unwrap();
        let workdir = direct.transactional(&staging).unwrap();
        let beside = Workdir::open_own(&top.path().join("beside"), &usages).unwrap();
        Self {
            top,
            side: Side::new(&workdir, Granted::default()),
            beside: Side::new(&beside, Granted::default()),
            workdir,
            direct,
            held: [None, None],
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }
}

/// Few names, so that the steps of a session use the same files.
const PATHS: [&str; 26] = [
    "a", "b", "c", "d", "l", "f", "d/a", "d/b", "d/m", "d/e", "d/e/a", "l/a", "l/b", "f/b", "f/d",
    "f/d/a", "b/d", "b/c", "a/", "d/", "l/", "new/", "./a", "d/../a", "d/.", "",
];
const TARGETS: [&str; 7] = ["a", "b", "d", "l", "f", "d/a", "nothing"];
fn op() -> impl Strategy<Value = Op> {
    let path = || select(PATHS.as_slice());
    let how = select(vec![
        OFlags::empty(),
        OFlags::CREATE,
        OFlags::CREATE | OFlags::EXCL,
        OFlags::CREATE | OFlags::TRUNC,
        OFlags::TRUNC,
    ]);
    let slot = || 0..2_usize;
    prop_oneof![
        4 => (path(), how, any::<bool>(), 0..20_u64).prop_map(|(path, how, follow, at)| Op::Write(path, how, follow, at)),
        1 => (path(), 0..20_u64).prop_map(|(path, size)| Op::Cut(path, size)),
        2 => (path(), any::<bool>()).prop_map(|(path, follow)| Op::Read(path, follow)),
        2 => (path(), any::<bool>()).prop_map(|(path, follow)| Op::Stat(path, follow)),
        1 => (path(), any::<bool>()).prop_map(|(path, follow)| Op::ModeOf(path, follow)),
        2 => path().prop_map(Op::List),
        1 => path().prop_map(Op::ReadLink),
        2 => path().prop_map(Op::MakeDir),
        2 => path().prop_map(Op::RemoveDir),
        3 => path().prop_map(Op::Unlink),
        6 => (path(), path()).prop_map(|(path, to)| Op::Rename(path, to)),
        2 => (path(), path()).prop_map(|(path, to)| Op::Link(path, to)),
        2 => (select(TARGETS.as_slice()), path()).prop_map(|(target, path)| Op::Symlink(target, path)),
        2 => (slot(), path(), any::<bool>()).prop_map(|(slot, path, write)| Op::Hold(slot, path, write)),
        2 => (slot(), 0..20_u64).prop_map(|(slot, at)| Op::WriteHeld(slot, at)),
        1 => (slot(), 0..20_u64).prop_map(|(slot, size)| Op::CutHeld(slot, size)),
        2 => slot().prop_map(Op::ReadHeld),
        1 => slot().prop_map(Op::StatHeld),
        1 => slot().prop_map(Op::ListHeld),
        1 => (slot(), path()).prop_map(|(slot, path)| Op::CreateHeld(slot, path)),
    ]
}

impl Session {
    /// Performs an operation in the transaction.
    fn run(&mut self, op: &Op) -> Result<String, Errno> {
        self.side.run(op)
    }

    /// Performs it with system calls of the host.
    fn run_twin(&mut self, op: &Op) -> Result<String, Errno> {
        let twin = File::open(self.path("twin")).unwrap();
        let [mode, of_dir] = [0o666, 0o777].map(Mode::from_raw_mode);
        let open = |dir: &File, path: &str, how: OFlags, follow: bool| {
            rustix::fs::openat(dir, path, how | no_follow(follow), mode).map(File::from)
        };
        let list = |dir: &File| {
            let mut names = Vec::new();
            for entry in rustix::fs::Dir::read_from(dir)? {
                let entry = entry?;
                let name = entry.file_name().to_str().unwrap();
                if ![".", ".."].contains(&name) {
                    names.push(format!("{name} {}", kind_name(entry.file_type())));
                }
            }
            names.sort();
            Ok::<_, Errno>(names.join(", "))
        };
        let read = |file: &File| {
            let mut text = vec![0; 999];
            let read = file.read_at(&mut text, 0).unwrap_or(0);
            String::from_utf8_lossy(&text[..read]).into_owned()
        };
        let is_dir = |file: &File| file.metadata().unwrap().is_dir();
        let stat = |file: &File| {
            let metadata = cap_std::fs::Metadata::from_file(file).unwrap();
            stat_text(&metadata, cap_std::fs::MetadataExt::nlink(&metadata))
        };
        match *op {
            Op::Write(path, how, follow, at) => {
                let opened = open(&twin, path, how | OFlags::WRONLY, follow)?;
                opened.write_all_at(TEXT.as_bytes(), at).unwrap();
            }
            Op::Cut(path, size) => {
                open(&twin, path, OFlags::WRONLY, true)?
                    .set_len(size)
                    .unwrap();
            }
            Op::Read(path, follow) => {
                return Ok(read(&open(&twin, path, OFlags::RDONLY, follow)?));
            }
            Op::Stat(path, follow) => {
                let how = OFlags::PATH | OFlags::CLOEXEC;
                return Ok(stat(&open(&twin, path, how, follow)?));
            }
            Op::List(path) => {
                let how = OFlags::RDONLY | OFlags::DIRECTORY;
                return list(&open(&twin, path, how, true)?);
            }
            Op::ReadLink(path) => {
                let target = rustix::fs::readlinkat(&twin, path, Vec::new())?;
                return Ok(target.into_string().unwrap());
            }
            Op::MakeDir(path) => rustix::fs::mkdirat(&twin, path, of_dir)?,
            Op::RemoveDir(path) => rustix::fs::unlinkat(&twin, path, AtFlags::REMOVEDIR)?,
            Op::Unlink(path) => rustix::fs::unlinkat(&twin, path, AtFlags::empty())?,
            Op::Rename(path, to) => rustix::fs::renameat(&twin, path, &twin, to)?,
            Op::Link(path, to) => rustix::fs::linkat(&twin, path, &twin, to, AtFlags::empty())?,
            Op::Symlink(target, path) => rustix::fs::symlinkat(target, &twin, path)?,
            Op::Times(..) | Op::Mode(..) => unreachable!("no session sets times or modes"),
            Op::ModeOf(path, follow) => {
                let file = open(&twin, path, OFlags::PATH | OFlags::CLOEXEC, follow)?;
                let mode = file.metadata().unwrap().permissions().mode();
                return Ok(format!("{:o}", mode & 0o777));
            }
            Op::Hold(slot, path, write) => {
                let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
                self.held[slot] = Some((open(&twin, path, access, true)?, write));
            }
            Op::WriteHeld(slot, at) => {
                if let Some((twin, true)) = &self.held[slot] {
                    twin.write_all_at(TEXT.as_bytes(), at).unwrap();
                }
            }
            Op::CutHeld(slot, size) => {
                if let Some((twin, true)) = &self.held[slot] {
                    twin.set_len(size).unwrap();
                }
            }
            Op::ReadHeld(slot) => {
                if let Some((twin, _)) = &self.held[slot] {
                    return Ok(read(twin));
                }
            }
            Op::StatHeld(slot) => {
                if let Some((twin, _)) = &self.held[slot] {
                    return Ok(stat(twin));
                }
            }
            Op::ListHeld(slot) => {
                if let Some((twin, _)) = &self.held[slot].as_ref().filter(|(twin, _)| is_dir(twin))
                {
                    return list(twin);
                }
            }
            Op::CreateHeld(slot, path) => {
                if let Some((twin, _)) = &self.held[slot].as_ref().filter(|(twin, _)| is_dir(twin))
                {
                    let how = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
                    open(twin, path, how, false)?;
                }
            }
        }
        Ok(String::new())
    }

    fn overlay(&self) -> &Arc<Overlay> {
        match &self.side.files.tree {
            Tree::Direct => panic!("the side changes the workdir directly"),
            Tree::Transaction(overlay) => overlay,
        }
    }

    fn change_set(&self) -> ChangeSet {
        let clock = CommitClock::start(std::time::Duration::MAX);
        self.overlay().change_set(&clock).unwrap()
    }
}

/// Applies the renames of a commit, each as the commit does.
fn apply(workdir: &Path, changes: &ChangeSet, staging: &Dir) {
    let workdir = File::open(workdir).unwrap();
    for op in &changes.ops {
        let (one, other, flags) = match op {
            RenameOp::Put { staged, path } => ((staging, staged), path, RenameFlags::NOREPLACE),
            RenameOp::Exchange { staged, path, .. } => {
                ((staging, staged), path, RenameFlags::EXCHANGE)
            }
            RenameOp::Take { path, staged, .. } => {
                let free = RenameFlags::NOREPLACE;
                renameat_with(&workdir, path.to_string(), staging, &**staged, free).unwrap();
                continue;
            }
        };
        renameat_with(one.0, &**one.1, &workdir, other.to_string(), flags)
            .unwrap_or_else(|error| panic!("{error} of {op:?} in {changes:#?}"));
    }
}

fn check(session: &[Op], succeeded: &Cell<usize>) -> Result<(), TestCaseError> {
    let mut all = Session::new();
    let before = tree(&all.path("work"));
    for op in session {
        let twin = all.run_twin(op);
        let beside = all.beside.run(op);
        let result = all.run(op);
        if let (Op::Hold(slot, ..), true) = (op, result.is_err() || twin.is_err()) {
            all.held[*slot] = None;
            all.side.held[*slot] = None;
            all.beside.held[*slot] = None;
        }
        succeeded.set(succeeded.get() + usize::from(result.is_ok()));
        prop_assert_eq!(&result, &beside, "{:?}", op);
        match (&result, &twin) {
            (Err(_), Err(_)) => {}
            _ => prop_assert_eq!(&result, &twin, "{:?}", op),
        }
    }
    prop_assert_eq!(tree(&all.path("work")), before, "the workdir is untouched");
    let changes = all.change_set();
    let overlay = all.overlay();
    if let Some(staging) = overlay.take_staging().unwrap() {
        apply(&all.path("work"), &changes, staging.dir());
    }
    for other in ["twin", "beside"] {
        let (work, other) = (tree(&all.path("work")), tree(&all.path(other)));
        prop_assert_eq!(work, other, "{:#?}", changes);
    }
    Ok(())
}

#[test]
fn a_transaction_gives_the_results_of_the_host_and_its_commit_the_files() {
    let config = Config {
        cases: 100,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    // The seed is fixed: every run has the same sessions.
    let chosen = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, chosen);
    let sessions = proptest::collection::vec(op(), 1..40);
    let succeeded = Cell::new(0);
    let checked = runner.run(&sessions, |session| check(&session, &succeeded));
    checked.unwrap();
    // Not only refusals were compared.
    assert!(succeeded.get() > 800, "{}", succeeded.get());
}

/// Whether the workdir has grown by exactly these bytes.
fn has_grown(all: &Session, bytes: u64) -> bool {
    let usage = &all.side.files.budget.usage;
    !usage.grow(1, bytes) && usage.grow(0, bytes) && {
        let could = usage.grow(1, bytes + 1);
        usage.shrink(FreedSpace {
            bytes: 1,
            on_disk: 1,
        });
        could
    }
}

#[test]
fn what_a_transaction_cuts_and_writes_counts_as_in_a_direct_call() {
    let mut all = Session::new();
    // The file has 5 bytes, which are copied.
    all.run(&Op::Write("a", OFlags::empty(), true, 16)).unwrap();
    assert!(has_grown(&all, 15 + 5));
    all.run(&Op::Cut("a", 5)).unwrap();
    all.run(&Op::Write("b", OFlags::CREATE, true, 96)).unwrap();
    assert!(has_grown(&all, 4_096 + 100 + 5));
    // This file has 39 bytes. It is cut as its first change, and the rest is copied.
    all.run(&Op::Cut("d/a", 9)).unwrap();
    assert!(has_grown(&all, 4_096 + 100 - 30 + 5 + 9));
}

#[test]
fn what_a_dropped_transaction_has_added_is_given_back() {
    let mut all = Session::new();
    all.run(&Op::Write("b", OFlags::CREATE, true, 96)).unwrap();
    all.run(&Op::Unlink("d/a")).unwrap();
    let before = tree(&all.path("work"));
    let direct = all.direct.clone();
    let top = all.top;
    drop((all.side, all.workdir));
    let work = top.path().join("work");
    assert_eq!(tree(&work), before, "the workdir is untouched");
    assert!(!direct.usage.grow(1, 0) && direct.usage.grow(1, 1));
    let staged = fs::read_dir(top.path().join("staging")).unwrap();
    assert_eq!(
        staged.count(),
        0,
        "nothing is left in the staging directory"
    );
}

#[test]
fn a_file_call_that_hangs_delays_others_of_its_transaction_until_their_deadline() {
    let mut all = Session::new();
    all.run(&Op::Write("b", OFlags::CREATE, true, 0)).unwrap();
    let overlay = Arc::clone(all.overlay());
    let found = overlay.find(&all.side.root, "a", OFlags::empty()).unwrap();
    let (hangs, hanging) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let late = overlay.until(Some(std::time::Instant::now()));
    let patient = overlay.until(None);
    std::thread::scope(|scope| {
        let copied = scope.spawn(move || {
            let hang = |_: u64| {
                hangs.send(()).unwrap();
                ended.recv().map_err(|_| Errno::IO)
            };
            overlay.copy_entry(&found, &hang)
        });
        hanging.recv().unwrap();
        let root = &all.side.root;
        let waits = scope.spawn(move || patient.find(root, "b", OFlags::empty()).err());
        let found = late.find(&all.side.root, "b", OFlags::empty()).err();
        assert_eq!(found, Some(FileError::Errno(Errno::BUSY)));
        let made = late.create_dir(&all.side.root, "c", Mode::RWXU);
        assert_eq!(made, Err(Errno::BUSY));
        end.send(()).unwrap();
        assert!(copied.join().unwrap().unwrap().is_some());
        // It waited longer than the others.
        assert_eq!(waits.join().unwrap(), None);
    });
    assert!(late.find(&all.side.root, "b", OFlags::empty()).is_ok());
    let missing = late.find(&all.side.root, "c", OFlags::empty()).err();
    assert_eq!(missing, Some(FileError::Errno(Errno::NOENT)));
}

#[test]
fn a_case_file_cannot_be_made_in_a_folder_that_the_transaction_has_made() {
    let mut all = Session::new();
    let mut protected = Protected::default();
    protected.add_bundle_dir(id_of(&all.side.root).unwrap());
    let protected = WriteProtected::refreshed_by(move || Some(vec![Arc::new(protected.clone())]));
    let granted = Granted {
        protected,
        ..Granted::default()
    };
    all.side = Side::new(&all.workdir, granted);
    for folder in ["tests", "tests/more", "other"] {
        all.run(&Op::MakeDir(folder)).unwrap();
    }
    let write = |path| Op::Write(path, OFlags::CREATE, false, 0);
    for path in ["tests/a.yaml", "tests/more/a.yml"] {
        assert_eq!(all.run(&write(path)), Err(Errno::PERM), "{path}");
        assert_eq!(all.run(&Op::Stat(path, false)), Err(Errno::NOENT), "{path}");
    }
    let moved = all.run(&Op::Rename("f", "tests/moved"));
    assert_eq!(moved, Err(Errno::PERM));
    for path in ["tests/a", "other/a.yaml", "tests/more/a"] {
        all.run(&write(path)).unwrap();
    }
}

#[test]
fn renaming_a_folder_of_ten_thousand_files_is_two_renames() {
    let mut all = Session::new();
    for at in 0..10_000 {
        fs::write(all.path("work").join(format!("d/e/{at}")), "").unwrap();
    }
    let folder = fs::metadata(all.path("work").join("d/e")).unwrap().ino();
    all.run(&Op::Rename("d/e", "c")).unwrap();
    assert_eq!(all.list_len("c"), 10_001);
    let changes = all.change_set();
    assert_eq!(changes.ops.len(), 2, "{changes:?}");
    let staging = all.overlay().take_staging().unwrap().unwrap();
    apply(&all.path("work"), &changes, staging.dir());
    assert_eq!(
        fs::metadata(all.path("work").join("c")).unwrap().ino(),
        folder
    );
    assert!(!all.path("work").join("d/e").exists());
}

impl Session {
    fn list_len(&mut self, path: &'static str) -> usize {
        self.run(&Op::List(path)).unwrap().split(", ").count()
    }
}
