//! Locks with which the processes that share a cache compile each component once, and only a few at a time.
//!
//! A lock is an empty file that its holder has locked with `flock`, and removes when it is done; the kernel releases the
//! lock of a process that ended. Locks only save work. Where one cannot be made, or somebody keeps it for longer than
//! compiling may take, a component is compiled without it.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, OFlags, Timespec, Timestamps, UTIME_NOW, flock, futimens};
use rustix::io::Errno;
use toolhost_files::PrivateFile;

use super::artifact::Name;

/// End of the name of a lock.
const LOCK: &str = ".lock";

/// Beginning of the name of a compile slot, before its number.
const SLOT: &str = "compile-";

/// Attempts to take a lock. One fails only if its holder removes the file in that moment.
const ATTEMPTS: usize = 8;

/// Returns whether this is the name of a lock.
pub(super) fn is_lock(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(LOCK) else {
        return false;
    };
    let is_number = |text: &str| (1..=4).contains(&text.len()) && text.parse::<u16>().is_ok();
    stem.strip_prefix(SLOT).is_some_and(is_number)
        || Name::parse(&format!("{stem}.cwasm")).is_some()
}

/// A component that is to be compiled once neither it nor too many others are being compiled.
#[derive(Debug)]
pub(crate) struct CompileQueue {
    component: PathBuf,
    /// One for each component that may be compiled at the same time.
    slots: Vec<PathBuf>,
    /// How long the same holder of a lock is waited for.
    patience: Duration,
    /// Who held a lock, and since when, as far as this queue has seen.
    holders: HashMap<PathBuf, (FileStamp, Instant)>,
}

/// Held while a component is compiled and stored.
#[derive(Debug)]
pub(crate) struct CompileTurn {
    slot: Option<CompileLock>,
    component: Option<CompileLock>,
}

impl CompileTurn {
    /// Lets another component be compiled. Returns the lock of this one, which is held until it is stored.
    pub(crate) fn leave_slot(self) -> Option<CompileLock> {
        drop(self.slot);
        self.component
    }
}

/// The file that is at a path: another one differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp((u64, u64), SystemTime);

impl FileStamp {
    /// None where there is no file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        Some(Self(identity(&metadata), metadata.modified().ok()?))
    }
}

/// What became of a lock.
enum Taken {
    Yes(CompileLock),
    /// Somebody holds it.
    Held,
    /// It cannot be made, or somebody keeps it: it is not waited for.
    Ignored,
}

impl CompileQueue {
    pub(super) fn new(dir: &Path, component: &Name, slots: usize, patience: Duration) -> Self {
        let component = component.to_string();
        let stem = component.strip_suffix(".cwasm").unwrap_or(&component);
        let slot = |number| dir.join(format!("{SLOT}{number}{LOCK}"));
        Self {
            component: dir.join(format!("{stem}{LOCK}")),
            slots: (0..slots).map(slot).collect(),
            patience,
            holders: HashMap::new(),
        }
    }

    /// Takes the locks, without waiting. None where others hold them.
    pub(crate) fn try_begin(&mut self) -> Option<CompileTurn> {
        // The slot comes first: it is free again at once if the component is being compiled.
        let slot = self.try_slot()?;
        let path = self.component.clone();
        let component = match self.take(&path) {
            Taken::Yes(lock) => Some(lock),
            Taken::Ignored => None,
            Taken::Held => return None,
        };
        Some(CompileTurn { slot, component })
    }

    /// Takes a free slot, or none where slots are ignored. Returns none where all are held.
    fn try_slot(&mut self) -> Option<Option<CompileLock>> {
        let mut is_ignored = false;
        for slot in self.slots.clone() {
            match self.take(&slot) {
                Taken::Yes(lock) => return Some(Some(lock)),
                Taken::Ignored => is_ignored = true,
                Taken::Held => {}
            }
        }
        is_ignored.then_some(None)
    }

    fn take(&mut self, path: &Path) -> Taken {
        let holder = match try_lock(path) {
            Ok(Ok(lock)) => return Taken::Yes(lock),
            Ok(Err(holder)) => holder,
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "compiling without a lock");
                return Taken::Ignored;
            }
        };
        let now = Instant::now();
        let since = match self.holders.get(path) {
            Some((same, since)) if *same == holder => *since,
            _ => now,
        };
        self.holders.insert(path.to_owned(), (holder, since));
        if now.duration_since(since) < self.patience {
            return Taken::Held;
        }
        tracing::warn!(path = %path.display(), "compiling without a lock: another process keeps it");
        Taken::Ignored
    }
}

/// A lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct CompileLock {
    file: File,
    path: PathBuf,
}

