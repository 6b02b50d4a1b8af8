//! A directory listing, one name at a time.

use cap_std::fs::{Dir, FileType, FileTypeExt, ReadDir};
use wasmtime::component::Resource;

use super::FilesystemView;
use super::budget::{Budget, OpenSlot};
use super::code::FsResult;
use crate::host::bindings::filesystem::types::{self, DescriptorType, DirectoryEntry};

/// An open listing. Names are read as the guest asks for them, never collected.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Listing {
    entries: ReadDir,
    budget: Budget,
    /// The folder, and the system's own reading of it.
    _slots: [OpenSlot; 2],
}

impl Listing {
    pub(crate) fn new(dir: &Dir, budget: &Budget) -> FsResult<Self> {
        let slots = [budget.open_slot()?, budget.open_slot()?];
        Ok(Self {
            entries: dir.entries()?,
            budget: budget.clone(),
            _slots: slots,
        })
    }

    fn next(&mut self) -> FsResult<Option<DirectoryEntry>> {
        let Some(entry) = self.entries.next().transpose()? else {
            return Ok(None);
        };
        self.budget.list_name()?;
        let mut kind = entry.file_type()?;
        if kind == FileType::unknown() {
            // Some file systems do not tell the types of what they list.
            kind = entry.metadata().map_or(kind, |found| found.file_type());
        }
        Ok(Some(DirectoryEntry {
            type_: kind_of(kind),
            // A name that is not UTF-8 cannot be opened by a guest, but it is there: a listing that
            // left it out, or failed for it, would be worse.
            name: entry.file_name().to_string_lossy().into_owned(),
        }))
    }
}

/// The WASI type of a host file.
pub(crate) fn kind_of(kind: FileType) -> DescriptorType {
    if kind.is_file() {
        DescriptorType::RegularFile
    } else if kind.is_dir() {
        DescriptorType::Directory
    } else if kind.is_symlink() {
        DescriptorType::SymbolicLink
    } else if kind.is_fifo() {
        DescriptorType::Fifo
    } else if kind.is_socket() {
        DescriptorType::Socket
    } else if kind.is_char_device() {
        DescriptorType::CharacterDevice
    } else if kind.is_block_device() {
        DescriptorType::BlockDevice
    } else {
        DescriptorType::Unknown
    }
}

impl types::HostDirectoryEntryStream for FilesystemView<'_> {
    fn read_directory_entry(
        &mut self,
        stream: Resource<Listing>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.table.get_mut(&stream)?.next()
    }

    fn drop(&mut self, stream: Resource<Listing>) -> wasmtime::Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}
