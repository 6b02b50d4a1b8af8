//! A directory listing, read one name at a time.

use cap_std::fs::{Dir, DirEntry, FileType, ReadDir};

use super::budget::{Budget, OpenSlot};
use super::error::FsResult;
use crate::workdir::{FileKind, ListingChanges, Overlay};

/// An open listing. Names are read when the guest asks for them, and never collected.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Listing {
    entries: ReadDir,
    /// What a transaction has changed.
    changes: Option<ListingChanges>,
    budget: Budget,
    /// One for the directory and one for the system's reader of it.
    _slots: [OpenSlot; 2],
}

/// The type of a listed entry.
pub(super) enum ListedType {
    /// Of the directory's own entry.
    Own(FileType),
    /// Of one that a transaction has changed.
    Merged(FileKind),
}

impl Listing {
    pub(super) fn new(dir: &Dir, overlay: Option<&Overlay>, budget: &Budget) -> FsResult<Self> {
        let slots = [budget.open_slot()?, budget.open_slot()?];
        let changes = overlay.map(|overlay| overlay.listing(dir)).transpose()?;
        Ok(Self {
            entries: dir.entries()?,
            changes: changes.flatten(),
            budget: budget.clone(),
            _slots: slots,
        })
    }

    /// Reads the next entry. A name that is not UTF-8 is listed with replacement characters: guests
    /// cannot open it, but see that the directory is not empty.
    pub(super) fn next(&mut self) -> FsResult<Option<(ListedType, String)>> {
        let Some(entry) = self.next_own()? else {
            let Some((kind, name)) = self.changes.as_mut().and_then(ListingChanges::next) else {
                return Ok(None);
            };
            self.budget.listed_name()?;
            return Ok(Some((ListedType::Merged(kind), name)));
        };
        self.budget.listed_name()?;
        let mut file_type = entry.file_type()?;
        if file_type == FileType::unknown() {
            // Some file systems list no types.
            file_type = entry
                .metadata()
                .map_or(file_type, |found| found.file_type());
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok(Some((ListedType::Own(file_type), name)))
    }

    /// Reads the next of the directory's own entries.
    fn next_own(&mut self) -> FsResult<Option<DirEntry>> {
        loop {
            let Some(entry) = self.entries.next().transpose()? else {
                return Ok(None);
            };
            let changes = self.changes.as_ref();
            if !changes.is_some_and(|changes| changes.hides(&entry.file_name())) {
                return Ok(Some(entry));
            }
        }
    }
}
