//! Merged listings of directories.

use std::ffi::CStr;
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::snapshot::{ENTRY_BYTES, Snapshot};
use super::state::{Entry, Shown};
use super::view::Overlay;
use crate::workdir::identity::id_of;
use crate::workdir::staging::FileKind;

/// How a listing of a directory's own entries becomes that of the merged view. It shows the directory as it was
/// when the listing began.
#[derive(Debug)]
pub(crate) struct ListingChanges {
    snapshot: Arc<Snapshot>,
    next: usize,
}

impl ListingChanges {
    /// Whether an own entry of the directory is not listed.
    pub(crate) fn hides(&self, name: &CStr) -> bool {
        let entries = &self.snapshot.entries;
        name.to_str().is_ok_and(|name| {
            let of_name = |entry: &(Arc<str>, Option<FileKind>)| (*entry.0).cmp(name);
            entries.binary_search_by(of_name).is_ok()
        })
    }

    /// Returns the next of the entries that are listed beside the directory's own.
    pub(crate) fn next(&mut self) -> Option<(FileType, String)> {
        while let Some((name, kind)) = self.snapshot.entries.get(self.next) {
            self.next += 1;
            if let Some(kind) = kind {
                return Some((file_type(*kind), String::from(&**name)));
            }
        }
        None
    }
}

fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::File => FileType::RegularFile,
        FileKind::Dir => FileType::Directory,
        FileKind::Link => FileType::Symlink,
        FileKind::Other => FileType::Unknown,
    }
}

impl Overlay {
    /// Returns what differs between the directory's own entries and the merged view. None if nothing does.
    pub(crate) fn listing(&self, dir: &Dir) -> Result<Option<ListingChanges>, Errno> {
        let id = id_of(dir)?;
        let mut state = self.lock()?;
        let node = state.dirs.get(&id).filter(|node| !node.entries.is_empty());
        let Some(node) = node else {
            return Ok(None);
        };
        if let Some(snapshot) = node.snapshot.upgrade() {
            return Ok(Some(ListingChanges { snapshot, next: 0 }));
        }
        let bytes = node
            .entries
            .keys()
            .map(|name| ENTRY_BYTES + name.len() as u64);
        let memory = state.hold(bytes.sum())?;
        let shown = |(name, entry): (&Arc<str>, &Entry)| {
            let kind = entry.shows.as_ref().map(Shown::kind);
            (Arc::clone(name), kind)
        };
        let snapshot = Arc::new(Snapshot {
            entries: node.entries.iter().map(shown).collect(),
            _memory: memory,
        });
        if let Some(node) = state.dirs.get_mut(&id) {
            node.snapshot = Arc::downgrade(&snapshot);
        }
        Ok(Some(ListingChanges { snapshot, next: 0 }))
    }
}
