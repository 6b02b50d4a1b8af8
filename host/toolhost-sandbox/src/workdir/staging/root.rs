//! The directory of a state root in which transactions are staged.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FlockOperation, RenameFlags, StatxFlags, flock, statx};
use rustix::io::Errno;

use super::error::StagingError;
use super::private::{make_dir, not_private, remove_contents};
use crate::workdir::{WorkdirHandle, file_id};

/// Attempts to make a directory with a new name.
const ATTEMPTS: usize = 16;

/// `{state root}/staging`: a private directory, which no workdir may contain or lie within. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StagingRoot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: Dir,
    path: PathBuf,
    /// Whether its file system can exchange two files, once that was tried.
    exchanges: OnceLock<bool>,
}

impl StagingRoot {
    /// Opens the staging directory of a state root, and makes it with mode 0700 where it is missing. The
    /// state root must exist.
    ///
    /// # Errors
    /// [`StagingError`] where it cannot be made, or is not private to this user.
    pub fn open(state_root: &Path) -> Result<Self, StagingError> {
        let path = state_root.join("staging");
        let failed = |source: io::Error| StagingError::Io {
            path: path.clone(),
            source,
        };
        let top = Dir::open_ambient_dir(state_root, ambient_authority()).map_err(failed)?;
        let dir = make_dir(&top, "staging").map_err(|errno| failed(errno.into()))?;
        if let Some(reason) = not_private(&dir).map_err(|errno| failed(errno.into()))? {
            return Err(StagingError::NotPrivate { path, reason });
        }
        Ok(Self(Arc::new(Inner {
            dir,
            path,
            exchanges: OnceLock::new(),
        })))
    }

    /// The path of the directory, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    fn failed(&self, source: impl Into<io::Error>) -> StagingError {
        StagingError::Io {
            path: self.0.path.clone(),
            source: source.into(),
        }
    }

    /// Makes and locks a directory for a transaction on this workdir, and returns its name.
    pub(super) fn make_dir(&self, workdir: &WorkdirHandle) -> Result<(String, Dir), StagingError> {
        let of = |dir: &Dir| mount_of(dir).map_err(|error| self.failed(error));
        if of(&self.0.dir)? != of(&workdir.dir)? {
            return Err(StagingError::OtherFileSystem {
                workdir: workdir.path().into(),
                staging: self.0.path.clone(),
            });
        }
        let inode = workdir
            .dir
            .dir_metadata()
            .map(|found| file_id(&found).inode);
        let inode = inode.map_err(|error| self.failed(error))?;
        for _ in 0..ATTEMPTS {
            let mut random = [0; 8];
            getrandom::fill(&mut random)
                .map_err(|error| self.failed(io::Error::other(error.to_string())))?;
            let id = format!("{inode:016x}-{:016x}", u64::from_be_bytes(random));
            let made = self.make_locked(&id).map_err(|errno| self.failed(errno))?;
            let Some(dir) = made else {
                continue;
            };
            if !self.exchanges(&dir) {
                self.remove(&id, &dir);
                let staging = self.0.path.clone();
                return Err(StagingError::NoExchange { staging });
            }
            return Ok((id, dir));
        }
        Err(self.failed(Errno::EXIST))
    }

    /// None where another process removed the directory before it was locked, as it had no owner.
    fn make_locked(&self, id: &str) -> Result<Option<Dir>, Errno> {
        let dir = make_dir(&self.0.dir, id)?;
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno),
        }
        match rustix::fs::statat(&self.0.dir, id, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok((rustix::fs::fstat(&dir)?.st_ino == found.st_ino).then_some(dir)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Whether files can be exchanged in one step. Tried once, in an empty staging directory.
    fn exchanges(&self, dir: &Dir) -> bool {
        let exchange = || -> io::Result<()> {
            dir.create_dir("one")?;
            dir.create_dir("other")?;
            Ok(rustix::fs::renameat_with(
                dir,
                "one",
                dir,
                "other",
                RenameFlags::EXCHANGE,
            )?)
        };
        *self.0.exchanges.get_or_init(|| {
            let exchanged = exchange().is_ok();
            let removed = remove_contents(dir).is_ok();
            exchanged && removed
        })
    }

    /// Removes the directory of a transaction that this process has locked.
    pub(super) fn remove(&self, id: &str, dir: &Dir) {
        let removed = remove_contents(dir)
            .and_then(|()| rustix::fs::unlinkat(&self.0.dir, id, AtFlags::REMOVEDIR));
        if let Err(error) = removed {
            let path = self.0.path.join(id);
            tracing::warn!(path = %path.display(), %error, "a staging directory could not be removed");
        }
    }
}

/// Returns the device of a directory, and its mount, where the kernel returns it (Linux 5.8): renames are
/// possible within a mount.
fn mount_of(dir: &Dir) -> io::Result<(u64, Option<u64>)> {
    let device = file_id(&dir.dir_metadata()?).device;
    let asked = StatxFlags::MNT_ID;
    let mount = match statx(dir, "", AtFlags::EMPTY_PATH, asked) {
        Ok(found) if found.stx_mask & asked.bits() != 0 => Some(found.stx_mnt_id),
        _ => None,
    };
    Ok((device, mount))
}
