//! An open regular file, read and written within the budget.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::Ordering::Relaxed;

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, ReadWriteFlags, pread, pwritev2};

use super::budget::{Budget, OpenSlot};
use super::error::errno_of;
use crate::workdir::FreedSpace;

/// Maximum bytes of one read or write of a stream.
pub(super) const CHUNK: usize = 64 << 10;

/// The access that a guest asked for when it opened a file.
#[derive(Clone, Copy)]
pub(super) struct FileAccess {
    pub(super) read: bool,
    pub(super) write: bool,
    /// `O_RSYNC`, which is reported and otherwise ignored: no read waits for the disk.
    pub(super) read_sync: bool,
}

/// An open regular file.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenFile {
    pub(super) file: File,
    pub(super) access: FileAccess,
    pub(super) budget: Budget,
    _slot: OpenSlot,
}

/// The size of a file before a change.
#[derive(Clone, Copy)]
struct Extent {
    size: u64,
    on_disk: u64,
    has_name: bool,
}

impl Extent {
    /// Returns how many of the changed bytes count for the workdir: none if the file has no name any
    /// more, as its space was counted as freed with its last name.
    fn in_workdir(self, bytes: u64) -> u64 {
        if self.has_name { bytes } else { 0 }
    }
}

impl OpenFile {
    pub(super) fn new(file: File, access: FileAccess, budget: Budget, slot: OpenSlot) -> Self {
        Self {
            file,
            access,
            budget,
            _slot: slot,
        }
    }

    fn extent(&self) -> io::Result<Extent> {
        let metadata = self.file.metadata()?;
        Ok(Extent {
            size: metadata.len(),
            on_disk: metadata.blocks().saturating_mul(512),
            has_name: metadata.nlink() > 0,
        })
    }

    pub(super) fn set_size(&self, size: u64) -> io::Result<()> {
        let _sizes = self.budget.usage.lock_sizes();
        let before = self.extent()?;
        let growth = size.saturating_sub(before.size);
        self.budget.charge(growth, before.in_workdir(growth))?;
        if let Err(error) = self.file.set_len(size) {
            self.budget.give_back(before.in_workdir(growth));
            return Err(error);
        }
        let cut = before.size.saturating_sub(size);
        self.budget.usage.shrink(FreedSpace {
            bytes: before.in_workdir(cut),
            on_disk: before.in_workdir(before.on_disk),
        });
        Ok(())
    }

    /// Reads at most `size` bytes, and at most [`CHUNK`]. None are left at the end of the file.
    pub(super) fn read_at(&self, size: usize, at: u64) -> io::Result<Vec<u8>> {
        // Not zeroed: the system writes what is read, and nothing else of it is used.
        let mut bytes = Vec::with_capacity(size.min(CHUNK));
        let read = loop {
            match pread(&self.file, spare_capacity(&mut bytes), at) {
                Err(Errno::INTR) => {}
                done => break done?,
            }
        };
        let bytes_read = &self.budget.meter.bytes_read;
        bytes_read.fetch_add(read as u64, Relaxed);
        Ok(bytes)
    }

    /// Returns whether the file ends at this offset or before.
    pub(super) fn ends_at(&self, at: u64) -> io::Result<bool> {
        Ok(self.extent()?.size <= at)
    }

    /// Writes all of `bytes`, or none if the budget is spent.
    pub(super) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let _sizes = self.budget.usage.lock_sizes();
        self.write(bytes, self.extent()?, at, || {
            self.file.write_all_at(bytes, at)
        })
    }

    /// Writes all of `bytes` at the end of the file, even if another process moves the end meanwhile.
    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let _sizes = self.budget.usage.lock_sizes();
        let extent = self.extent()?;
        self.write(bytes, extent, extent.size, || append_all(&self.file, bytes))
    }

    fn write(
        &self,
        bytes: &[u8],
        before: Extent,
        at: u64,
        write: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let length = bytes.len() as u64;
        let end = at.checked_add(length).ok_or(Errno::FBIG)?;
        let growth = match length {
            0 => 0,
            _ => end.saturating_sub(before.size),
        };
        self.budget
            .charge(length.max(growth), before.in_workdir(growth))?;
        let bytes_written = &self.budget.meter.bytes_written;
        let written = write();
        match &written {
            Ok(()) => {
                bytes_written.fetch_add(length, Relaxed);
            }
            // A part may have been written. The growth that did not happen is given back.
            Err(error) => {
                self.budget.failed(errno_of(error));
                let grown = self.extent()?.size.saturating_sub(before.size);
                bytes_written.fetch_add(grown.min(length), Relaxed);
                let missing = growth.saturating_sub(grown);
                self.budget.give_back(before.in_workdir(missing));
            }
        }
        written
    }
}

fn append_all(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match pwritev2(file, &[IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
