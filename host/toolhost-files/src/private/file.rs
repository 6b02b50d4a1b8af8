//! Files that only this user can read and write.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::ops::Deref;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use super::error::{Fault, NotPrivate};
use super::rule::{OTHERS, check_file, check_own, entry};

/// An open file that only this user can read and write.
///
/// Each function follows no link, does not wait for the other end of a pipe, opens nothing but a regular file, and
/// fails with [`NotPrivate`] as the source of a [`PermissionDenied`](io::ErrorKind::PermissionDenied) where it
/// belongs to another user, or others can read or write it.
#[derive(Debug)]
pub struct PrivateFile(File);

impl PrivateFile {
    /// Opens a file with this access. `CREATE` makes it where it is missing.
    ///
    /// # Errors
    /// Where the file system refuses, or the file is not private.
    pub fn open(path: &Path, access: OFlags) -> io::Result<Self> {
        Self::open_in(CWD, path, path, access)
    }

    /// Opens a file beneath a directory, as [`open`](Self::open) does. `path` is for messages.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(
        dir: impl AsFd,
        name: impl AsRef<Path>,
        path: &Path,
        access: OFlags,
    ) -> io::Result<Self> {
        let file = open_own(dir, name.as_ref(), path, access)?;
        check_file(path, &fstat(&file)?)?;
        Ok(Self(file))
    }

    /// Opens a file of this user, and takes the rights of others from it.
    ///
    /// # Errors
    /// As [`open`](Self::open), whatever its mode is.
    pub fn open_and_restrict(path: &Path, access: OFlags) -> io::Result<Self> {
        let file = open_own(CWD, path, path, access)?;
        if file.metadata()?.permissions().mode() & OTHERS != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(Self(file))
    }

    /// Looks at a regular file of this user, whatever its mode is, without opening it. Returns `None` where it is
    /// missing.
    ///
    /// # Errors
    /// Where it is a link, not a regular file, or belongs to another user.
    pub fn stat_own(path: &Path) -> io::Result<Option<Stat>> {
        let stat = entry(CWD, path)?;
        if let Some(stat) = &stat {
            check_own(path, stat)?;
        }
        Ok(stat)
    }

    /// Opens a regular file of this user, whatever its mode is.
    ///
    /// # Errors
    /// As [`stat_own`](Self::stat_own), or where the file system refuses.
    pub fn open_own(path: &Path, access: OFlags) -> io::Result<File> {
        open_own(CWD, path, path, access)
    }

    /// Checks a file that is open, such as one that an operator named by a link. `path` is for messages.
    ///
    /// # Errors
    /// Where it is not private.
    pub fn check(file: impl AsFd, path: &Path) -> io::Result<()> {
        Ok(check_file(path, &fstat(file)?)?)
    }

    /// Makes a new file.
    ///
    /// # Errors
    /// Where the file system refuses; [`AlreadyExists`](io::ErrorKind::AlreadyExists) where something has its name.
    pub fn make_new(path: &Path) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Writes a file under a temporary name in a directory, to be renamed. Dropping it removes it.
    ///
    /// # Errors
    /// Where the file system refuses.
    pub fn temporary(dir: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".tmp").rand_bytes(16);
        builder.permissions(Permissions::from_mode(0o600));
        let mut file = builder.tempfile_in(dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        Ok(file)
    }

    /// Returns the file.
    #[must_use]
    pub fn into_file(self) -> File {
        self.0
    }
}

impl Deref for PrivateFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

/// Opens a regular file of this user, whatever its mode is.
fn open_own(dir: impl AsFd, name: &Path, path: &Path, access: OFlags) -> io::Result<File> {
    // A device is looked at, and not opened. A file that is missing is the system's error below.
    if let Some(stat) = entry(&dir, name)? {
        check_own(path, &stat)?;
    }
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&dir, name, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::LOOP) => return Err(NotPrivate::new(path, Fault::Link).into()),
        file => File::from(file?),
    };
    check_own(path, &fstat(&file)?)?;
    Ok(file)
}
