//! What transactions use up: room of the workdir, and memory of the host.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::io::Errno;
use tempfile::TempDir;
use toolhost_contract::Limits;
use toolhost_contract::{DiskLimit, WorkdirAccess};
use toolhost_runtime::{ComponentId, Quota};

use crate::accounting::call_memory::CallMemory;
use crate::call::{CallFiles, Descriptor, FileAccess, FileMeter, OpenRequest};
use crate::workdir::staging::StagingRoot;
use crate::workdir::{
    CommitOptions, FileError, FileResult, Workdir, WorkdirUsages, WriteProtected,
};

/// A workdir, and calls that are transactions on it.
struct Site {
    top: TempDir,
    direct: Workdir,
    staging: StagingRoot,
    memory: Arc<Quota>,
}

impl Site {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("work")).unwrap();
        let usages = WorkdirUsages::default();
        Self {
            direct: Workdir::open_own(&top.path().join("work"), &usages).unwrap(),
            staging: StagingRoot::open(top.path()).unwrap(),
            memory: Arc::new(Quota::new(1 << 30, 3)),
            top,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("work").join(name)
    }

    /// A call, and the transaction that it is.
    fn call(&self, limits: Limits) -> Call {
        let workdir = self.direct.transactional(&self.staging).unwrap();
        self.call_in(workdir, limits)
    }

    fn call_in(&self, workdir: Workdir, limits: Limits) -> Call {
        let files = Arc::new(Quota::new(10_000, 3));
        let (all, attempts) = (Arc::clone(&self.memory), Arc::default());
        let memory = CallMemory::new(
            ComponentId(1),
            limits.memory_bytes,
            all,
            Arc::clone(&attempts),
        );
        let meter = FileMeter::new(ComponentId(1), limits, files, attempts);
        let files = CallFiles::new(
            Some(workdir.clone()),
            WorkdirAccess::ReadWrite,
            WriteProtected::default(),
            Arc::new(meter),
            &Arc::new(memory),
            None,
        );
        Call { workdir, files }
    }

    /// The files in all staging directories.
    fn staged(&self) -> usize {
        let dirs = fs::read_dir(self.staging.path()).unwrap();
        let dirs = dirs.map(|dir| dir.unwrap().path());
        let dirs = dirs.filter(|dir| !dir.ends_with("locks"));
        dirs.map(|dir| fs::read_dir(dir).unwrap().count()).sum()
    }
}

struct Call {
    workdir: Workdir,
    files: CallFiles,
}

impl Call {
    fn open(&self, path: &str, how: OFlags, write: bool) -> FileResult<Descriptor> {
        let request = OpenRequest {
            path,
            follow: OFlags::NOFOLLOW,
            how,
            access: FileAccess {
                read: !write,
                write,
                read_sync: false,
            },
        };
        self.files.open(&self.workdir.dir, &request)
    }

    fn write(&self, path: &str) -> Result<(), Errno> {
        let opened = self
            .open(path, OFlags::empty(), true)
            .map_err(FileError::errno)?;
        let written = opened.file_to_write().unwrap().write_at(b"x", 0);
        written.map_err(|error| Errno::from_io_error(&error).unwrap())
    }

    fn remove(&self, path: &str) -> Result<(), Errno> {
        let removed = self.files.remove_file(&self.workdir.dir, path);
        removed.map_err(FileError::errno)
    }

    fn commit(&self) {
        self.workdir.commit(&CommitOptions::default()).unwrap();
    }
}

#[test]
fn a_name_that_another_call_changes_is_not_made_before_that_is_counted() {
    let site = Site::new();
    fs::write(site.path("file"), "").unwrap();
    let mut call = site.call_in(site.direct.clone(), Limits::default());
    call.files.budget.ends = Some(Instant::now());
    let dir = &call.workdir.dir;
    let name = call.files.tree.name(dir, "f").unwrap();
    let moves_to = call.files.budget.lock([name.target().unwrap()]).unwrap();
    let made = || {
        let files = &call.files;
        [
            call.open("f", OFlags::CREATE, true).map(drop),
            files.create_dir(dir, "f"),
            files.create_symlink(dir, "f", "file"),
            files.hard_link((dir, "file"), (dir, "f")),
        ]
        .map(|result| result.map_err(FileError::errno))
    };
    assert_eq!(made(), [Err(Errno::BUSY); 4]);
    assert!(!site.path("f").exists());
    drop(moves_to);
    let exists = Err(Errno::EXIST);
    assert_eq!(made(), [Ok(()), exists, exists, exists]);
}

#[test]
fn what_calls_stage_counts_for_their_workdir_until_they_end() {
    const SIZE: usize = 1 << 20;
    let site = Site::new();
    for name in ["a", "b"] {
        fs::write(site.path(name), vec![1; SIZE]).unwrap();
    }
    // Room for one copy, and little more.
    let limits = || Limits {
        workdir_bytes: (SIZE + 1_000) as u64,
        ..Limits::default()
    };
    let [first, second] = [site.call(limits()), site.call(limits())];
    first.write("a").unwrap();
    // A second change of a file copies nothing.
    first.write("a").unwrap();
    for call in [&first, &second] {
        assert_eq!(call.write("b"), Err(Errno::NOSPC));
        let limit = call.files.meter().disk_limit();
        assert_eq!(limit, Some(DiskLimit::WorkdirBytes));
    }
    assert_eq!(site.staged(), 1);
    // What was dropped has gone, and what was committed is no copy any more.
    drop(first);
    second.write("b").unwrap();
    second.commit();
    site.call(limits()).write("a").unwrap();
    assert_eq!(fs::read(site.path("b")).unwrap()[0], b'x');
    assert_eq!(fs::read(site.path("a")).unwrap()[0], 1);
}