impl Drop for CompileLock {
    fn drop(&mut self) {
        if is_at(&self.file, &self.path) {
            // A file that stays is locked by the next holder, or removed with abandoned artifacts.
            let _ = fs::remove_file(&self.path);
        }
        // A compiler that is being started may have the file for a moment longer.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Takes a lock, or returns who holds it.
fn try_lock(path: &Path) -> io::Result<Result<CompileLock, FileStamp>> {
    for _ in 0..ATTEMPTS {
        // It is made where it is missing.
        let file = PrivateFile::open(path, OFlags::RDWR | OFlags::CREATE)?.into_file();
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_at(&file, path) => {
                // Tells this holder from one that died.
                touch(&file);
                let path = path.to_owned();
                return Ok(Ok(CompileLock { file, path }));
            }
            // Its holder removed it after it was opened.
            Ok(()) | Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => {
                let metadata = file.metadata()?;
                return Ok(Err(FileStamp(identity(&metadata), metadata.modified()?)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Records that a file was used. A failure is logged: the file is evicted earlier.
pub(super) fn touch(file: &File) {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    if let Err(error) = futimens(file, &times) {
        tracing::debug!(%error, "cannot record the use of a file of the cache");
    }
}

/// Returns the identity of a file: the numbers of its device and of its inode there.
fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Returns whether a path still leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let at = std::fs::symlink_metadata(path);
    let file = file.metadata();
    matches!((at, file), (Ok(at), Ok(file)) if identity(&at) == identity(&file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn queue(dir: &Path, component: &str, slots: usize, patience: Duration) -> CompileQueue {
        let name = Name {
            component: component.repeat(64),
            engine: 7,
            key_id: "0123abcd".to_owned(),
        };
        CompileQueue::new(dir, &name, slots, patience)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_component_is_compiled_by_one_at_a_time_and_others_as_far_as_there_are_slots() {
        let dir = tempfile::tempdir().unwrap();
        let queue = |component| queue(dir.path(), component, 2, HOUR);
        let (mut a, mut again, mut b, mut c) = (queue("a"), queue("a"), queue("b"), queue("c"));
        let first = a.try_begin().unwrap();
        assert!(again.try_begin().is_none(), "it is being compiled");
        let second = b.try_begin().unwrap();
        assert!(c.try_begin().is_none(), "both slots are taken");
        assert!(names(dir.path()).iter().all(|name| is_lock(name)));
        let first = first.leave_slot();
        assert!(again.try_begin().is_none(), "it is being stored");
        let third = c.try_begin().unwrap();
        drop((first, second, third));
        assert_eq!(names(dir.path()), [""; 0], "locks are removed");
        assert!(again.try_begin().is_some());
    }

    #[test]
    fn a_holder_that_keeps_a_lock_is_not_waited_for_forever() {
        let dir = tempfile::tempdir().unwrap();
        let mut stopped = queue(dir.path(), "a", 1, HOUR);
        let held = stopped.try_begin().unwrap();
        let mut impatient = queue(dir.path(), "a", 1, Duration::ZERO);
        let turn = impatient.try_begin().unwrap();
        assert!(turn.slot.is_none() && turn.component.is_none());
        drop(turn);
        assert!(
            queue(dir.path(), "a", 1, HOUR).try_begin().is_none(),
            "it is still held"
        );
        drop(held);
    }

    #[test]
    fn a_holder_that_replaced_another_is_waited_for_anew() {
        let dir = tempfile::tempdir().unwrap();
        let mut waiting = queue(dir.path(), "a", 1, HOUR);
        let mut since = Vec::new();
        for began in [SystemTime::UNIX_EPOCH, SystemTime::now()] {
            let held = queue(dir.path(), "a", 1, HOUR).try_begin().unwrap();
            let slot = held.slot.as_ref().unwrap();
            slot.file.set_modified(began).unwrap();
            assert!(waiting.try_begin().is_none());
            since.extend(waiting.holders.values().map(|(_, since)| *since));
            drop(held);
        }
        assert!(since[0] < since[1], "{since:?}");
    }

    #[test]
    fn what_is_no_private_file_is_no_lock_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let mut one = queue(dir.path(), "a", 1, HOUR);
        symlink(outside.path().join("new"), &one.component).unwrap();
        fs::write(&one.slots[0], "").unwrap();
        fs::set_permissions(&one.slots[0], fs::Permissions::from_mode(0o666)).unwrap();
        let turn = one.try_begin().unwrap();
        assert!(turn.slot.is_none() && turn.component.is_none());
        drop(turn);
        assert_eq!(names(dir.path()).len(), 2);
        assert_eq!(names(outside.path()), [""; 0]);
        let read_only = fs::Permissions::from_mode(0o500);
        fs::set_permissions(dir.path(), read_only).unwrap();
        assert!(queue(dir.path(), "b", 1, HOUR).try_begin().is_some());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn only_names_that_the_cache_makes_are_locks() {
        let component = "ab".repeat(32);
        for name in [
            "compile-0.lock",
            "compile-12.lock",
            &format!("{component}-00000000000000ff-0123abcd.lock"),
        ] {
            assert!(is_lock(name), "{name}");
        }
        for name in [
            "",
            ".lock",
            "compile-.lock",
            "compile-x.lock",
            "compile-0",
            "notes.lock",
            &format!("{component}.lock"),
        ] {
            assert!(!is_lock(name), "{name}");
        }
    }
}
