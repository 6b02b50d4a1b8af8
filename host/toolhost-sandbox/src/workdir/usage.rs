//! Counts the bytes by which guests have grown each workdir.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use cap_std::time::SystemTime;
use toolhost_contract::FileId;

use super::changes::{ChangeGuard, ChangeLocks, Target};
use super::identity::file_id;
use super::open_files::OpenFiles;
use crate::sync::lock;

/// Maximum number of unused workdirs whose usage is remembered.
const REMEMBERED_MAX: usize = 10_000;

/// Identifies a directory. The creation time tells it from a later one with the same inode.
type DirIdentity = (FileId, Option<SystemTime>);

/// The usage of each workdir that a sandbox has opened. It outlives the handles: a host that reopens
/// a workdir for each turn goes on with the same count.
#[derive(Debug, Default)]
pub(crate) struct WorkdirUsages(Mutex<HashMap<DirIdentity, WorkdirUsage>>);

impl WorkdirUsages {
    /// Returns the usage that all handles of a directory share.
    pub(crate) fn of(&self, dir: &Dir) -> WorkdirUsage {
        let Ok(metadata) = dir.dir_metadata() else {
            return WorkdirUsage::default();
        };
        let identity = (file_id(&metadata), metadata.created().ok());
        let mut usages = lock(&self.0);
        if usages.len() >= REMEMBERED_MAX {
            forget_half(&mut usages);
        }
        usages.entry(identity).or_default().clone()
    }
}

/// Forgets the smaller half of the unused usages, so that opening many workdirs does not reset a
/// count that is larger than theirs.
fn forget_half(usages: &mut HashMap<DirIdentity, WorkdirUsage>) {
    let mut unused: Vec<(i64, DirIdentity)> = usages
        .iter()
        .filter(|(_, usage)| Arc::strong_count(&usage.0) == 1)
        .map(|(identity, usage)| (usage.0.bytes.load(Relaxed), *identity))
        .collect();
    unused.sort_unstable_by_key(|(bytes, _)| *bytes);
    for (_, identity) in unused.iter().take(unused.len().div_ceil(2)) {
        usages.remove(identity);
    }
}

/// Space that a truncated or removed file frees.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FreedSpace {
    /// Bytes of its size.
    pub(crate) bytes: u64,
    /// Maximum bytes of these that were allocated, and no hole.
    pub(crate) on_disk: u64,
}

/// The bytes by which guests have grown one workdir.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkdirUsage(Arc<Count>);

#[derive(Debug, Default)]
struct Count {
    /// The growth of the workdir; of a transaction, its part of that.
    bytes: AtomicI64,
    changes: ChangeLocks,
    open: OpenFiles,
    transaction: Option<Transaction>,
}

/// What the count of a transaction adds to.
#[derive(Debug)]
struct Transaction {
    workdir: WorkdirUsage,
    is_committed: AtomicBool,
}

impl Drop for Count {
    fn drop(&mut self) {
        if let Some(transaction) = &self.transaction
            && !transaction.is_committed.load(Relaxed)
        {
            let grown = self.bytes.load(Relaxed);
            transaction.workdir.0.bytes.fetch_sub(grown, Relaxed);
        }
    }
}

