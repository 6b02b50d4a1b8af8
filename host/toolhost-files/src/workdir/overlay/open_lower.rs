//! Open files of the lower layer, which switch to the staged copy once there is one.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_contract::FileId;

/// A file of the lower layer that a call of a transaction has open. It is opened for reading only.
#[derive(Debug)]
pub(crate) struct OpenLower {
    pub(super) id: FileId,
    writes: bool,
    current: RwLock<Arc<File>>,
    is_staged: AtomicBool,
}

impl OpenLower {
    pub(super) fn new(lower: File, id: FileId, writes: bool) -> Self {
        Self {
            id,
            writes,
            current: RwLock::new(Arc::new(lower)),
            is_staged: AtomicBool::new(false),
        }
    }

    pub(super) fn current(&self) -> Arc<File> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    pub(super) fn is_staged(&self) -> bool {
        self.is_staged.load(Relaxed)
    }

    /// Reads and writes the staged copy from now on.
    pub(super) fn switch_to(&self, copy: &File) -> Result<(), Errno> {
        let access = if self.writes {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        let opened = crate::platform::open_again(copy, access | OFlags::CLOEXEC)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(opened.into());
        self.is_staged.store(true, Relaxed);
        Ok(())
    }
}
