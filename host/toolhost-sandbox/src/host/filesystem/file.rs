//! An open regular file: what is read and written, within the budget.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt};

use bytes::BytesMut;
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use super::budget::{Budget, Gone, OpenSlot};
use super::code::{FsResult, code_of};
use crate::host::bindings::filesystem::types::{DescriptorFlags, ErrorCode};

/// Most bytes moved by one read or write of a stream.
pub(super) const CHUNK: usize = 64 << 10;

/// An open regular file.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenFile {
    pub(super) file: File,
    budget: Budget,
    pub(super) flags: DescriptorFlags,
    _slot: OpenSlot,
}

/// What a file takes.
#[derive(Clone, Copy)]
struct Extent {
    /// Bytes.
    size: u64,
    on_disk: u64,
    is_named: bool,
}

impl Extent {
    /// How much of these bytes the workdir grows or shrinks by: a file whose last name is gone was
    /// given back with the name, and is gone with the call.
    fn in_workdir(self, bytes: u64) -> u64 {
        if self.is_named { bytes } else { 0 }
    }
}

impl OpenFile {
    pub(super) fn new(file: File, flags: DescriptorFlags, budget: Budget, slot: OpenSlot) -> Self {
        Self {
            file,
            budget,
            flags,
            _slot: slot,
        }
    }

    /// The guest uses the file through a stream of it.
    pub(super) fn used(&self) {
        self.budget.used();
    }

    fn extent(&self) -> io::Result<Extent> {
        let metadata = self.file.metadata()?;
        Ok(Extent {
            size: metadata.len(),
            on_disk: metadata.blocks().saturating_mul(512),
            is_named: metadata.nlink() > 0,
        })
    }

    pub(super) fn set_size(&self, size: u64) -> io::Result<()> {
        let _changing = self.budget.changing();
        let before = self.extent()?;
        let growth = size.saturating_sub(before.size);
        self.budget.charge(growth, before.in_workdir(growth))?;
        match self.file.set_len(size) {
            Ok(()) => {
                let shrunk = before.size.saturating_sub(size);
                self.budget.cut(Gone {
                    bytes: before.in_workdir(shrunk),
                    on_disk: before.in_workdir(before.on_disk),
                });
            }
            Err(error) => {
                self.budget.freed(before.in_workdir(growth));
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn check(&self, flag: DescriptorFlags) -> FsResult<()> {
        if self.flags.contains(flag) {
            Ok(())
        } else {
            Err(ErrorCode::BadDescriptor.into())
        }
    }

    /// Reads at most `size` bytes; the flag says that the end was reached.
    pub(super) fn read_at(&self, size: usize, at: u64) -> io::Result<(BytesMut, bool)> {
        let left = self.extent()?.size.saturating_sub(at);
        let most = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        // One byte more than is left, so that a file that grows meanwhile is not cut short.
        let mut bytes = BytesMut::zeroed(size.min(most + 1));
        let read = loop {
            match self.file.read_at(&mut bytes, at) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        bytes.truncate(read);
        self.budget.read(read);
        Ok((bytes, read < size && read as u64 >= left))
    }

    /// Writes all of `bytes`, or nothing where the budget is spent.
    pub(super) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let _changing = self.budget.changing();
        self.write(bytes, self.extent()?, at, || {
            self.file.write_all_at(bytes, at)
        })
    }

    /// Writes all of `bytes` to the end, wherever others have moved it by then.
    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let _changing = self.budget.changing();
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
        let end = at
            .checked_add(length)
            .ok_or_else(|| io::Error::from(Errno::FBIG))?;
        let growth = end.saturating_sub(before.size);
        let growth = if bytes.is_empty() { 0 } else { growth };
        self.budget
            .charge(length.max(growth), before.in_workdir(growth))?;
        let written = write();
        match &written {
            Ok(()) => self.budget.wrote(length),
            // What was written of it counts; what the file did not grow by is given back.
            Err(error) => {
                self.budget.failed(code_of(error));
                let grown = self.extent()?.size.saturating_sub(before.size);
                self.budget.wrote(grown.min(length));
                self.budget
                    .freed(before.in_workdir(growth.saturating_sub(grown)));
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
