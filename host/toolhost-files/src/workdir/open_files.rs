//! The files of a workdir that calls have open. A file that is removed while it is open takes up space until it
//! is closed.

use std::collections::HashMap;
use std::sync::Mutex;

use toolhost_contract::FileId;
use toolhost_runtime::lock;

/// The files of a workdir that calls have open.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(Mutex<HashMap<FileId, Holders>>);

#[derive(Debug, Default)]
struct Holders {
    count: usize,
    /// Whether its last name was removed by a call meanwhile.
    is_removed: bool,
}

impl OpenFiles {
    /// Notes that a call has opened a file.
    pub(super) fn hold(&self, id: FileId) {
        lock(&self.0).entry(id).or_default().count += 1;
    }

    /// Notes that a call closes a file. Returns true if the space of the file counts as freed now: no call has
    /// it open, and a call has removed it.
    pub(super) fn release(&self, id: FileId) -> bool {
        let mut all = lock(&self.0);
        let Some(holders) = all.get_mut(&id) else {
            return false;
        };
        holders.count = holders.count.saturating_sub(1);
        if holders.count > 0 {
            return false;
        }
        all.remove(&id).is_some_and(|holders| holders.is_removed)
    }

    /// Notes that a call has removed the last name of a file. Returns true if the space of the file counts as
    /// freed now: no call has it open.
    pub(super) fn remove(&self, id: FileId) -> bool {
        match lock(&self.0).get_mut(&id) {
            Some(holders) => {
                holders.is_removed = true;
                false
            }
            None => true,
        }
    }

    /// Returns whether a call has removed a file that is open.
    pub(super) fn is_removed(&self, id: FileId) -> bool {
        let all = lock(&self.0);
        all.get(&id).is_some_and(|holders| holders.is_removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_of_a_file_is_freed_once_by_whoever_lets_it_go_last() {
        let files = OpenFiles::default();
        let id = FileId {
            device: 1,
            inode: 2,
        };
        assert!(files.remove(id), "nobody has it open");
        files.hold(id);
        assert!(!files.release(id), "it has a name");
        files.hold(id);
        files.hold(id);
        assert!(!files.remove(id) && files.is_removed(id));
        assert!(!files.release(id));
        assert!(files.release(id));
        assert!(!files.is_removed(id) && !files.release(id));
        // A new file with the same number.
        files.hold(id);
        assert!(!files.is_removed(id));
    }
}
