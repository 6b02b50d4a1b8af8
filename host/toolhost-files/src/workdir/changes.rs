//! Locks of the files and names of a workdir, held while a call changes them.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex};
use std::time::Instant;

use rustix::io::Errno;
use toolhost_contract::FileId;
use toolhost_runtime::{lock, wait_while};

/// What a call changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// The size of a file.
    Size(FileId),
    /// A name in a directory, whether or not it exists.
    Name(FileId, String),
}

impl Target {
    /// A name in a directory. Names that differ only in case count as one, as on some file systems they
    /// are.
    pub(crate) fn name(dir: FileId, name: &str) -> Self {
        Self::Name(dir, name.to_lowercase())
    }
}

/// The locks of one workdir. A thread that holds sizes takes no names, and takes all its names, and then all
/// its sizes, at once: so no two threads wait for each other.
#[derive(Debug, Default)]
pub(super) struct ChangeLocks {
    held: Mutex<HashSet<Target>>,
    given_back: Condvar,
}

/// Gives back its locks when dropped.
#[must_use]
pub(crate) struct ChangeGuard<'a, const N: usize> {
    locks: &'a ChangeLocks,
    targets: [Target; N],
}

impl ChangeLocks {
    /// Waits until no other call changes one of the targets.
    ///
    /// # Errors
    /// `EBUSY` if another call still does when the deadline `ends` has passed; without one, after 10 s. Its
    /// file call hangs.
    pub(super) fn lock<const N: usize>(
        &self,
        targets: [Target; N],
        ends: Option<Instant>,
    ) -> Result<ChangeGuard<'_, N>, Errno> {
        let is_taken = |held: &mut HashSet<Target>| targets.iter().any(|one| held.contains(one));
        let free = wait_while(&self.given_back, lock(&self.held), ends, is_taken);
        let mut held = free.ok_or(Errno::BUSY)?;
        held.extend(targets.iter().cloned());
        drop(held);
        Ok(ChangeGuard {
            locks: self,
            targets,
        })
    }
}

impl<const N: usize> Drop for ChangeGuard<'_, N> {
    fn drop(&mut self) {
        let mut held = lock(&self.locks.held);
        for target in &self.targets {
            held.remove(target);
        }
        drop(held);
        self.locks.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_target_has_one_holder_and_others_are_free_meanwhile() {
        let locks = ChangeLocks::default();
        let id = |inode| FileId { device: 1, inode };
        let [one, other] = [1, 2].map(|inode| Target::Size(id(inode)));
        let (holders, is_free) = (AtomicU32::new(0), AtomicBool::new(false));
        let first = [one.clone(), Target::name(id(9), "Name")];
        let first = locks.lock(first, None).unwrap();
        // Free, and given back at once.
        drop(locks.lock([other.clone()], None).unwrap());
        drop(locks.lock([Target::name(id(8), "name")], None).unwrap());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _both = locks.lock([other.clone(), one.clone()], None).unwrap();
                        assert_eq!(holders.fetch_add(1, Relaxed), 0);
                        holders.fetch_sub(1, Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                // Another case of a name that is locked.
                let _name = locks.lock([Target::name(id(9), "name")], None).unwrap();
                assert!(is_free.load(Relaxed));
            });
            assert_eq!(holders.load(Relaxed), 0);
            is_free.store(true, Relaxed);
            drop(first);
        });
        assert!(lock(&locks.held).is_empty());
    }

    #[test]
    fn a_change_that_hangs_delays_others_until_their_deadline_and_they_change_nothing() {
        let locks = ChangeLocks::default();
        let id = |inode| FileId { device: 1, inode };
        let [one, other] = [1, 2].map(|inode| Target::Size(id(inode)));
        let hangs = locks.lock([one.clone()], None).unwrap();
        let soon = || Instant::now().checked_add(Duration::from_millis(20));
        thread::scope(|scope| {
            // One without a deadline still waits after both.
            let patient = scope.spawn(|| locks.lock([one.clone()], None).err());
            for _ in 0..2 {
                let waits = scope.spawn(|| locks.lock([other.clone(), one.clone()], soon()).err());
                assert_eq!(waits.join().unwrap(), Some(Errno::BUSY));
            }
            // They have taken none of them.
            drop(locks.lock([other.clone()], None).unwrap());
            drop(hangs);
            assert_eq!(patient.join().unwrap(), None);
        });
        assert!(lock(&locks.held).is_empty());
    }
}
