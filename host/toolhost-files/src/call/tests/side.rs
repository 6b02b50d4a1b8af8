//! One call, and operations of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::{FileType, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use toolhost_contract::{Limits, WorkdirAccess};
use toolhost_runtime::{ComponentId, Quota};

use crate::accounting::call_memory::CallMemory;
use crate::call::{CallFiles, Descriptor, FileAccess, FileMeter, OpenFile, OpenRequest};
use crate::workdir::{FileError, FileResult, Workdir, WriteProtected};

pub(super) const TEXT: &str = "text";

#[derive(Debug, Clone)]
pub(super) enum Op {
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
    /// Sets the times of a file.
    Times(&'static str, bool),
    /// Reads, or sets, permissions.
    ModeOf(&'static str, bool),
    Mode(&'static str, u32),
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

/// One call, and what it keeps open.
pub(super) struct Side {
    pub(super) files: CallFiles,
    pub(super) root: Arc<Dir>,
    pub(super) held: [Option<Descriptor>; 2],
}

impl Side {
    pub(super) fn new(workdir: &Workdir, granted: Granted) -> Self {
        Self {
            files: files(workdir, granted),
            root: Arc::clone(&workdir.dir),
            held: [None, None],
        }
    }
}

/// What a call is granted.
pub(super) struct Granted {
    pub(super) access: WorkdirAccess,
    pub(super) protected: WriteProtected,
    pub(super) limits: Limits,
    /// Whether the guest cannot set permissions.
    pub(super) keeps_modes: bool,
}

impl Default for Granted {
    fn default() -> Self {
        Self {
            access: WorkdirAccess::ReadWrite,
            protected: WriteProtected::default(),
            limits: Limits {
                open_files: 10_000,
                ..Limits::default()
            },
            keeps_modes: false,
        }
    }
}

fn files(workdir: &Workdir, granted: Granted) -> CallFiles {
    let limits = granted.limits;
    let files = Arc::new(Quota::new(10_000, 3));
    let (all, attempts) = (Arc::new(Quota::new(1 << 30, 3)), Arc::default());
    let memory = CallMemory::new(
        ComponentId(1),
        limits.memory_bytes,
        all,
        Arc::clone(&attempts),
    );
    let meter = Arc::new(FileMeter::new(ComponentId(1), limits, files, attempts));
    let files = CallFiles::new(
        Some(workdir.clone()),
        granted.access,
        granted.protected,
        meter,
        &Arc::new(memory),
        None,
    );
    if granted.keeps_modes {
        files.keep_modes()
    } else {
        files
    }
}

pub(super) fn kind_name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "dir"
    } else if kind.is_symlink() {
        "link"
    } else {
        "file"
    }
}

pub(super) fn stat_text(metadata: &cap_std::fs::Metadata, links: u64) -> String {
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

pub(super) fn no_follow(follow: bool) -> OFlags {
    if follow {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    }
}

fn text(file: &OpenFile) -> String {
    String::from_utf8_lossy(&file.read_at(999, 0).unwrap()).into()
}

const READ: (bool, bool) = (true, false);
const WRITE: (bool, bool) = (false, true);

impl Side {
    fn open(
        &self,
        dir: &Dir,
        path: &str,
        how: OFlags,
        follow: bool,
        (read, write): (bool, bool),
    ) -> Result<Descriptor, Errno> {
        let request = OpenRequest {
            path,
            follow: no_follow(follow),
            how,
            access: FileAccess {
                read,
                write,
                read_sync: false,
            },
        };
        self.files.open(dir, &request).map_err(FileError::errno)
    }

    fn list(&self, dir: &Dir) -> Result<String, Errno> {
        let mut listing = self.files.list(dir).map_err(FileError::errno)?;
        let mut names = Vec::new();
        while let Some((kind, name)) = listing.next_entry().map_err(FileError::errno)? {
            names.push(format!("{name} {}", kind_name(kind)));
        }
        names.sort();
        Ok(names.join(", "))
    }

    pub(super) fn run(&mut self, op: &Op) -> Result<String, Errno> {
        self.perform(op).map_err(FileError::errno)
    }

    fn perform(&mut self, op: &Op) -> FileResult<String> {
        let root = Arc::clone(&self.root);
        let (files, none) = (&self.files, OFlags::empty());
        match *op {
            Op::Write(path, how, follow, at) => {
                let opened = self.open(&root, path, how, follow, WRITE)?;
                opened.file()?.write_at(TEXT.as_bytes(), at)?;
            }
            Op::Cut(path, size) => {
                let opened = self.open(&root, path, none, true, WRITE)?;
                opened.file()?.set_size(size)?;
            }
            Op::Read(path, follow) => {
                let opened = self.open(&root, path, none, follow, READ)?;
                return Ok(opened
                    .file()
                    .map_or_else(|_| String::new(), |file| text(file)));
            }
            Op::Stat(path, follow) => {
                let found = files.metadata(&root, path, no_follow(follow))?;
                return Ok(stat_text(&found, files.links(&found)?));
            }
            Op::List(path) => {
                let opened = self.open(&root, path, OFlags::DIRECTORY, true, READ)?;
                return Ok(self.list(opened.dir()?)?);
            }
            Op::ReadLink(path) => return files.read_link(&root, path),
            Op::MakeDir(path) => files.create_dir(&root, path)?,
            Op::RemoveDir(path) => files.remove_dir(&root, path)?,
            Op::Unlink(path) => files.remove_file(&root, path)?,
            Op::Rename(path, to) => files.rename((&root, path), (&root, to))?,
            Op::Link(path, to) => files.hard_link((&root, path), (&root, to))?,
            Op::Symlink(target, path) => files.create_symlink(&root, path, target)?,
            Op::Times(path, follow) => {
                let second = Timespec {
                    tv_sec: 1,
                    tv_nsec: 0,
                };
                let times = Timestamps {
                    last_access: second,
                    last_modification: second,
                };
                files.set_times(&root, path, no_follow(follow), &times)?;
            }
            Op::ModeOf(path, follow) => {
                return Ok(format!("{:o}", files.mode(path, no_follow(follow))?));
            }
            Op::Mode(path, mode) => files.set_mode(path, mode)?,
            Op::Hold(slot, path, write) => {
                self.held[slot] = Some(self.open(&root, path, none, true, (true, write))?);
            }
            Op::WriteHeld(slot, at) => {
                if let Some(Descriptor::File(file)) = &self.held[slot]
                    && file.access.write
                {
                    file.write_at(TEXT.as_bytes(), at).unwrap();
                }
            }
            Op::CutHeld(slot, size) => {
                if let Some(Descriptor::File(file)) = &self.held[slot]
                    && file.access.write
                {
                    file.set_size(size).unwrap();
                }
            }
            Op::ReadHeld(slot) => {
                if let Some(Descriptor::File(file)) = &self.held[slot] {
                    return Ok(text(file));
                }
            }
            Op::StatHeld(slot) => {
                if let Some(held) = &self.held[slot] {
                    let metadata = held.metadata().unwrap();
                    return Ok(stat_text(&metadata, files.open_links(held, &metadata)?));
                }
            }
            Op::ListHeld(slot) => {
                if let Some(Descriptor::Dir { dir, .. }) = &self.held[slot] {
                    return Ok(self.list(dir)?);
                }
            }
            Op::CreateHeld(slot, path) => {
                if let Some(Descriptor::Dir { dir, .. }) = &self.held[slot] {
                    let how = OFlags::CREATE | OFlags::EXCL;
                    self.open(dir, path, how, false, WRITE)?;
                }
            }
        }
        Ok(String::new())
    }
}

/// Returns all entries beneath a directory, with their contents and modes, and without times and inodes.
pub(super) fn tree(top: &Path) -> BTreeMap<PathBuf, String> {
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
                kind if kind.is_fifo() => "pipe".to_owned(),
                _ => format!("{:?} of {}", fs::read(&path).unwrap(), metadata.nlink()),
            };
            let is_set = metadata.mtime() == 1;
            let mode = metadata.mode();
            let contents = format!(
                "{contents} {mode:o}{}",
                if is_set { ", times set" } else { "" }
            );
            found.insert(path.strip_prefix(top).unwrap().to_owned(), contents);
        }
    }
    found
}
