//! Directories that only this user can write to.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, fstat, mkdirat, open, openat};
use rustix::io::Errno;

use super::error::{Fault, NotPrivate};
use super::rule::{STICKY, WORLD_WRITABLE, check_dir, entry, this_user};

/// A handle of a directory that only this user can write to.
///
/// Each function fails with [`NotPrivate`] as the source of a
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied) where it belongs to another
/// user, or others can write to it or exchange it.
#[derive(Debug)]
pub struct PrivateDir {
    handle: OwnedFd,
    path: PathBuf,
}

impl PrivateDir {
    /// Makes the directory of this path, and those above it where they are missing, with mode 0700. The path may be a
    /// link, as an operator names it.
    ///
    /// # Errors
    /// Where the file system refuses, or the directory is not private.
    pub fn make(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::open(path)
    }

    /// Opens a directory that exists. The path may be a link, as an operator names it.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = match open(path, flags, Mode::empty()) {
            Err(Errno::NOTDIR) if path.exists() => {
                return Err(NotPrivate::new(path, Fault::NotADirectory).into());
            }
            handle => handle?,
        };
        let dir = Self {
            handle,
            path: path.to_owned(),
        };
        check_dir(path, &fstat(&dir.handle)?)?;
        check_above(path)?;
        Ok(dir)
    }

    /// Makes `dir`, which lies beneath `root`, and the directories between them, with mode 0700. None of them may be a
    /// link, but `root`.
    ///
    /// # Errors
    /// As [`make`](Self::make); [`InvalidInput`](io::ErrorKind::InvalidInput) where `dir` does not lie beneath `root`.
    pub fn make_beneath(root: &Path, dir: &Path) -> io::Result<Self> {
        Self::make(root)?.descend(dir, |above, name| match mkdirat(above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error),
        })
    }

    /// Opens `dir`, which exists, as [`make_beneath`](Self::make_beneath) does.
    ///
    /// # Errors
    /// As [`make_beneath`](Self::make_beneath); [`NotFound`](io::ErrorKind::NotFound) where a directory is missing.
    pub fn open_beneath(root: &Path, dir: &Path) -> io::Result<Self> {
        Self::open(root)?.descend(dir, |_, _| Ok(()))
    }

    /// Opens a directory beneath this one, name by name. Calls `prepare` before each.
    fn descend(
        self,
        dir: &Path,
        prepare: impl Fn(&OwnedFd, &Path) -> Result<(), Errno>,
    ) -> io::Result<Self> {
        let names = dir.strip_prefix(&self.path);
        let names = names.map_err(|_| io::ErrorKind::InvalidInput)?.components();
        let mut here = self;
        for name in names {
            let Component::Normal(name) = name else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let name = Path::new(name);
            prepare(&here.handle, name)?;
            here = here.child(name)?;
        }
        Ok(here)
    }

    fn child(&self, name: &Path) -> io::Result<Self> {
        let path = self.path.join(name);
        let stat = entry(&self.handle, name)?.ok_or(io::ErrorKind::NotFound)?;
        check_dir(&path, &stat)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&self.handle, name, flags, Mode::empty())?;
        check_dir(&path, &fstat(&handle)?)?;
        Ok(Self { handle, path })
    }

    /// Checks a directory that is open. `path` is for messages.
    ///
    /// # Errors
    /// Where it is not private.
    pub fn check(dir: impl AsFd, path: &Path) -> io::Result<()> {
        Ok(check_dir(path, &fstat(dir)?)?)
    }

    /// Returns the path with which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for PrivateDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl From<PrivateDir> for Dir {
    fn from(dir: PrivateDir) -> Self {
        Self::from_std_file(dir.handle.into())
    }
}

/// Checks that nobody can exchange a directory: the directories above it as it is named, and as it lies without links.
/// A group may write to them, as the group of a user has no other members on many systems.
fn check_above(path: &Path) -> io::Result<()> {
    let real = path.canonicalize()?;
    for above in path.ancestors().chain(real.ancestors()).skip(1) {
        let above = if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        };
        let mode = fs::metadata(above)?.mode();
        if mode & WORLD_WRITABLE != 0 && mode & STICKY == 0 {
            let mode = mode & 0o7777;
            return Err(NotPrivate::new(above, Fault::Exchangeable { mode }).into());
        }
    }
    // In a sticky directory, the owner of a link can still exchange it.
    let link = fs::symlink_metadata(path)?;
    let (owner, user) = (link.uid(), this_user());
    if link.is_symlink() && owner != user && owner != 0 {
        return Err(NotPrivate::new(path, Fault::OtherOwner { owner, user }).into());
    }
    Ok(())
}