impl WorkdirUsage {
    /// Locks files or names of the workdir. Held from reading a size, or finding what a name leads to, until
    /// the change is counted, so that no two calls count the same change. A file call that hangs delays only
    /// calls that change the same file or name.
    pub(crate) fn lock<const N: usize>(&self, targets: [Target; N]) -> ChangeGuard<'_, N> {
        self.0.changes.lock(targets)
    }

    /// Returns the usage of a transaction on the workdir, with locks and open files of its own: what it adds
    /// counts for the workdir, and is given back when all of its handles are dropped, unless it was committed.
    pub(crate) fn transaction(&self) -> Self {
        let transaction = Transaction {
            workdir: self.clone(),
            is_committed: AtomicBool::new(false),
        };
        Self(Arc::new(Count {
            transaction: Some(transaction),
            bytes: AtomicI64::default(),
            changes: ChangeLocks::default(),
            open: OpenFiles::default(),
        }))
    }

    /// Keeps what the transaction has added.
    pub(crate) fn committed(&self) {
        if let Some(transaction) = &self.0.transaction {
            transaction.is_committed.store(true, Relaxed);
        }
    }

    /// Notes that a call has opened a file.
    pub(crate) fn hold(&self, id: FileId) {
        self.0.open.hold(id);
    }

    /// Notes that a call closes a file. Returns true if the caller has to count the space of the file as freed:
    /// it was removed, and no call has it open any more.
    #[must_use]
    pub(crate) fn release(&self, id: FileId) -> bool {
        self.0.open.release(id)
    }

    /// Notes that a call has removed the last name of a file, under the lock of its size. Returns true if the
    /// caller has to count the space of the file as freed: no call has it open.
    #[must_use]
    pub(crate) fn remove(&self, id: FileId) -> bool {
        self.0.open.remove(id)
    }

    /// Returns whether a call has removed a file that is open, whose space still counts.
    pub(crate) fn holds_removed(&self, id: FileId) -> bool {
        self.0.open.is_removed(id)
    }

    /// Counts `bytes` and returns true if the workdir then has grown by `limit` or less.
    pub(crate) fn grow(&self, bytes: u64, limit: u64) -> bool {
        if let Some(transaction) = &self.0.transaction {
            let has_room = transaction.workdir.grow(bytes, limit);
            if has_room {
                self.0.bytes.fetch_add(signed(bytes), Relaxed);
            }
            return has_room;
        }
        let add = |grown: i64| {
            let grown = grown.saturating_add(signed(bytes));
            (grown <= signed(limit)).then_some(grown)
        };
        bytes == 0 || self.0.bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Counts freed space. Of bytes that guests had not added, only those on the disk count: cutting
    /// a hole of the user's file frees nothing.
    pub(crate) fn shrink(&self, freed: FreedSpace) {
        self.shrink_by(freed);
    }

    /// Returns by how much the count shrinks.
    fn shrink_by(&self, freed: FreedSpace) -> i64 {
        if let Some(transaction) = &self.0.transaction {
            let shrunk = transaction.workdir.shrink_by(freed);
            self.0.bytes.fetch_sub(shrunk, Relaxed);
            return shrunk;
        }
        let (bytes, on_disk) = (signed(freed.bytes), signed(freed.on_disk));
        let mut shrunk = 0;
        let subtract = |grown: i64| {
            let of_guests = bytes.min(grown.max(0));
            let of_others = (bytes - of_guests).min((on_disk - of_guests).max(0));
            let left = grown.saturating_sub(of_guests).saturating_sub(of_others);
            shrunk = grown.saturating_sub(left);
            Some(left)
        };
        let _ = self.0.bytes.fetch_update(Relaxed, Relaxed, subtract);
        shrunk
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_the_smallest_unused_counts_first() {
        let identity = |inode| (FileId { device: 1, inode }, None);
        let mut usages = HashMap::new();
        for inode in 0..9 {
            let usage = WorkdirUsage::default();
            usage.grow(inode * 100, u64::MAX);
            usages.insert(identity(inode), usage);
        }
        let used = usages[&identity(0)].clone();
        forget_half(&mut usages);
        let mut left: Vec<u64> = usages.keys().map(|(id, _)| id.inode).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 5, 6, 7, 8]);
        drop(used);
    }

    #[test]
    fn an_existing_hole_does_not_count_as_freed_space() {
        let usage = WorkdirUsage::default();
        let shrink = |bytes, on_disk| usage.shrink(FreedSpace { bytes, on_disk });
        assert!(usage.grow(100, 100));
        // A file of 1,000 bytes, 40 of which are on the disk.
        shrink(1_000, 40);
        assert!(usage.grow(100, 100) && !usage.grow(1, 100));
        // Allocated bytes count, also those that no guest had added.
        shrink(500, 512);
        assert!(usage.grow(500, 100) && !usage.grow(1, 100));
    }
}
