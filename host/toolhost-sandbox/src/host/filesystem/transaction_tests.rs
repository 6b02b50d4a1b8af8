//! Random sessions in a transaction, beside system calls of the host in a twin directory: each step must have the
//! same result, the workdir must be untouched meanwhile, and the renames of the commit must make it the twin.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;
use toolhost_contract::{NameChange, Protected, WorkdirAccess};
use toolhost_runtime::{BlockingPool, ComponentId, Quota};

use super::context::Filesystem;
use super::descriptor::Descriptor;
use super::error::FsError;
use super::listing::{ListedType, Listing};
use super::meter::FileMeter;
use crate::Limits;
use crate::accounting::call_memory::CallMemory;
use crate::host::bindings::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use crate::workdir::staging::{ChangeSet, CommitClock, RenameOp, StagingRoot};
use crate::workdir::{
    FileKind, FreedSpace, OverlayError, Workdir, WorkdirUsage, WorkdirUsages, WriteProtected,
    file_id,
};

/// A workdir, a transaction on it, and a twin of the workdir.
struct Session {
    top: TempDir,
    direct: Workdir,
    fs: Filesystem,
    root: Arc<Dir>,
    /// Files and directories that stay open, with those of the twin.
    held: [Option<(Descriptor, File)>; 2],
    threads: tokio::runtime::Runtime,
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
        for name in ["work", "twin"] {
            fs::create_dir(top.path().join(name)).unwrap();
            furnish(&top.path().join(name));
        }
        let staging = StagingRoot::open(top.path()).unwrap();
        let usages = WorkdirUsages::default();
        let direct = Workdir::open_own(&top.path().join("work"), &usages).unwrap();
        let workdir = direct.transactional(&staging).unwrap();
        let threads = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        Self {
            top,
            root: Arc::clone(&workdir.dir),
            fs: filesystem(workdir, WriteProtected::default(), &threads),
            direct,
            held: [None, None],
            threads,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }
}

fn filesystem(
    workdir: Workdir,
    protected: WriteProtected,
    threads: &tokio::runtime::Runtime,
) -> Filesystem {
    let limits = Limits {
        open_files: 10_000,
        ..Limits::default()
    };
    let files = Arc::new(Quota::new(10_000, 3));
    let (all, attempts) = (Arc::new(Quota::new(1 << 30, 3)), Arc::default());
    let memory = CallMemory::new(
        ComponentId(1),
        limits.memory_bytes,
        all,
        Arc::clone(&attempts),
    );
    let meter = Arc::new(FileMeter::new(ComponentId(1), limits, files, attempts));
    Filesystem::new(
        Some(workdir),
        WorkdirAccess::ReadWrite,
        protected,
        meter,
        &Arc::new(memory),
        BlockingPool::new(threads.handle().clone()),
        None,
    )
}

/// Few names, so that the steps of a session use the same files.
const PATHS: [&str; 26] = [
    "a", "b", "c", "d", "l", "f", "d/a", "d/b", "d/m", "d/e", "d/e/a", "l/a", "l/b", "f/b", "f/d",
    "f/d/a", "b/d", "b/c", "a/", "d/", "l/", "new/", "./a", "d/../a", "d/.", "",
];
const TARGETS: [&str; 7] = ["a", "b", "d", "l", "f", "d/a", "nothing"];
const TEXT: &str = "text";

