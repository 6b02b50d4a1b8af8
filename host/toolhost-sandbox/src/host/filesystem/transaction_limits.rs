//! What transactions use up: room of the workdir.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use toolhost_contract::{DiskLimit, WorkdirAccess};
use toolhost_system::io::Errno;

use super::context::Filesystem;
use super::descriptor::Descriptor;
use super::error::FsResult;
use crate::Limits;
use crate::accounting::meter::Meter;
use crate::accounting::quota::Quota;
use crate::component_id::ComponentId;
use crate::host::bindings::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use crate::scheduler::blocking::BlockingPool;
use crate::workdir::staging::StagingRoot;
use crate::workdir::{CommitOptions, Workdir, WorkdirUsages, WriteProtected};

/// A workdir, and calls that are transactions on it.
struct Site {
    top: TempDir,
    direct: Workdir,
    staging: StagingRoot,
    threads: tokio::runtime::Runtime,
}

impl Site {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("work")).unwrap();
        let usages = WorkdirUsages::default();
        Self {
            direct: Workdir::open_own(&top.path().join("work"), &usages).unwrap(),
            staging: StagingRoot::open(top.path()).unwrap(),
            threads: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
            top,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("work").join(name)
    }

    fn call(&self, limits: Limits) -> Filesystem {
        let files = Arc::new(Quota::new(10_000, 3));
        Filesystem::new(
            Some(self.direct.transactional(&self.staging).unwrap()),
            WorkdirAccess::ReadWrite,
            WriteProtected::default(),
            Arc::new(Meter::new(limits, ComponentId(1), files)),
            BlockingPool::new(self.threads.handle().clone()),
        )
    }

    /// The files in all staging directories.
    fn staged(&self) -> usize {
        let dirs = fs::read_dir(self.staging.path()).unwrap();
        let dirs = dirs.map(|dir| dir.unwrap().path());
        let dirs = dirs.filter(|dir| !dir.ends_with("locks"));
        dirs.map(|dir| fs::read_dir(dir).unwrap().count()).sum()
    }
}

fn open(call: &Filesystem, path: &str, flags: DescriptorFlags) -> FsResult<Descriptor> {
    let dir = Arc::clone(&call.root.as_ref().unwrap().dir);
    let (follow, how) = (PathFlags::empty(), OpenFlags::empty());
    call.open(&dir, follow, path, how, flags)
}

fn write(call: &Filesystem, path: &str) -> Result<(), Errno> {
    let opened = open(call, path, DescriptorFlags::WRITE);
    let opened = opened.map_err(|error| error.errno().unwrap())?;
    let file = Arc::clone(opened.file_to_write().unwrap());
    let written = file.write_at(b"x", 0);
    written.map_err(|error| Errno::from_io_error(&error).unwrap())
}

#[test]
fn what_calls_stage_counts_for_their_workdir_until_they_end() {
    const SIZE: usize = 1 << 20;
    let site = Site::new();
    for name in ["a", "b"] {
        fs::write(site.path(name), vec![1; SIZE]).unwrap();
    }
    // Room for one copy, with its name, and nothing more.
    let limits = || Limits {
        workdir_bytes: (SIZE + (6 << 10)) as u64,
        ..Limits::default()
    };
    let [first, second] = [site.call(limits()), site.call(limits())];
    write(&first, "a").unwrap();
    // A second change of a file copies nothing.
    write(&first, "a").unwrap();
    for call in [&first, &second] {
        assert_eq!(write(call, "b"), Err(Errno::NOSPC));
        let limit = call.budget.meter.disk_limit();
        assert_eq!(limit, Some(DiskLimit::WorkdirBytes));
    }
    assert_eq!(site.staged(), 1);
    // What was dropped has gone, and what was committed is no copy any more.
    drop(first);
    write(&second, "b").unwrap();
    let root = second.root.as_ref().unwrap();
    root.commit(&CommitOptions::default()).unwrap();
    write(&site.call(limits()), "a").unwrap();
    assert_eq!(fs::read(site.path("b")).unwrap()[0], b'x');
    assert_eq!(fs::read(site.path("a")).unwrap()[0], 1);
}

#[test]
fn copies_of_empty_files_count_as_names() {
    let site = Site::new();
    for number in 0..8 {
        fs::write(site.path(&number.to_string()), "").unwrap();
    }
    let call = site.call(Limits {
        disk_bytes: 5 * (4 << 10),
        ..Limits::default()
    });
    let copied = (0..8).filter(|number| {
        let opened = open(&call, &number.to_string(), DescriptorFlags::WRITE);
        opened.unwrap().file_to_write().unwrap().copy_up(0).is_ok()
    });
    assert_eq!(copied.count(), 5);
    assert_eq!(site.staged(), 5);
}
