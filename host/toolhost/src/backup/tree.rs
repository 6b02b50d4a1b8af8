//! Copies files and folders that may be exchanged meanwhile: what lies in the workspaces is the tools'.

use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, mkdirat, openat, readlinkat, statat,
    symlinkat,
};
use rustix::io::Errno;

/// Most folders within each other: each takes a descriptor.
const DEPTH_MAX: usize = 500;

/// Most paths that are listed as left out.
const SKIPPED_MAX: usize = 100;

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// Files, without the databases.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Databases.
    pub databases: u64,
    /// The first 100 paths that were not copied: those of sockets, pipes and devices, those that cannot be read, and those
    /// beneath 500 folders. Relative to the state root.
    pub skipped: Vec<PathBuf>,
}

/// A copy that is being made.
pub(super) struct Copy {
    to: OwnedFd,
    /// The path from the state root.
    path: PathBuf,
    depth: usize,
    pub(super) done: Backup,
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Copy {
    pub(super) fn new(to: &Path) -> io::Result<Self> {
        Ok(Self {
            to: openat(CWD, to, DIRECTORY, Mode::empty())?,
            path: PathBuf::new(),
            depth: 0,
            done: Backup::default(),
        })
    }

    /// Copies an entry of a directory, if it is there. Follows no link. One that is there already is replaced if it is a
    /// file of another size or time.
    ///
    /// # Errors
    /// Those of writing. What cannot be read is left out.
    pub(super) fn entry(&mut self, from: impl AsFd, name: &Path) -> io::Result<()> {
        self.path.push(name);
        let copied = self.copied(from, name);
        let skips = match copied {
            Ok(done) => !done,
            Err(error) if is_of_source(&error) => true,
            Err(error) => return Err(error),
        };
        if skips && self.done.skipped.len() < SKIPPED_MAX {
            self.done.skipped.push(self.path.clone());
        }
        self.path.pop();
        Ok(())
    }

    /// Returns false if the entry is left out.
    fn copied(&mut self, from: impl AsFd, name: &Path) -> io::Result<bool> {
        let from = from.as_fd();
        let stat = match statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(true),
            stat => stat.map_err(of_source)?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if self.depth == DEPTH_MAX => Ok(false),
            FileType::Directory => {
                let from = match openat(from, name, DIRECTORY, Mode::empty()) {
                    Err(Errno::NOENT) => return Ok(true),
                    dir => dir.map_err(of_source)?,
                };
                match mkdirat(&self.to, name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                let within = openat(&self.to, name, DIRECTORY, Mode::empty())?;
                let above = std::mem::replace(&mut self.to, within);
                self.depth += 1;
                let copied = self.entries(&from);
                self.depth -= 1;
                let within = std::mem::replace(&mut self.to, above);
                copied?;
                // Last: one that nobody may write could not be filled.
                fchmod(&within, Mode::from_raw_mode(stat.st_mode & 0o777 | 0o700))?;
                Ok(true)
            }
            FileType::RegularFile => self.file(from, name),
            FileType::Symlink => {
                let target = match readlinkat(from, name, Vec::new()) {
                    Err(Errno::NOENT) => return Ok(true),
                    target => target.map_err(of_source)?,
                };
                match symlinkat(&target, &self.to, name) {
                    Ok(()) => self.done.files += 1,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                Ok(true)
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Ok(false),
        }
    }

    fn entries(&mut self, from: &OwnedFd) -> io::Result<()> {
        for name in names(from).map_err(|error| io::Error::other(Unreadable(error)))? {
            self.entry(from, &name)?;
        }
        Ok(())
    }

    fn file(&mut self, from: impl AsFd, name: &Path) -> io::Result<bool> {
        // It may have become a pipe, which would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut from = match openat(from, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(true),
            file => File::from(file.map_err(of_source)?),
        };
        let metadata = from.metadata()?;
        if !metadata.is_file() {
            return Ok(false);
        }
        let there = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(there) = openat(&self.to, name, there, Mode::empty()) {
            let there = File::from(there).metadata()?;
            if there.len() == metadata.len() && there.modified()? == metadata.modified()? {
                return Ok(true);
            }
            self.done.files -= 1;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let made = openat(
            &self.to,
            name,
            flags | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        );
        let mut to = File::from(made?);
        self.done.bytes += io::copy(&mut from, &mut to)?;
        self.done.files += 1;
        to.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
        // Without set-user-ID and set-group-ID, and its owner can read it.
        let mode = metadata.permissions().mode() & 0o777 | 0o400;
        to.set_permissions(Permissions::from_mode(mode))?;
        Ok(true)
    }
}

/// Returns the names in a directory, sorted.
pub(super) fn names(dir: impl AsFd) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            use std::os::unix::ffi::OsStrExt;
            names.push(PathBuf::from(std::ffi::OsStr::from_bytes(name)));
        }
    }
    names.sort();
    Ok(names)
}

/// What could not be read.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be read")]
struct Unreadable(#[source] io::Error);

fn of_source(error: Errno) -> io::Error {
    io::Error::other(Unreadable(error.into()))
}

fn is_of_source(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<Unreadable>())
}