#[derive(Debug, Clone)]
enum Op {
    Write(&'static str, OFlags, bool, u64),
    Cut(&'static str, u64),
    Read(&'static str, bool),
    Stat(&'static str, bool),
    List(&'static str),
    ReadLink(&'static str),
    MakeDir(&'static str),
    RemoveDir(&'static str),
    Unlink(&'static str),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
    Symlink(&'static str, &'static str),
    /// Keeps a file or directory open.
    Hold(usize, &'static str, bool),
    WriteHeld(usize, u64),
    CutHeld(usize, u64),
    ReadHeld(usize),
    StatHeld(usize),
    /// Lists, or creates in, a directory that is open.
    ListHeld(usize),
    CreateHeld(usize, &'static str),
}

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

fn errno(error: FsError) -> Errno {
    error.errno().unwrap()
}

fn kind_name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "dir"
    } else if kind.is_symlink() {
        "link"
    } else {
        "file"
    }
}

fn stat_text(metadata: &cap_std::fs::Metadata, links: u64) -> String {
    if metadata.is_dir() {
        return format!("dir {links}");
    }
    let kind = if metadata.is_symlink() {
        "link"
    } else {
        "file"
    };
    format!("{kind} {links} {}", metadata.len())
}

impl Session {
    fn open(
        &self,
        dir: &Dir,
        path: &str,
        how: OFlags,
        follow: bool,
        flags: DescriptorFlags,
    ) -> Result<Descriptor, Errno> {
        let names = [
            (OFlags::CREATE, OpenFlags::CREATE),
            (OFlags::EXCL, OpenFlags::EXCLUSIVE),
            (OFlags::TRUNC, OpenFlags::TRUNCATE),
            (OFlags::DIRECTORY, OpenFlags::DIRECTORY),
        ];
        let set = names.iter().filter(|(flag, _)| how.contains(*flag));
        let how = set.fold(OpenFlags::empty(), |all, (_, flag)| all | *flag);
        let path_flags = if follow {
            PathFlags::SYMLINK_FOLLOW
        } else {
            PathFlags::empty()
        };
        let opened = self.fs.open(dir, path_flags, path, how, flags);
        opened.map_err(errno)
    }

    fn list(&self, dir: &Dir) -> Result<String, Errno> {
        let overlay = self.fs.merged().map(|overlay| &**overlay);
        let mut listing = Listing::new(dir, overlay, &self.fs.budget).map_err(errno)?;
        let mut names = Vec::new();
        while let Some((kind, name)) = listing.next().map_err(errno)? {
            let kind = match kind {
                ListedType::Own(kind) if kind.is_dir() => "dir",
                ListedType::Own(kind) if kind.is_symlink() => "link",
                ListedType::Merged(FileKind::Dir) => "dir",
                ListedType::Merged(FileKind::Link) => "link",
                ListedType::Own(_) | ListedType::Merged(_) => "file",
            };
            names.push(format!("{name} {kind}"));
        }
        names.sort();
        Ok(names.join(", "))
    }

    fn stat(&self, path: &str, follow: bool) -> Result<String, Errno> {
        let flags = if follow {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        let found = self.fs.metadata(&self.root, path, flags).map_err(errno)?;
        Ok(stat_text(&found, self.fs.links(&found)?))
    }

    /// Performs an operation in the transaction.
    fn run(&mut self, op: &Op) -> Result<String, Errno> {
        let root = Arc::clone(&self.root);
        let fs = &self.fs;
        let entry = |path| fs.entry_to_change(&root, path).map_err(errno);
        match *op {
            Op::Write(path, how, follow, at) => {
                let opened = self.open(&root, path, how, follow, DescriptorFlags::WRITE)?;
                opened
                    .file()
                    .map_err(errno)?
                    .write_at(TEXT.as_bytes(), at)
                    .unwrap();
            }
            Op::Cut(path, size) => {
                let none = OFlags::empty();
                let opened = self.open(&root, path, none, true, DescriptorFlags::WRITE)?;
                opened.file().map_err(errno)?.set_size(size).unwrap();
            }
            Op::Read(path, follow) => {
                let none = OFlags::empty();
                let opened = self.open(&root, path, none, follow, DescriptorFlags::READ)?;
                let Ok(file) = opened.file() else {
                    return Ok(String::new());
                };
                return Ok(String::from_utf8_lossy(&file.read_at(999, 0).unwrap()).into());
            }
            Op::Stat(path, follow) => return self.stat(path, follow),
            Op::List(path) => {
                let dir = OFlags::DIRECTORY;
                let opened = self.open(&root, path, dir, true, DescriptorFlags::READ)?;
                return self.list(opened.dir().map_err(errno)?);
            }
            Op::ReadLink(path) => {
                let entry = fs.entry(&root, path).map_err(errno)?;
                let link = entry.open().map_err(errno)?.ok_or(Errno::NOENT)?;
                if !link.metadata.is_symlink() {
                    return Err(Errno::INVAL);
                }
                let target = entry.read_link().map_err(errno)?;
                return Ok(String::from_utf8(target).unwrap());
            }
            Op::MakeDir(path) => {
                let entry = entry(path)?;
                fs.budget.create(|| entry.create_dir())?;
            }
            Op::RemoveDir(path) => entry(path)?.remove_dir()?,
            Op::Unlink(path) => entry(path)?.remove_file()?,
            Op::Rename(path, to) => {
                let (from, to) = (entry(path)?, entry(to)?);
                from.rename(&to)?;
            }
            Op::Link(path, to) => {
                let (from, to) = (entry(path)?, entry(to)?);
                let linked = from.open().map_err(errno)?.ok_or(Errno::NOENT)?;
                if linked.metadata.is_dir() {
                    return Err(Errno::PERM);
                }
                from.hard_link(&to, &|_| Ok(()))?;
            }
            Op::Symlink(target, path) => entry(path)?.create_symlink(target)?,
            Op::Hold(slot, path, write) => {
                let flags = if write {
                    DescriptorFlags::WRITE | DescriptorFlags::READ
                } else {
                    DescriptorFlags::READ
                };
                let twin = File::open(self.path("twin")).unwrap();
                let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
                let twin = rustix::fs::openat(&twin, path, access, Mode::empty());
                let opened = self.open(&root, path, OFlags::empty(), true, flags);
                if let (Ok(opened), Ok(twin)) = (opened, twin) {
                    self.held[slot] = Some((opened, twin.into()));
                }
            }
            Op::WriteHeld(slot, at) => {
                if let Some((Descriptor::File(file), _)) = &self.held[slot]
                    && file.access.write
                {
                    file.write_at(TEXT.as_bytes(), at).unwrap();
                }
            }
            Op::CutHeld(slot, size) => {
                if let Some((Descriptor::File(file), _)) = &self.held[slot]
                    && file.access.write
                {
                    file.set_size(size).unwrap();
                }
            }
            Op::ReadHeld(slot) => {
                if let Some((Descriptor::File(file), _)) = &self.held[slot] {
                    return Ok(String::from_utf8_lossy(&file.read_at(999, 0).unwrap()).into());
                }
            }
            Op::StatHeld(slot) => {
                if let Some((held, _)) = &self.held[slot] {
                    let metadata = held.metadata().unwrap();
                    let links = match held {
                        Descriptor::File(file) => file.file.links(&metadata)?,
                        Descriptor::Dir { .. } => self.fs.links(&metadata)?,
                    };
                    return Ok(stat_text(&metadata, links));
                }
            }
            Op::ListHeld(slot) => {
                if let Some((Descriptor::Dir { dir, .. }, _)) = &self.held[slot] {
                    return self.list(dir);
                }
            }
            Op::CreateHeld(slot, path) => {
                if let Some((Descriptor::Dir { dir, .. }, _)) = &self.held[slot] {
                    let how = OFlags::CREATE | OFlags::EXCL;
                    self.open(dir, path, how, false, DescriptorFlags::WRITE)?;
                }
            }
        }
        Ok(String::new())
    }

    /// Performs it with system calls of the host.
    fn run_twin(&self, op: &Op) -> Result<String, Errno> {
        let twin = File::open(self.path("twin")).unwrap();
        let mode = Mode::from_raw_mode(0o777);
        let open = |dir: &File, path: &str, how: OFlags, follow: bool| {
            let nofollow = if follow {
                OFlags::empty()
            } else {
                OFlags::NOFOLLOW
            };
            rustix::fs::openat(dir, path, how | nofollow, mode).map(File::from)
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
            Op::MakeDir(path) => rustix::fs::mkdirat(&twin, path, mode)?,
            Op::RemoveDir(path) => rustix::fs::unlinkat(&twin, path, AtFlags::REMOVEDIR)?,
            Op::Unlink(path) => rustix::fs::unlinkat(&twin, path, AtFlags::empty())?,
            Op::Rename(path, to) => rustix::fs::renameat(&twin, path, &twin, to)?,
            Op::Link(path, to) => rustix::fs::linkat(&twin, path, &twin, to, AtFlags::empty())?,
            Op::Symlink(target, path) => rustix::fs::symlinkat(target, &twin, path)?,
            Op::Hold(..) => {}
            Op::WriteHeld(slot, at) => {
                if let Some((Descriptor::File(file), twin)) = &self.held[slot]
                    && file.access.write
                {
                    twin.write_all_at(TEXT.as_bytes(), at).unwrap();
                }
            }
            Op::CutHeld(slot, size) => {
                if let Some((Descriptor::File(file), twin)) = &self.held[slot]
                    && file.access.write
                {
                    twin.set_len(size).unwrap();
                }
            }
            Op::ReadHeld(slot) => {
                if let Some((Descriptor::File(_), twin)) = &self.held[slot] {
                    return Ok(read(twin));
                }
            }
            Op::StatHeld(slot) => {
                if let Some((_, twin)) = &self.held[slot] {
                    return Ok(stat(twin));
                }
            }
            Op::ListHeld(slot) => {
                if let Some((Descriptor::Dir { .. }, twin)) = &self.held[slot] {
                    return list(twin);
                }
            }
            Op::CreateHeld(slot, path) => {
                if let Some((Descriptor::Dir { .. }, twin)) = &self.held[slot] {
                    let how = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
                    open(twin, path, how, false)?;
                }
            }
        }
        Ok(String::new())
    }

    fn change_set(&self) -> ChangeSet {
        let clock = CommitClock::start(std::time::Duration::MAX);
        self.fs.overlay().unwrap().change_set(&clock).unwrap()
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

/// Returns all entries beneath a directory, with their contents, and without times and inodes.
fn tree(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let contents = match metadata.file_type() {
                kind if kind.is_symlink() => format!("-> {:?}", fs::read_link(&path).unwrap()),
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    String::new()
                }
                _ => format!("{:?} of {}", fs::read(&path).unwrap(), metadata.nlink()),
            };
            found.insert(path.strip_prefix(top).unwrap().to_owned(), contents);
        }
    }
    found
}

fn check(session: &[Op], succeeded: &Cell<usize>) -> Result<(), TestCaseError> {
    let mut all = Session::new();
    let before = tree(&all.path("work"));
    for op in session {
        let twin = all.run_twin(op);
        let result = all.run(op);
        succeeded.set(succeeded.get() + usize::from(result.is_ok()));
        match (&result, &twin) {
            (Err(_), Err(_)) => {}
            _ => prop_assert_eq!(&result, &twin, "{:?}", op),
        }
    }
    prop_assert_eq!(tree(&all.path("work")), before, "the workdir is untouched");
    let changes = all.change_set();
    let overlay = all.fs.overlay().unwrap();
    if let Some(staging) = overlay.take_staging().unwrap() {
        apply(&all.path("work"), &changes, staging.dir());
    }
    prop_assert_eq!(
        tree(&all.path("work")),
        tree(&all.path("twin")),
        "{:#?}",
        changes
    );
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
    let usage = &all.fs.budget.usage;
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
    all.held = [None, None];
    all.fs.root = None;
    all.fs.budget.usage = WorkdirUsage::default();
    assert_eq!(tree(&all.path("work")), before, "the workdir is untouched");
    assert!(!direct.usage.grow(1, 0) && direct.usage.grow(1, 1));
    let staged = fs::read_dir(all.path("staging")).unwrap();
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
    let overlay = Arc::clone(all.fs.overlay().unwrap());
    let found = overlay.find(&all.root, "a", OFlags::empty()).unwrap();
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
            overlay.copy_found(&found, &hang)
        });
        hanging.recv().unwrap();
        let root = &all.root;
        let waits = scope.spawn(move || patient.find(root, "b", OFlags::empty()).err());
        let found = late.find(&all.root, "b", OFlags::empty()).err();
        assert_eq!(found, Some(OverlayError::Errno(Errno::BUSY)));
        let made = late.create_dir(&all.root, "c", Mode::RWXU);
        assert_eq!(made, Err(Errno::BUSY));
        end.send(()).unwrap();
        assert!(copied.join().unwrap().unwrap().is_some());
        // It waited longer than the others.
        assert_eq!(waits.join().unwrap(), None);
    });
    assert!(late.find(&all.root, "b", OFlags::empty()).is_ok());
    let missing = late.find(&all.root, "c", OFlags::empty()).err();
    assert_eq!(missing, Some(OverlayError::Errno(Errno::NOENT)));
}

#[test]
fn a_case_file_cannot_be_made_in_a_folder_that_the_transaction_has_made() {
    let mut all = Session::new();
    let bundle = file_id(&all.root.dir_metadata().unwrap());
    let mut protected = Protected::default();
    protected.add_bundle_dir(bundle);
    let workdir = all.fs.root.take().unwrap();
    let protected = WriteProtected::refreshed_by(move || Some(vec![Arc::new(protected.clone())]));
    all.fs = filesystem(workdir, protected, &all.threads);
    let change = |all: &Session, path: &str, change| {
        let entry = all.fs.entry_to_change(&all.root, path).unwrap();
        all.fs.check_name(&entry, change).map_err(errno)
    };
    change(&all, "tests", NameChange::NewFolder).unwrap();
    for folder in ["tests", "tests/more", "other"] {
        let entry = all.fs.entry_to_change(&all.root, folder).unwrap();
        entry.create_dir().unwrap();
    }
    for path in ["tests/a.yaml", "tests/more/a.yml"] {
        let made = change(&all, path, NameChange::File);
        assert_eq!(made, Err(Errno::PERM), "{path}");
    }
    let moved = change(&all, "tests/moved", NameChange::FolderOrLink);
    assert_eq!(moved, Err(Errno::PERM));
    for path in ["tests/a", "other/a.yaml", "tests/more/a"] {
        change(&all, path, NameChange::File).unwrap();
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
    let staging = all.fs.overlay().unwrap().take_staging().unwrap().unwrap();
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
