//! What open listings show of a directory's changed entries.

use std::sync::Arc;

use crate::accounting::call_memory::HeldMemory;
use crate::workdir::staging::FileKind;

/// The changed entries of a directory, as they were when a listing began. Listings between two changes share it.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Sorted by name. Without a kind where the name is removed.
    pub(super) entries: Vec<(Arc<str>, Option<FileKind>)>,
    pub(super) _memory: Option<HeldMemory>,
}

/// Bytes of memory for an entry of a snapshot, beside its name.
pub(super) const ENTRY_BYTES: u64 = 48;
