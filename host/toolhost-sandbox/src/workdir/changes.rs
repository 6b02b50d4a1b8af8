//! Locks of the files and names of a workdir, held while a call changes them.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};

use toolhost_contract::FileId;

use crate::sync::lock;

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
    pub(super) fn lock<const N: usize>(&self, targets: [Target; N]) -> ChangeGuard<'_, N> {
        let mut held = lock(&self.held);
        while targets.iter().any(|target| held.contains(target)) {
            let woken = self.given_back.wait(held);
            held = woken.unwrap_or_else(PoisonError::into_inner);
        }
        held.extend(targets.iter().cloned());
        drop(held);
        ChangeGuard {
            locks: self,
            targets,
        }
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

    use super::*;

    #[test]
    fn a_target_has_one_holder_and_others_are_free_meanwhile() {
        let locks = ChangeLocks::default();
        let id = |inode| FileId { device: 1, inode };
        let [one, other] = [1, 2].map(|inode| Target::Size(id(inode)));
        let (holders, is_free) = (AtomicU32::new(0), AtomicBool::new(false));
        let first = locks.lock([one.clone(), Target::name(id(9), "Name")]);
        // Free, and given back at once.
        drop(locks.lock([other.clone()]));
        drop(locks.lock([Target::name(id(8), "name")]));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _both = locks.lock([other.clone(), one.clone()]);
                        assert_eq!(holders.fetch_add(1, Relaxed), 0);
                        holders.fetch_sub(1, Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                // Another case of a name that is locked.
                let _name = locks.lock([Target::name(id(9), "name")]);
                assert!(is_free.load(Relaxed));
            });
            assert_eq!(holders.load(Relaxed), 0);
            is_free.store(true, Relaxed);
            drop(first);
        });
        assert!(lock(&locks.held).is_empty());
    }
}
