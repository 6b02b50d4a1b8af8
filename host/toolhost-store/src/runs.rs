//! Which runs are alive: each holds a lock on `{state_root}/runs/{run_id}.lock`, which the kernel
//! takes away from a process that dies, however it dies.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::StoreError;
use super::random::{is_random_text, random_text};

/// Letters of a run's id: 80 random bits.
const ID_LETTERS: usize = 16;

/// Attempts to take a lock: each fails only where another process looked in that very moment.
const ATTEMPTS: usize = 16;

/// This run among the others of its state root.
pub(super) struct Runs {
    own_id: String,
    /// Where the locks are; none for a store in memory, which shares its rows with nobody.
    dir: Option<PathBuf>,
}

/// The lock of this run; dropping it ends the run.
pub(super) struct RunLock {
    path: PathBuf,
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // What stays is removed by the next run.
        let _ = fs::remove_file(&self.path);
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Runs {
    /// Begins a run, and removes the locks of those that died.
    pub(super) fn begin(state_root: &Path) -> Result<(Self, RunLock), StoreError> {
        let dir = state_root.join("runs");
        let failed = |source| StoreError::Run {
            dir: dir.clone(),
            source,
        };
        super::make_private(&dir).map_err(failed)?;
        for _ in 0..ATTEMPTS {
            let own_id = random_text::<ID_LETTERS>()?;
            let path = lock_path(&dir, &own_id);
            if let Some(lock) = RunLock::take(path).map_err(failed)? {
                remove_dead(&dir);
                let dir = Some(dir);
                return Ok((Self { own_id, dir }, lock));
            }
        }
        Err(failed(io::ErrorKind::WouldBlock.into()))
    }

    /// Begins a run that no other process can know of.
    pub(super) fn alone() -> Result<Self, StoreError> {
        let own_id = random_text::<ID_LETTERS>()?;
        Ok(Self { own_id, dir: None })
    }

    pub(super) fn own_id(&self) -> &str {
        &self.own_id
    }

    pub(super) fn is_alive(&self, run_id: &str) -> bool {
        if run_id == self.own_id {
            return true;
        }
        // An id read from a row becomes part of a path only if it is an id.
        let Some(dir) = &self.dir else { return false };
        is_random_text::<ID_LETTERS>(run_id) && !is_dead(&lock_path(dir, run_id))
    }
}

impl RunLock {
    /// Takes a new lock; none where another process looked at it or removed it in that moment.
    fn take(path: PathBuf) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let removed = file.metadata()?.nlink() == 0;
        Ok((!removed).then_some(Self { path, file }))
    }
}

fn lock_path(dir: &Path, run_id: &str) -> PathBuf {
    dir.join(format!("{run_id}.lock"))
}

/// Whether nobody holds this lock. Asks with a shared lock: those who ask do not see each other.
fn is_dead(path: &Path) -> bool {
    match File::open(path).map(|file| flock(&file, FlockOperation::NonBlockingLockShared)) {
        Ok(Ok(())) => true,
        Ok(Err(Errno::WOULDBLOCK)) => false,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        // In doubt a run lives: what it does is not called interrupted.
        Ok(Err(error)) => doubtful(path, &error.into()),
        Err(error) => doubtful(path, &error),
    }
}

fn doubtful(path: &Path, error: &io::Error) -> bool {
    tracing::warn!(path = %path.display(), %error, "whether a run is alive cannot be told");
    false
}

/// Removes what dead runs left behind. What cannot be removed does no harm.
fn remove_dead(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "lock") && is_dead(&path) {
            let _ = fs::remove_file(&path);
        }
    }
}
