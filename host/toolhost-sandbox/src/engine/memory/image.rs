//! What a memory begins with.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::thread;
use std::time::Duration;

use std::os::fd::AsFd;

use super::address_space::AddressSpace;
use crate::platform::memory_file;

/// Bytes of a page of WebAssembly, and so a multiple of the machine's page size.
pub(crate) const PAGE: usize = 64 << 10;

/// How often the system is asked for an image.
const ATTEMPTS: u32 = 3;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// What a memory begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InitialData {
    /// Where the bytes lie in the memory: a multiple of [`PAGE`].
    pub(crate) offset: usize,
    /// Whole pages.
    pub(crate) bytes: Vec<u8>,
    /// Bytes that the memory begins with: no other memory of the component begins with as many.
    pub(crate) minimum: usize,
}

/// The initial data of a memory: a part of a file, which every slot maps copy-on-write.
#[derive(Debug)]
pub(crate) struct Image {
    file: File,
    file_offset: u64,
    /// Where it lies in the memory. Whole pages.
    range: Range<usize>,
    /// Bytes that the memory begins with.
    minimum: usize,
    /// The image once more, read-only, to reset pages from.
    source: AddressSpace,
}

impl Image {
    /// Maps an image that lies in a file. `file_offset` is a multiple of [`PAGE`]. `range` is where it lies
    /// in a memory that begins with `minimum` bytes.
    ///
    /// Whoever can change or truncate the file changes what instances begin with, or ends the process.
    pub(crate) fn map(
        file: File,
        file_offset: u64,
        range: Range<usize>,
        minimum: usize,
    ) -> io::Result<Self> {
        let mut source = AddressSpace::reserve(range.len())?;
        source.map_file(0..range.len(), file.as_fd(), file_offset, false)?;
        Ok(Self {
            file,
            file_offset,
            range,
            minimum,
            source,
        })
    }

    /// Copies an image into a file in memory, without a name.
    pub(crate) fn copy(data: &InitialData) -> io::Result<Self> {
        let mut file = memory_file("initial data")?;
        file.write_all(&data.bytes)?;
        let range = data.offset..data.offset + data.bytes.len();
        Self::map(file, 0, range, data.minimum)
    }

    /// Copies an image as [`Self::copy`] does, again if the system refuses: it may lack a descriptor or
    /// memory for a moment. Blocks the thread meanwhile.
    pub(crate) fn copy_with_retries(data: &InitialData) -> io::Result<Self> {
        with_retries(|| Self::copy(data))
    }

    /// Where it lies in the memory.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Bytes that the memory begins with.
    pub(crate) fn minimum(&self) -> usize {
        self.minimum
    }

    /// All its bytes.
    #[expect(
        unsafe_code,
        reason = "mapped readable when it was made, and nobody writes to it"
    )]
    pub(crate) fn bytes(&self) -> &[u8] {
        unsafe { self.source.bytes(0..self.range.len()) }
    }

    /// Maps it copy-on-write where it lies in a memory that begins at `origin`.
    pub(super) fn map_into(&self, space: &mut AddressSpace, origin: usize) -> io::Result<()> {
        let range = origin + self.range.start..origin + self.range.end;
        space.map_file(range, self.file.as_fd(), self.file_offset, true)
    }
}

/// Returns the first success of [`ATTEMPTS`], or the last error.
fn with_retries<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..ATTEMPTS {
        if let Ok(done) = attempt() {
            return Ok(done);
        }
        thread::sleep(PAUSE);
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_the_system_refuses_is_asked_for_again_and_then_given_up() {
        let data = InitialData {
            offset: PAGE,
            bytes: vec![7; PAGE],
            minimum: 4 * PAGE,
        };
        for (refusals, made) in [(0, true), (2, true), (3, false)] {
            let mut asked = 0;
            let image = with_retries(|| {
                asked += 1;
                if asked <= refusals {
                    return Err(rustix::io::Errno::BUSY.into());
                }
                Image::copy(&data)
            });
            assert_eq!(image.is_ok(), made, "{refusals}");
            assert_eq!(asked, 3.min(refusals + 1), "{refusals}");
            match image {
                Ok(image) => assert_eq!(image.bytes(), data.bytes),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::ResourceBusy),
            }
        }
    }
}
