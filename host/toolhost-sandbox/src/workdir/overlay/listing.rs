//! Merged listings of directories.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;

use cap_std::fs::Dir;
use toolhost_system::io::Errno;

use super::error::errno_of;
use super::view::Overlay;
use crate::workdir::file_id;
use crate::workdir::staging::FileKind;

/// How a listing of a directory's own entries becomes that of the merged view. It shows the directory as it was
/// when the listing began.
#[derive(Debug, Default)]
pub(crate) struct ListingChanges {
    /// Names of the directory's own entries that are not listed.
    hidden: HashSet<String>,
    /// What is listed beside them.
    added: VecDeque<(FileKind, String)>,
}

impl ListingChanges {
    /// Whether an own entry of the directory is not listed.
    pub(crate) fn hides(&self, name: &OsStr) -> bool {
        name.to_str().is_some_and(|name| self.hidden.contains(name))
    }

    /// Returns the next of the entries that are listed beside the directory's own.
    pub(crate) fn next(&mut self) -> Option<(FileKind, String)> {
        self.added.pop_front()
    }
}

impl Overlay {
    /// Returns what differs between the directory's own entries and the merged view. None if nothing does.
    pub(crate) fn listing(&self, dir: &Dir) -> Result<Option<ListingChanges>, Errno> {
        if !self.is_active() {
            return Ok(None);
        }
        let id = file_id(&dir.dir_metadata().map_err(|error| errno_of(&error))?);
        let state = self.lock();
        let node = state.dirs.get(&id).filter(|node| !node.entries.is_empty());
        Ok(node.map(|node| {
            let shown = |(name, entry): (&String, &super::state::Entry)| {
                Some((entry.shows.as_ref()?.kind(), name.clone()))
            };
            ListingChanges {
                hidden: node.entries.keys().cloned().collect(),
                added: node.entries.iter().filter_map(shown).collect(),
            }
        }))
    }
}
