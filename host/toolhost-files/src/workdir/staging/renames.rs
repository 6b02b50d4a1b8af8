//! The renames between a staging directory and a workdir, by handles: a path is opened beneath the workdir,
//! through no link and onto no other file system.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat, fstat, openat, renameat_with, statat};
use rustix::io::Errno;

use super::stamp::{Stamp, of_stat};
use crate::platform::{PATH_ONLY, Resolve, resolve_beneath};
use crate::workdir::tree_path::TreePath;

/// Attempts to open a path: a rename elsewhere on this machine may make the kernel give up on it.
const ATTEMPTS: usize = 64;

/// Why a rename was not made.
#[derive(Debug)]
pub(super) enum Fault {
    /// What was to be renamed is not where it should be.
    Gone,
    /// Its new name is taken.
    Taken,
    /// What another program put there meanwhile was moved, and could not be moved back.
    Astray,
    Io(io::Error),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::EXIST | Errno::NOTEMPTY => Self::Taken,
            errno if is_gone(errno) => Self::Gone,
            errno => Self::Io(errno.into()),
        }
    }
}

/// Whether nothing is at a path any more, or something else than a directory is on it.
pub(super) fn is_gone(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE
    )
}

/// A staging directory and a workdir, on one file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renames<'a> {
    pub(super) workdir: &'a Dir,
    pub(super) staging: &'a Dir,
}

/// A name in an open directory.
pub(super) struct Place<'p> {
    pub(super) parent: File,
    pub(super) name: &'p str,
}

impl Place<'_> {
    pub(super) fn stamp(&self) -> Result<Option<Stamp>, Errno> {
        Ok(self.stat()?.as_ref().map(of_stat))
    }

    pub(super) fn stat(&self) -> Result<Option<Stat>, Errno> {
        stat(&self.parent, self.name)
    }
}

impl Renames<'_> {
    /// Opens the directory in which a path names an entry.
    pub(super) fn place<'p>(&self, path: &'p TreePath) -> Result<Place<'p>, Errno> {
        place(self.workdir, path, Mounts::Refused)
    }

    /// Returns the stamp of what is at a path, on whatever file system. None where nothing is.
    pub(super) fn at_path(&self, path: &TreePath) -> Result<Option<Stamp>, Errno> {
        Ok(self.stat(path)?.as_ref().map(of_stat))
    }

    /// Returns what the system describes at a path. None where nothing is.
    pub(super) fn stat(&self, path: &TreePath) -> Result<Option<Stat>, Errno> {
        match place(self.workdir, path, Mounts::Crossed) {
            Ok(place) => stat(&place.parent, place.name),
            Err(errno) if is_gone(errno) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Returns the stamp of a staged file.
    pub(super) fn staged(&self, name: &str) -> Result<Option<Stamp>, Errno> {
        Ok(stat(self.staging, name)?.as_ref().map(of_stat))
    }

    fn has_staged(&self, name: &str, inode: u64) -> Result<bool, Errno> {
        Ok(self
            .staged(name)?
            .is_some_and(|found| found.id.inode == inode))
    }

    /// Moves a staged file to a free path. Nothing is done where it is there.
    pub(super) fn put(&self, staged: &str, path: &TreePath, inode: u64) -> Result<(), Fault> {
        let place = self.place(path)?;
        if !self.has_staged(staged, inode)? {
            let is_there = place.stamp()?.is_some_and(|found| found.id.inode == inode);
            return is_there.then_some(()).ok_or(Fault::Gone);
        }
        let free = RenameFlags::NOREPLACE;
        Ok(renameat_with(
            self.staging,
            staged,
            &place.parent,
            place.name,
            free,
        )?)
    }

    /// Moves what is at a path to a free name in the staging directory. Nothing is done where it is there.
    pub(super) fn take(&self, path: &TreePath, staged: &str, inode: u64) -> Result<(), Fault> {
        if self.has_staged(staged, inode)? {
            return Ok(());
        }
        let place = self.place(path)?;
        if place.stamp()?.is_none_or(|found| found.id.inode != inode) {
            return Err(Fault::Gone);
        }
        let free = RenameFlags::NOREPLACE;
        renameat_with(&place.parent, place.name, self.staging, staged, free)?;
        if self.has_staged(staged, inode)? {
            return Ok(());
        }
        // Another program replaced it in between.
        let back = renameat_with(self.staging, staged, &place.parent, place.name, free);
        Err(back.map_or(Fault::Astray, |()| Fault::Gone))
    }

    /// Exchanges the staged `inode` for `replaced`, which is at the path. Nothing is done where that was done.
    pub(super) fn exchange(
        &self,
        staged: &str,
        path: &TreePath,
        inode: u64,
        replaced: u64,
    ) -> Result<(), Fault> {
        let place = self.place(path)?;
        let here = place.stamp()?.map(|found| found.id.inode);
        if here == Some(inode) && self.has_staged(staged, replaced)? {
            return Ok(());
        }
        if here != Some(replaced) || !self.has_staged(staged, inode)? {
            return Err(Fault::Gone);
        }
        let swap = || {
            let flags = RenameFlags::EXCHANGE;
            renameat_with(self.staging, staged, &place.parent, place.name, flags)
        };
        swap()?;
        if self.has_staged(staged, replaced)? {
            return Ok(());
        }
        Err(swap().map_or(Fault::Astray, |()| Fault::Gone))
    }
}

fn stat(dir: impl AsFd, name: &str) -> Result<Option<Stat>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether a path may lead through mounts beneath the workdir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mounts {
    Crossed,
    Refused,
}

/// Opens the directory in which a path beneath `top` names an entry.
pub(super) fn place<'p>(top: &Dir, path: &'p TreePath, mounts: Mounts) -> Result<Place<'p>, Errno> {
    let above = match &**path.above() {
        "" => ".",
        above => above,
    };
    let parent = open_beneath(top, above, mounts)?.into();
    let name = path.name();
    Ok(Place { parent, name })
}

fn open_beneath(top: &Dir, path: &str, mounts: Mounts) -> Result<OwnedFd, Errno> {
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let how = Resolve {
        no_links: true,
        no_mounts: mounts == Mounts::Refused,
    };
    for _ in 0..ATTEMPTS {
        match resolve_beneath(top, path, flags, how) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Not all systems have it, and it takes no path of more than 4,096 bytes.
            Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => break,
            opened => return opened,
        }
    }
    open_by_name(top, path, flags, mounts)
}

/// Opens a path one name at a time.
fn open_by_name(top: &Dir, path: &str, flags: OFlags, mounts: Mounts) -> Result<OwnedFd, Errno> {
    let device = fstat(top)?.st_dev;
    let mut here = openat(top, ".", flags, Mode::empty())?;
    for name in path.split('/').filter(|name| *name != ".") {
        if name == ".." || name.is_empty() {
            return Err(Errno::XDEV);
        }
        here = openat(&here, name, flags, Mode::empty())?;
        if mounts == Mounts::Refused && fstat(&here)?.st_dev != device {
            return Err(Errno::XDEV);
        }
    }
    Ok(here)
}