/// A workdir with empty files of these numbers, and a call that may use this memory.
fn with_files(files: usize, memory_bytes: u64) -> (Site, Call) {
    let site = Site::new();
    for number in 0..files {
        fs::write(site.path(&number.to_string()), "").unwrap();
    }
    let limits = Limits {
        memory_bytes,
        ..Limits::default()
    };
    let call = site.call(limits);
    (site, call)
}

#[test]
fn what_a_transaction_holds_counts_as_memory_of_its_call() {
    const MEMORY: u64 = 1 << 20;
    let (site, call) = with_files(1_000, MEMORY);
    let removed = (0..1_000).take_while(|name| call.remove(&name.to_string()).is_ok());
    let removed = removed.count();
    assert!((500..999).contains(&removed), "{removed}");
    assert_eq!(call.remove("999"), Err(Errno::NOMEM));
    let held = site.memory.held();
    assert!((MEMORY / 2..=MEMORY).contains(&held), "{held}");
    assert!(call.files.meter().attempts.was_memory_refused_last());
    // What fits is committed, and then nothing is held.
    call.commit();
    drop(call);
    assert_eq!(site.memory.held(), 0);
    let left = fs::read_dir(site.path(".")).unwrap().count();
    assert_eq!(left, 1_000 - removed);
}

#[test]
fn files_that_a_transaction_has_read_count_as_memory_of_its_call() {
    let (site, call) = with_files(1_000, 256 << 10);
    let read = (0..1_000).take_while(|name| {
        let opened = call.open(&name.to_string(), OFlags::empty(), false);
        match opened {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.errno(), Errno::NOMEM);
                false
            }
        }
    });
    let read = read.count();
    assert!((100..999).contains(&read), "{read}");
    drop(call);
    assert_eq!(site.memory.held(), 0);
}

#[test]
fn listings_between_two_changes_share_what_they_hold() {
    let (site, call) = with_files(1_000, 64 << 20);
    for name in 0..900 {
        call.remove(&name.to_string()).unwrap();
    }
    let list = || call.files.list(&call.workdir.dir).unwrap();
    let before = site.memory.held();
    let first = list();
    let of_one = site.memory.held() - before;
    assert!(of_one > 900 * 24);
    let listings: Vec<_> = (0..20).map(|_| list()).collect();
    assert_eq!(site.memory.held(), before + of_one);
    call.remove("900").unwrap();
    let mut later = list();
    assert!(site.memory.held() >= before + 2 * of_one);
    let mut names = 0;
    while later.next_entry().unwrap().is_some() {
        names += 1;
    }
    assert_eq!(names, 99);
    drop((first, listings, later));
    assert!(site.memory.held() < before + of_one);
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() << 10
}

/// Changes and commits files at long paths, and returns how many bytes were counted for that.
fn counted(files: u64, change: impl Fn(&Call, &str)) -> u64 {
    let site = Site::new();
    let call = site.call(Limits::default());
    let dir = &call.workdir.dir;
    let deep = vec!["d".repeat(220); 16].join("/");
    dir.create_dir_all(&deep).unwrap();
    let folder = dir.open_dir(&deep).unwrap();
    for file in 0..files {
        folder.create(file.to_string()).unwrap();
    }
    for file in 0..files {
        change(&call, &format!("{deep}/{file}"));
    }
    call.commit();
    site.memory.held()
}

/// The process may need what is counted for thousands of files, and little more. The test has a process of its own,
/// which other tests would disturb.
fn check_memory(test: &str, change: impl Fn(&Call, &str)) {
    const FILES: u64 = 4_000;
    const REST: u64 = 1 << 20;
    if !std::env::args().any(|arg| arg == "--exact") {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        let test_run = alone.args([&format!("call::tests::limits::{test}"), "--exact"]);
        let test_run = test_run.output().unwrap();
        let output = String::from_utf8_lossy(&test_run.stdout);
        assert!(
            test_run.status.success() && output.contains("1 passed"),
            "{output}"
        );
        return;
    }
    // So that the code is in memory.
    counted(100, &change);
    let before = peak();
    let counted = counted(FILES, change);
    let needed = peak() - before;
    println!("{needed} bytes were needed, and {counted} counted");
    assert!(counted > FILES * 512, "{counted}");
    assert!(needed < counted + REST, "{needed} of {counted}");
}

#[test]
fn removing_thousands_of_files_needs_no_more_memory_than_is_counted() {
    check_memory(
        "removing_thousands_of_files_needs_no_more_memory_than_is_counted",
        |call, path| call.remove(path).unwrap(),
    );
}

#[test]
fn renaming_thousands_of_files_needs_no_more_memory_than_is_counted() {
    check_memory(
        "renaming_thousands_of_files_needs_no_more_memory_than_is_counted",
        |call, path| {
            let (dir, to) = (&call.workdir.dir, format!("{path}-moved"));
            call.files.rename((dir, path), (dir, &to)).unwrap();
        },
    );
}

#[test]
fn reading_thousands_of_files_needs_no_more_memory_than_is_counted() {
    check_memory(
        "reading_thousands_of_files_needs_no_more_memory_than_is_counted",
        |call, path| {
            drop(call.open(path, OFlags::empty(), false).unwrap());
            if path.ends_with("/0") {
                // So that there is something to commit.
                call.files.create_dir(&call.workdir.dir, "new").unwrap();
            }
        },
    );
}
