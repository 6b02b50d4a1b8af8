//! Streams that read and write an open file.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use toolhost_files::{CHUNK, OpenFile};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

/// Reads a file, starting at a position.
pub(super) struct FileReader {
    pub(super) file: Arc<OpenFile>,
    pub(super) position: u64,
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        self.file.meter().attempts.count_step();
        let bytes = self.file.read_at(size, self.position).map_err(failed)?;
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
pub(super) enum WriteFrom {
    /// At this offset.
    Offset(u64),
    /// At the end of the file, at each write.
    End,
}

/// Writes a file, starting at a position or always at its end.
pub(super) struct FileWriter {
    pub(super) file: Arc<OpenFile>,
    pub(super) from: WriteFrom,
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.file.meter().attempts.count_step();
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
