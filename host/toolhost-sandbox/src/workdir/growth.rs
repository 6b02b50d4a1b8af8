//! By how much guests have grown each workdir.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use cap_std::fs::Dir;
use cap_std::time::SystemTime;

use super::{FileId, file_id};
use crate::sync::lock;

/// Most workdirs remembered that no call holds.
const REMEMBERED: usize = 10_000;

/// A directory, told apart from a later one to which the system gives the same number.
type Birth = (FileId, Option<SystemTime>);

/// The counts of the workdirs a sandbox has opened. They outlive the handles: a host that opens a
/// workdir anew for each turn has one count, not one for each.
#[derive(Debug, Default)]
pub(crate) struct Growths(Mutex<HashMap<Birth, Growth>>);

impl Growths {
    /// The count of a directory: one for all handles on it.
    pub(crate) fn of(&self, dir: &Dir) -> Growth {
        let Ok(metadata) = dir.dir_metadata() else {
            return Growth::default();
        };
        let birth = (file_id(&metadata), metadata.created().ok());
        let mut known = lock(&self.0);
        if known.len() >= REMEMBERED {
            forget_half(&mut known);
        }
        known.entry(birth).or_default().clone()
    }
}

/// Forgets half of those that no call holds, the smallest first: whoever opens many workdirs does
/// not wash a count away that is larger than theirs.
fn forget_half(known: &mut HashMap<Birth, Growth>) {
    let free = known.iter().filter(|(_, growth)| !growth.is_held());
    let mut free: Vec<(i64, Birth)> = free
        .map(|(birth, growth)| (growth.0.bytes.load(Relaxed), *birth))
        .collect();
    free.sort_unstable_by_key(|(bytes, _)| *bytes);
    for (_, birth) in free.iter().take(free.len().div_ceil(2)) {
        known.remove(birth);
    }
}

/// Bytes by which guests have grown one workdir.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth(Arc<Count>);

#[derive(Debug, Default)]
struct Count {
    bytes: AtomicI64,
    /// Held while a file changes its size or goes.
    changing: Mutex<()>,
}

impl Growth {
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Held from the look at what a file takes until its change is counted: no two calls count one
    /// change.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        lock(&self.0.changing)
    }

    /// Takes `bytes` where that leads to no more than `most`, in one step: other calls take of it
    /// too.
    pub(crate) fn take(&self, bytes: u64, most: u64) -> bool {
        let add = |grown: i64| {
            let grown = grown.saturating_add(signed(bytes));
            (grown <= signed(most)).then_some(grown)
        };
        bytes == 0 || self.0.bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Gives back `bytes`. Of what was not taken before, no more than was on the disk: a hole of the
    /// user's is no room.
    pub(crate) fn give_back(&self, bytes: u64, on_disk: u64) {
        let (bytes, on_disk) = (signed(bytes), signed(on_disk));
        let less = |grown: i64| {
            let taken = bytes.min(grown.max(0));
            let more = (bytes - taken).min((on_disk - taken).max(0));
            Some(grown.saturating_sub(taken).saturating_sub(more))
        };
        let _ = self.0.bytes.fetch_update(Relaxed, Relaxed, less);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_counts_are_remembered_longest() {
        let birth = |inode| (FileId { device: 1, inode }, None);
        let mut known = HashMap::new();
        for inode in 0..9 {
            let growth = Growth::default();
            growth.take(inode * 100, u64::MAX);
            known.insert(birth(inode), growth);
        }
        let held = known[&birth(0)].clone();
        forget_half(&mut known);
        let mut left: Vec<u64> = known.keys().map(|(id, _)| id.inode).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 5, 6, 7, 8]);
        drop(held);
    }

    #[test]
    fn a_hole_that_was_there_before_is_no_room() {
        let growth = Growth::default();
        assert!(growth.take(100, 100));
        // A file of 1,000 bytes, 40 of which are on the disk.
        growth.give_back(1_000, 40);
        assert!(growth.take(100, 100) && !growth.take(1, 100));
        // What was on the disk is room, also beyond what was taken.
        growth.give_back(500, 512);
        assert!(growth.take(500, 100) && !growth.take(1, 100));
    }
}
