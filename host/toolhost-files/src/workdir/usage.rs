//! Counts the bytes by which guests have grown each workdir.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cap_std::fs::Dir;
use cap_std::time::SystemTime;
use rustix::io::Errno;
use toolhost_contract::FileId;
use toolhost_runtime::lock;

use super::changes::{ChangeGuard, ChangeLocks, Target};
use super::identity::file_id;
use super::open_files::OpenFiles;

/// Maximum number of unused workdirs whose usage is remembered.
const REMEMBERED_MAX: usize = 10_000;

/// Identifies a directory. The creation time tells it from a later one with the same inode.
type DirIdentity = (FileId, Option<SystemTime>);

/// The usage of each workdir that a sandbox has opened. It outlives the handles: a host that reopens
/// a workdir for each turn goes on with the same count.
#[derive(Debug, Default)]
pub struct WorkdirUsages(Mutex<HashMap<DirIdentity, WorkdirUsage>>);

impl WorkdirUsages {
    /// Returns the usage that all handles of a directory share.
    pub(crate) fn of(&self, dir: &Dir) -> io::Result<WorkdirUsage> {
        let metadata = dir.dir_metadata()?;
        let identity = (file_id(&metadata), metadata.created().ok());
        let mut usages = lock(&self.0);
        if usages.len() >= REMEMBERED_MAX {
            forget_half(&mut usages);
        }
        Ok(usages.entry(identity).or_default().clone())
    }
}

/// Forgets the smaller half of the unused usages, so that opening many workdirs does not reset a
/// count that is larger than theirs.
fn forget_half(usages: &mut HashMap<DirIdentity, WorkdirUsage>) {
    let mut unused: Vec<(i64, DirIdentity)> = usages
        .iter()
        .filter(|(_, usage)| Arc::strong_count(&usage.0) == 1)
        .map(|(identity, usage)| (lock(&usage.0.growth).bytes, *identity))
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
    /// That of the workdir; of a transaction, its part of that.
    growth: Mutex<Growth>,
    changes: ChangeLocks,
    open: OpenFiles,
    transaction: Option<Transaction>,
}

/// What guests have added to a workdir.
#[derive(Debug, Default)]
struct Growth {
    /// Bytes by which it has grown.
    bytes: i64,
    /// Bytes of copies of its files that transactions have staged. None of a copy remains once its transaction has
    /// ended: a commit puts it in the place of the file.
    staged: i64,
}

impl Growth {
    /// Whether there is room for more bytes.
    fn has_room(&self, bytes: i64, limit: u64) -> bool {
        let sum = self.bytes.saturating_add(self.staged);
        sum.saturating_add(bytes) <= signed(limit)
    }
}

/// What the count of a transaction adds to.
#[derive(Debug)]
struct Transaction {
    workdir: WorkdirUsage,
    is_committed: AtomicBool,
}

impl Drop for Count {
    fn drop(&mut self) {
        if let Some(transaction) = &self.transaction {
            let own = lock(&self.growth);
            let mut growth = lock(&transaction.workdir.0.growth);
            growth.staged -= own.staged;
            if !transaction.is_committed.load(Relaxed) {
                growth.bytes -= own.bytes;
            }
        }
    }
}

impl WorkdirUsage {
    /// Locks files or names of the workdir. Held from reading a size, or finding what a name leads to, until
    /// the change is counted, so that no two calls count the same change. A file call that hangs delays only
    /// calls that change the same file or name, each until its deadline `ends`.
    ///
    /// # Errors
    /// `EBUSY` where the deadline passes meanwhile.
    pub(crate) fn lock<const N: usize>(
        &self,
        targets: [Target; N],
        ends: Option<Instant>,
    ) -> Result<ChangeGuard<'_, N>, Errno> {
        self.0.changes.lock(targets, ends)
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
            growth: Mutex::default(),
            changes: ChangeLocks::default(),
            open: OpenFiles::default(),
        }))
    }

    /// Keeps what the transaction has added, and gives back what it had staged.
    pub(crate) fn committed(&self) {
        if let Some(transaction) = &self.0.transaction {
            transaction.is_committed.store(true, Relaxed);
            let staged = std::mem::take(&mut lock(&self.0.growth).staged);
            lock(&transaction.workdir.0.growth).staged -= staged;
        }
    }

    /// Counts `bytes` of a copy that a transaction stages, until the transaction has ended. Returns true if the
    /// workdir then has grown by `limit` or less.
    pub(crate) fn stage(&self, bytes: u64, limit: u64) -> bool {
        if let Some(transaction) = &self.0.transaction {
            let has_room = transaction.workdir.stage(bytes, limit);
            if has_room {
                lock(&self.0.growth).staged += signed(bytes);
            }
            return has_room;
        }
        let mut growth = lock(&self.0.growth);
        let has_room = growth.has_room(signed(bytes), limit);
        if has_room {
            growth.staged += signed(bytes);
        }
        has_room
    }

    /// Notes that a call has opened a file.
    pub(crate) fn hold(&self, id: FileId) {
        self.0.open.hold(id);
    }

    /// Notes that a call closes a file. Returns true if the caller has to count the space of the file as freed:
    /// it was removed, and no call has it open any more.
    pub(crate) fn release(&self, id: FileId) -> bool {
        self.0.open.release(id)
    }

    /// Notes that a call has removed the last name of a file, under the lock of its size. Returns true if the
    /// caller has to count the space of the file as freed: no call has it open.
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
                lock(&self.0.growth).bytes += signed(bytes);
            }
            return has_room;
        }
        if bytes == 0 {
            return true;
        }
        let mut growth = lock(&self.0.growth);
        let has_room = growth.has_room(signed(bytes), limit);
        if has_room {
            growth.bytes += signed(bytes);
        }
        has_room
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
            lock(&self.0.growth).bytes -= shrunk;
            return shrunk;
        }
        let (bytes, on_disk) = (signed(freed.bytes), signed(freed.on_disk));
        let mut growth = lock(&self.0.growth);
        let of_guests = bytes.min(growth.bytes.max(0));
        let of_others = (bytes - of_guests).min((on_disk - of_guests).max(0));
        let shrunk = of_guests + of_others;
        growth.bytes = growth.bytes.saturating_sub(shrunk);
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
    fn what_transactions_stage_counts_until_they_end() {
        let usage = WorkdirUsage::default();
        let [one, other] = [(); 2].map(|()| usage.transaction());
        assert!(usage.grow(10, 100) && one.stage(60, 100));
        assert!(!other.stage(31, 100) && !other.grow(31, 100) && !usage.grow(31, 100));
        assert!(other.grow(10, 100) && other.stage(20, 100));
        assert!(!usage.grow(1, 100));
        // Cutting a copy frees bytes of the file that it replaces, not of the copy.
        one.shrink(FreedSpace {
            bytes: 5,
            on_disk: 5,
        });
        one.committed();
        assert!(usage.grow(65, 100) && !usage.grow(1, 100));
        assert!(
            !one.stage(1, 100),
            "the last handle of a commit may outlive it"
        );
        drop(one);
        assert!(!usage.grow(1, 100));
        drop(other);
        assert!(usage.grow(30, 100) && !usage.grow(1, 100));
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
