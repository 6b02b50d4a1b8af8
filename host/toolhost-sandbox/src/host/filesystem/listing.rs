//! A directory listing, read one name at a time.

use cap_std::fs::{Dir, FileType, ReadDir};

use super::budget::{Budget, OpenSlot};
use super::error::FsResult;

/// An open listing. Names are read when the guest asks for them, and never collected.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Listing {
    entries: ReadDir,
    budget: Budget,
    /// One for the directory and one for the system's reader of it.
    _slots: [OpenSlot; 2],
}

impl Listing {
    pub(super) fn new(dir: &Dir, budget: &Budget) -> FsResult<Self> {
        let slots = [budget.open_slot()?, budget.open_slot()?];
        Ok(Self {
            entries: dir.entries()?,
            budget: budget.clone(),
            _slots: slots,
        })
    }

    /// Reads the next entry. A name that is not UTF-8 is listed with replacement characters: guests
    /// cannot open it, but see that the directory is not empty.
    pub(super) fn next(&mut self) -> FsResult<Option<(FileType, String)>> {
        let Some(entry) = self.entries.next().transpose()? else {
            return Ok(None);
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
        Ok(Some((file_type, name)))
    }
}
