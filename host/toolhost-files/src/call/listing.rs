//! A directory listing, read one name at a time.

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, DirEntry, FileType, Mode, OFlags, statat};

use super::budget::{Budget, OpenSlot};
use super::files::CallFiles;
use crate::platform;
use crate::workdir::{FileResult, ListingChanges};

/// An open listing. Names are read when the guest asks for them, and never collected.
pub struct Listing {
    entries: rustix::fs::Dir,
    /// What a transaction has changed.
    changes: Option<ListingChanges>,
    budget: Budget,
    /// One for the directory and one for the system's reader of it.
    _slots: [OpenSlot; 2],
}

impl CallFiles {
    /// Begins to list a directory.
    pub fn list(&self, dir: &Dir) -> FileResult<Listing> {
        let budget = self.budget.clone();
        let slots = [budget.open_slot()?, budget.open_slot()?];
        let changes = self.tree.listing_changes(dir)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
        Ok(Listing {
            entries: rustix::fs::Dir::new(readable)?,
            changes,
            budget,
            _slots: slots,
        })
    }
}

impl Listing {
    /// Reads the next entry. A name that is not UTF-8 is listed with replacement characters: guests
    /// cannot open it, but see that the directory is not empty.
    pub fn next_entry(&mut self) -> FileResult<Option<(FileType, String)>> {
        let Some(entry) = self.next_own()? else {
            let entry = self.changes.as_mut().and_then(ListingChanges::next);
            if entry.is_some() {
                self.budget.listed_name()?;
            }
            return Ok(entry);
        };
        self.budget.listed_name()?;
        let mut file_type = entry.file_type();
        if file_type == FileType::Unknown {
            // Some file systems list no types.
            let stat = statat(
                self.entries.fd()?,
                entry.file_name(),
                AtFlags::SYMLINK_NOFOLLOW,
            );
            file_type = stat.map_or(file_type, |stat| platform::file_type(platform::mode(&stat)));
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok(Some((file_type, name)))
    }

    /// Reads the next of the directory's own entries.
    fn next_own(&mut self) -> FileResult<Option<DirEntry>> {
        while let Some(entry) = self.entries.next().transpose()? {
            let name = entry.file_name();
            let is_itself = matches!(name.to_bytes(), b"." | b"..");
            let changes = self.changes.as_ref();
            if !is_itself && !changes.is_some_and(|changes| changes.hides(name)) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}
