//! By how much guests have grown a workdir.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use cap_std::fs::Dir;

/// Bytes by which guests have grown a workdir: one count for all handles on the same directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth {
    /// Dropped before the directory: while the count is held, so is the inode it belongs to, and no
    /// new directory comes to it.
    bytes: Arc<AtomicI64>,
    _dir: Option<Arc<Dir>>,
}

impl Growth {
    pub(super) fn of(dir: &Arc<Dir>, bytes: Arc<AtomicI64>) -> Self {
        Self {
            bytes,
            _dir: Some(Arc::clone(dir)),
        }
    }

    /// Takes `bytes` where that leads to no more than `most`, in one step: other calls take of it
    /// too.
    pub(crate) fn take(&self, bytes: u64, most: u64) -> bool {
        let add = |grown: i64| {
            let grown = grown.saturating_add(signed(bytes));
            (grown <= signed(most)).then_some(grown)
        };
        bytes == 0 || self.bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(signed(bytes), Relaxed);
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
