//! The directory of a state root in which transactions are staged.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, mkdirat, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use toolhost_runtime::lock;

use super::contents::{make_dir, names, open_dir, remove_contents};
use super::error::StagingError;
use super::journal::{self, Committed, Progress};
use super::stamp::{Stamp, of_stat};
use super::step::{Step, reach};
use super::turns::{CommitTurn, CommitTurns};
use crate::PrivateDir;
use crate::platform::mount_id;
use crate::workdir::handle::MountId;
use crate::workdir::{WorkdirHandle, file_id};

/// Inode, size and time of the last change of a journal.
type JournalStamp = (u64, u64, (i64, i64));

/// Attempts to make a directory with a new name.
const ATTEMPTS: usize = 16;

/// Longest time that a commit waits for another one to the same workdir.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// `{state root}/staging`: a private directory, which no workdir may contain or lie within. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StagingRoot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: Dir,
    path: PathBuf,
    /// The ends of journals that were read, by id, with inode, size and time of the journal. Commits look at
    /// all journals of their workdir.
    known: Mutex<HashMap<String, (JournalStamp, Committed)>>,
    /// Whether its file system can exchange two files, once that was tried.
    exchanges: OnceLock<bool>,
    mount: OnceLock<MountId>,
    turns: CommitTurns,
}

impl StagingRoot {
    /// Opens the staging directory of a state root, and makes both with mode 0700 where they are missing.
    ///
    /// # Errors
    /// [`StagingError`] where it cannot be made, or is not private to this user.
    pub fn open(state_root: &Path) -> Result<Self, StagingError> {
        let path = state_root.join("staging");
        let dir = PrivateDir::make_beneath(state_root, &path);
        let dir = dir.map_err(|error| StagingError::of(&path, error))?.into();
        Ok(Self(Arc::new(Inner {
            dir,
            path,
            known: Mutex::default(),
            turns: CommitTurns::default(),
            exchanges: OnceLock::new(),
            mount: OnceLock::new(),
        })))
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.0.dir
    }

