//! Files as streams.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::descriptor::{Extent, OpenFile};

/// Most bytes moved by one read or write of a stream.
pub(crate) const CHUNK: usize = 64 << 10;

fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

/// Reads a file from a position on.
pub(crate) struct FileReader {
    file: Arc<OpenFile>,
    position: u64,
}

impl FileReader {
    pub(crate) fn new(file: Arc<OpenFile>, position: u64) -> Self {
        Self { file, position }
    }
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let (bytes, _) = self.file.read_at(size, self.position).map_err(failed)?;
        if bytes.is_empty() {
            return Err(StreamError::Closed);
        }
        self.position = self.position.saturating_add(bytes.len() as u64);
        Ok(bytes.into())
    }
}

#[async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

/// Where a [`FileWriter`] writes next.
pub(crate) enum WriteFrom {
    /// At this offset.
    Offset(u64),
    /// At the end, wherever that is.
    End,
}

/// Writes a file from a position, or its end, on.
pub(crate) struct FileWriter {
    file: Arc<OpenFile>,
    from: WriteFrom,
}

impl FileWriter {
    pub(crate) fn new(file: Arc<OpenFile>, from: WriteFrom) -> Self {
        Self { file, from }
    }
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        match &mut self.from {
            WriteFrom::End => self.file.append(&bytes).map_err(failed),
            WriteFrom::Offset(at) => {
                self.file.write_at(&bytes, *at).map_err(failed)?;
                *at = at.saturating_add(bytes.len() as u64);
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

impl OpenFile {
    /// Reads at most `size` bytes; the flag says that the end was reached.
    pub(crate) fn read_at(&self, size: usize, at: u64) -> io::Result<(BytesMut, bool)> {
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
    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write(bytes, self.extent()?, at, || {
            self.file.write_all_at(bytes, at)
        })
    }

    /// Writes all of `bytes` to the end, wherever other calls have moved it by then.
    pub(crate) fn append(&self, bytes: &[u8]) -> io::Result<()> {
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
        match written {
            Ok(()) => self.budget.wrote(length),
            // What was written of it counts; what the file did not grow by is given back.
            Err(_) => {
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
