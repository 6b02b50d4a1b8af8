//! What types of the standard library have on Unix.

use std::fs::{DirBuilder, File, FileType, OpenOptions, Permissions};
use std::io;
use std::os::windows::fs::FileExt as _;
use std::path::Path;

use super::flags::OFlags;
use super::open::OPEN_REPARSE_POINT;

/// Returns the permissions of a mode: none, as there are no permission bits.
#[must_use]
pub fn permissions_of(_: u32) -> Option<Permissions> {
    None
}

/// Permission bits.
pub trait PermissionsExt {
    /// Returns the bits of a file that its owner alone may read and write.
    fn mode(&self) -> u32;
}

impl PermissionsExt for Permissions {
    fn mode(&self) -> u32 {
        0o600
    }
}

/// The mode of new directories.
pub trait DirBuilderExt {
    /// Does nothing: new directories have the access control list that they inherit.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _: u32) -> &mut Self {
        self
    }
}

/// The mode of new files, and flags.
pub trait OpenOptionsExt {
    /// Does nothing: new files have the access control list that they inherit.
    fn mode(&mut self, mode: u32) -> &mut Self;

    /// Sets the bits of [`OFlags`]. With `NOFOLLOW`, a link is opened itself, and its metadata says so: it cannot be
    /// read as a file. The others have no effect here.
    fn custom_flags(&mut self, flags: i32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _: u32) -> &mut Self {
        self
    }

    fn custom_flags(&mut self, flags: i32) -> &mut Self {
        let flags = OFlags::from_bits_truncate(flags.cast_unsigned());
        if flags.contains(OFlags::NOFOLLOW) {
            std::os::windows::fs::OpenOptionsExt::custom_flags(self, OPEN_REPARSE_POINT);
        }
        self
    }
}

/// Reading and writing at offsets. Both move the position of the handle.
pub trait FileExt {
    /// Fills a buffer.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before, and errors of the system.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all bytes.
    ///
    /// # Errors
    /// The error of the system.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Reads some bytes. Returns how many.
    ///
    /// # Errors
    /// The error of the system.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl FileExt for File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.seek_read(rest, offset.saturating_add(done as u64)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => done = done.saturating_add(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match self.seek_write(rest, offset.saturating_add(done as u64)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done = done.saturating_add(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek_read(buffer, offset)
    }
}

/// Types of files that no directory of Windows has.
pub trait FileTypeExt {
    /// Returns false.
    fn is_fifo(&self) -> bool;

    /// Returns false.
    fn is_socket(&self) -> bool;
}

impl FileTypeExt for FileType {
    fn is_fifo(&self) -> bool {
        false
    }

    fn is_socket(&self) -> bool {
        false
    }
}

/// Creates a symbolic link. A user who is no administrator may do so in the developer mode of Windows alone.
///
/// # Errors
/// The error of the system.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (target, link) = (target.as_ref(), link.as_ref());
    let leads_to = link.parent().unwrap_or(Path::new(".")).join(target);
    if leads_to.is_dir() {
        std::os::windows::fs::symlink_dir(target, link)
    } else {
        std::os::windows::fs::symlink_file(target, link)
    }
}
