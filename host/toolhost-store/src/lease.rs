//! Which runs of the store are alive.

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use toolhost_files::{PrivateDir, PrivateFile};

use super::error::StoreError;
use super::random::{is_random_text, random_text};

/// Letters of a run's id: 80 random bits.
const ID_LETTERS: usize = 16;

/// Attempts to take a lock. An attempt fails only if another process tests the lock in that moment.
const ATTEMPTS: usize = 16;

/// Entries of the directory of locks that the start of a run looks at: a directory with many more is not
/// only this program's.
const ENTRIES_MAX: usize = 10_000;

/// End of the name of a lock.
const LOCK: &str = ".lock";

/// Marks one run of a store as alive until it is dropped, and tells which other runs are alive.
///
/// Rows name the run that owns them. The rows of a run that is no longer alive may be taken over.
pub trait Lease: Send + Sync + 'static {
    /// Returns the id of this run: 16 letters of base32 that are never used again.
    fn run_id(&self) -> &str;

    /// Whether the run of this id is alive. Once false it stays false; where it cannot be determined it
    /// is true.
    fn is_alive(&self, run_id: &str) -> bool;
}

/// A lock on the file `{state_root}/runs/{run_id}.lock`. The kernel releases it when the process dies.
#[derive(Debug)]
pub struct FileLease {
    run_id: String,
    dir: PathBuf,
    file: File,
}

/// The lease of a store in memory, whose rows no other run can see.
#[derive(Debug)]
pub struct LocalLease(String);

impl FileLease {
    /// Begins a run, and removes the lock files of runs that died.
    ///
    /// # Errors
    /// [`StoreError`] where the directory or the lock cannot be made.
    pub fn acquire(state_root: &Path) -> Result<Self, StoreError> {
        let dir = state_root.join("runs");
        let failed = |source| StoreError::Lease {
            dir: dir.clone(),
            source,
        };
        PrivateDir::make_beneath(state_root, &dir).map_err(failed)?;
        for _ in 0..ATTEMPTS {
            let run_id = random_text::<ID_LETTERS>()?;
            if let Some(file) = lock_new(&lock_path(&dir, &run_id)).map_err(failed)? {
                remove_dead(&dir);
                return Ok(Self { run_id, dir, file });
            }
        }
        Err(failed(io::ErrorKind::WouldBlock.into()))
    }
}

impl Lease for FileLease {
    fn run_id(&self) -> &str {
        &self.run_id
    }

    fn is_alive(&self, run_id: &str) -> bool {
        // An id that was read from a row becomes part of a path only if it has the form of an id.
        run_id == self.run_id
            || is_random_text::<ID_LETTERS>(run_id) && !is_dead(&lock_path(&self.dir, run_id))
    }
}

impl Drop for FileLease {
    fn drop(&mut self) {
        // A file that cannot be removed is removed by the next run.
        let _ = fs::remove_file(lock_path(&self.dir, &self.run_id));
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl LocalLease {
    /// Begins a run.
    ///
    /// # Errors
    /// [`StoreError::Random`].
    pub fn new() -> Result<Self, StoreError> {
        Ok(Self(random_text::<ID_LETTERS>()?))
    }
}

impl Lease for LocalLease {
    fn run_id(&self) -> &str {
        &self.0
    }

    fn is_alive(&self, run_id: &str) -> bool {
        run_id == self.0
    }
}

fn lock_path(dir: &Path, run_id: &str) -> PathBuf {
    dir.join(format!("{run_id}{LOCK}"))
}

/// Makes and locks a file; none where another process tested or removed it in that moment.
fn lock_new(path: &Path) -> io::Result<Option<File>> {
    let file = PrivateFile::make_new(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let removed = file.metadata()?.nlink() == 0;
    Ok((!removed).then_some(file))
}

/// Whether no process holds this lock.
fn is_dead(path: &Path) -> bool {
    match lock_shared(path) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => {
            if error.kind() != io::ErrorKind::WouldBlock {
                let path = path.display();
                tracing::warn!(%path, %error, "a lock cannot be tested: its run counts as alive");
            }
            false
        }
    }
}

/// Takes a lock with others that test it, so that several tests do not conflict.
fn lock_shared(path: &Path) -> io::Result<File> {
    let file = PrivateFile::open_own(path, OFlags::RDONLY)?;
    flock(&file, FlockOperation::NonBlockingLockShared)?;
    Ok(file)
}

/// Removes the lock files of dead runs, and no other files. A file that remains does no harm.
fn remove_dead(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten().take(ENTRIES_MAX).filter(is_named_lock) {
        let path = entry.path();
        // A lock is empty.
        let is_empty = |file: File| file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        if lock_shared(&path).is_ok_and(is_empty) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether an entry has a name that [`lock_path`] makes.
fn is_named_lock(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let run_id = name.to_str().and_then(|name| name.strip_suffix(LOCK));
    run_id.is_some_and(is_random_text::<ID_LETTERS>)
}
