//! Error numbers, and reading and writing at offsets.

mod errno;

use std::fs::File;
use std::os::windows::fs::FileExt;

use io_lifetimes::AsFilelike as _;

use super::buffer::SpareCapacity;
use super::fd::AsFd;

pub use errno::Errno;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Errno>;

/// What a read fills.
pub trait Buffer {
    /// Has `read` fill the buffer, which returns how many bytes it wrote.
    ///
    /// # Errors
    /// Those of `read`.
    fn fill(self, read: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<usize>;
}

impl Buffer for &mut [u8] {
    fn fill(self, read: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<usize> {
        read(self)
    }
}

impl Buffer for SpareCapacity<'_> {
    fn fill(self, read: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<usize> {
        let begin = self.0.len();
        self.0.resize(self.0.capacity(), 0);
        let done = read(self.0.get_mut(begin..).unwrap_or_default());
        let filled = *done.as_ref().unwrap_or(&0);
        self.0.truncate(begin.saturating_add(filled));
        done
    }
}

/// Reads at an offset. Moves the position of the handle, which no caller uses.
///
/// # Errors
/// The error of the system.
pub fn pread(file: impl AsFd, buffer: impl Buffer, offset: u64) -> Result<usize> {
    let file = file.as_fd();
    let file = file.as_filelike_view::<File>();
    buffer.fill(|bytes| Ok(file.seek_read(bytes, offset)?))
}

/// Writes at an offset. Moves the position of the handle, which no caller uses.
///
/// # Errors
/// The error of the system.
pub fn pwrite(file: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    let file = file.as_fd();
    Ok(file.as_filelike_view::<File>().seek_write(bytes, offset)?)
}