    /// The path of the directory, for messages.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub(super) fn failed(&self, source: impl Into<io::Error>) -> StagingError {
        StagingError::of(&self.0.path, source.into())
    }

    /// Checks that files can be renamed between this directory and a workdir. Asks the system once for each
    /// handle.
    pub(crate) fn check_mount(&self, workdir: &WorkdirHandle) -> Result<(), StagingError> {
        let of = |known: &OnceLock<MountId>, dir: &Dir| match known.get() {
            Some(mount) => Ok(*mount),
            None => {
                let mount = mount_of(dir).map_err(|error| self.failed(error))?;
                Ok(*known.get_or_init(|| mount))
            }
        };
        if of(&self.0.mount, &self.0.dir)? == of(&workdir.mount, &workdir.dir)? {
            return Ok(());
        }
        Err(StagingError::OtherFileSystem {
            workdir: workdir.path().into(),
            staging: self.0.path.clone(),
        })
    }

    /// Makes and locks a directory for a transaction on this workdir, and returns its name.
    pub(super) fn make_dir(&self, workdir: &WorkdirHandle) -> Result<(String, Dir), StagingError> {
        self.check_mount(workdir)?;
        reach(Step::Making).map_err(|error| self.failed(error))?;
        let inode = workdir
            .dir
            .dir_metadata()
            .map(|found| file_id(&found).inode);
        let inode = inode.map_err(|error| self.failed(error))?;
        for _ in 0..ATTEMPTS {
            let mut random = [0; 8];
            getrandom::fill(&mut random)
                .map_err(|error| self.failed(io::Error::other(error.to_string())))?;
            let id = format!("{inode:016x}-{:016x}", u64::from_ne_bytes(random));
            let made = self.make_locked(&id).map_err(|errno| self.failed(errno))?;
            let Some(dir) = made else {
                continue;
            };
            match self.exchanges(&dir) {
                Ok(true) => return Ok((id, dir)),
                Ok(false) => {
                    self.remove(&id, &dir);
                    let staging = self.0.path.clone();
                    return Err(StagingError::NoExchange { staging });
                }
                Err(error) => {
                    self.remove(&id, &dir);
                    return Err(self.failed(error));
                }
            }
        }
        Err(self.failed(Errno::EXIST))
    }

    /// None where another process removed the directory before it was locked, as it had no owner.
    fn make_locked(&self, id: &str) -> Result<Option<Dir>, Errno> {
        match mkdirat(&self.0.dir, id, Mode::RWXU) {
            Ok(()) => self.open_locked(id),
            Err(Errno::EXIST) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Opens the staging directory of this id.
    pub(super) fn open_id(&self, id: &str) -> Result<Dir, Errno> {
        if is_id(id) {
            open_dir(&self.0.dir, id)
        } else {
            Err(Errno::NOENT)
        }
    }

    /// Opens and locks the staging directory of this id. None where another process or another transaction of
    /// this one has locked it, or it is gone.
    pub(super) fn open_locked(&self, id: &str) -> Result<Option<Dir>, Errno> {
        let dir = match self.open_id(id) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno),
        }
        // It may have been removed before it was locked.
        match statat(&self.0.dir, id, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok((fstat(&dir)?.st_ino == found.st_ino).then_some(dir)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Releases the lock of a staging directory, whoever else has it open.
    pub(super) fn unlock(&self, dir: &Dir) {
        let _ = flock(dir, FlockOperation::Unlock);
    }

    /// Returns how far a transaction has come. None where its directory cannot be opened: it was removed
    /// meanwhile, or is nothing of ours.
    pub(super) fn progress(&self, id: &str) -> Option<Progress> {
        let path = format!("{id}/{}", journal::NAME);
        let found = statat(&self.0.dir, path, AtFlags::SYMLINK_NOFOLLOW).ok();
        let stamp = found.map(|found| {
            let size = u64::try_from(found.st_size).unwrap_or_default();
            let Stamp { id, mtime, .. } = of_stat(&found);
            (id.inode, size, mtime)
        });
        let known = lock(&self.0.known).get(id).copied();
        if let Some((known, committed)) = known
            && Some(known) == stamp
        {
            return Some(Progress::Committed(committed));
        }
        let progress = journal::progress(&self.open_id(id).ok()?).ok()?;
        match (progress, stamp) {
            (Progress::Committed(committed), Some(stamp)) => {
                lock(&self.0.known).insert(id.to_owned(), (stamp, committed));
            }
            _ => {
                lock(&self.0.known).remove(id);
            }
        }
        Some(progress)
    }

    /// Returns the ids of all staging directories, or of those of the workdir with this inode.
    pub(super) fn ids(&self, workdir: Option<u64>) -> Result<Vec<String>, Errno> {
        let all = names(&self.0.dir)?.into_iter();
        let ids = all.filter_map(|(name, _)| name.into_string().ok());
        let is_of = |id: &String| match (workdir_of(id), workdir) {
            (Some(of), Some(workdir)) => of == workdir,
            (of, _) => of.is_some(),
        };
        Ok(ids.filter(is_of).collect())
    }

    /// Waits, without a thread, until no other commit of this process to a workdir runs.
    pub(crate) async fn commit_turn(&self, workdir: &Dir) -> Option<CommitTurn> {
        // The commit reports the error.
        let inode = inode_of(workdir).ok()?;
        Some(self.0.turns.take(inode).await)
    }

    /// Waits until no other commit to the workdir with this inode runs, in any process.
    pub(super) fn lock_workdir(&self, inode: u64) -> Result<WorkdirLock, LockError> {
        self.lock_workdir_within(inode, LOCK_WAIT)
    }

    /// Waits for this long at most.
    pub(super) fn lock_workdir_within(
        &self,
        inode: u64,
        most: Duration,
    ) -> Result<WorkdirLock, LockError> {
        let locks = make_dir(&self.0.dir, "locks")?;
        let name = format!("{inode:016x}.lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&locks, &name, flags, Mode::RUSR | Mode::WUSR)?);
        let start = Instant::now();
        let mut wait = Duration::from_micros(100);
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(WorkdirLock(file)),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if start.elapsed() >= most {
                return Err(LockError::Busy);
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(Duration::from_millis(10));
        }
    }

    /// Whether files can be exchanged in one step. Tried in an empty staging directory, until the file system has
    /// answered.
    fn exchanges(&self, dir: &Dir) -> io::Result<bool> {
        if let Some(known) = self.0.exchanges.get() {
            return Ok(*known);
        }
        dir.create_dir("one")?;
        dir.create_dir("other")?;
        let flags = RenameFlags::EXCHANGE;
        let exchanges = match rustix::fs::renameat_with(dir, "one", dir, "other", flags) {
            Ok(()) => true,
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => false,
            Err(errno) => return Err(errno.into()),
        };
        remove_contents(dir)?;
        Ok(*self.0.exchanges.get_or_init(|| exchanges))
    }

    /// Removes the directory of a transaction that this process has locked.
    pub(super) fn remove(&self, id: &str, dir: &Dir) {
        lock(&self.0.known).remove(id);
        let removed =
            remove_contents(dir).and_then(|()| unlinkat(&self.0.dir, id, AtFlags::REMOVEDIR));
        if let Err(error) = removed {
            let path = self.0.path.join(id);
            tracing::warn!(path = %path.display(), %error, "a staging directory could not be removed");
        }
    }
}

/// Held while a commit, an undo or a recovery renames files of a workdir. The file stays: removing it would
/// make two of them.
#[derive(Debug)]
pub(super) struct WorkdirLock(File);

impl Drop for WorkdirLock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Why a workdir was not locked.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another commit takes longer than the wait.
    Busy,
    Io(io::Error),
}

impl From<Errno> for LockError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Returns the inode of the workdir from the id of a transaction. None if it is no such id.
fn workdir_of(id: &str) -> Option<u64> {
    let (inode, random) = id.split_once('-')?;
    let is_hex = |text: &str| {
        text.len() == 16
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let inode = (is_hex(inode) && is_hex(random)).then_some(inode)?;
    u64::from_str_radix(inode, 16).ok()
}

fn is_id(id: &str) -> bool {
    workdir_of(id).is_some()
}

pub(super) fn inode_of(dir: &Dir) -> Result<u64, Errno> {
    Ok(fstat(dir)?.st_ino)
}

fn mount_of(dir: &Dir) -> io::Result<MountId> {
    let device = file_id(&dir.dir_metadata()?).device;
    Ok((device, mount_id(dir)))
}
