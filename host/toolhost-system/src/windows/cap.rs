//! What cap-std's types have beyond those of all systems.

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_primitives::fs::{_WindowsByHandle as ByHandle, FileType, Metadata, OpenOptions};

use super::fs::OFlags;
use super::process::geteuid;

/// What metadata has on Unix. Metadata of an entry of a listing has no identity: it must be made of an open file.
pub trait MetadataExt {
    /// Returns the serial number of the volume.
    fn dev(&self) -> u64;

    /// Returns the index in the volume.
    fn ino(&self) -> u64;

    /// Returns how many names the file has.
    fn nlink(&self) -> u64;

    /// Returns the owner: the user of this process.
    fn uid(&self) -> u32;

    /// Returns the bits of a file that its owner alone may read and write.
    fn mode(&self) -> u32;

    /// Returns the size in bytes.
    fn size(&self) -> u64;

    /// Returns the blocks of 512 bytes that the content fills.
    fn blocks(&self) -> u64;

    /// Returns when the file was last read, in seconds since 1970.
    fn atime(&self) -> i64;

    /// Returns the nanoseconds of [`atime`](Self::atime).
    fn atime_nsec(&self) -> i64;

    /// Returns when the content was last changed, in seconds since 1970.
    fn mtime(&self) -> i64;

    /// Returns the nanoseconds of [`mtime`](Self::mtime).
    fn mtime_nsec(&self) -> i64;

    /// Returns the same as [`mtime`](Self::mtime).
    fn ctime(&self) -> i64;

    /// Returns the same as [`mtime_nsec`](Self::mtime_nsec).
    fn ctime_nsec(&self) -> i64;
}

impl MetadataExt for Metadata {
    fn dev(&self) -> u64 {
        ByHandle::volume_serial_number(self).map_or(u64::MAX, u64::from)
    }

    fn ino(&self) -> u64 {
        ByHandle::file_index(self).unwrap_or(u64::MAX)
    }

    fn nlink(&self) -> u64 {
        ByHandle::number_of_links(self).map_or(1, u64::from)
    }

    fn uid(&self) -> u32 {
        geteuid().as_raw()
    }

    fn mode(&self) -> u32 {
        if self.is_dir() { 0o700 } else { 0o600 }
    }

    fn size(&self) -> u64 {
        self.len()
    }

    fn blocks(&self) -> u64 {
        self.len().div_ceil(512)
    }

    fn atime(&self) -> i64 {
        since_1970(self.accessed()).0
    }

    fn atime_nsec(&self) -> i64 {
        since_1970(self.accessed()).1
    }

    fn mtime(&self) -> i64 {
        since_1970(self.modified()).0
    }

    fn mtime_nsec(&self) -> i64 {
        since_1970(self.modified()).1
    }

    fn ctime(&self) -> i64 {
        self.mtime()
    }

    fn ctime_nsec(&self) -> i64 {
        self.mtime_nsec()
    }
}

/// Returns seconds and nanoseconds since 1970, both 0 for what is not known.
fn since_1970(time: std::io::Result<cap_primitives::time::SystemTime>) -> (i64, i64) {
    let Ok(time) = time else { return (0, 0) };
    match time.into_std().duration_since(std::time::UNIX_EPOCH) {
        Ok(after) => {
            let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
            (seconds, after.subsec_nanos().into())
        }
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => (-seconds, 0),
                part => (
                    (-seconds).saturating_sub(1),
                    i64::from(1_000_000_000 - part),
                ),
            }
        }
    }
}

/// Types of files that no directory of Windows has.
pub trait FileTypeExt {
    /// Returns false.
    fn is_fifo(&self) -> bool;

    /// Returns false.
    fn is_socket(&self) -> bool;

    /// Returns false.
    fn is_char_device(&self) -> bool;

    /// Returns false.
    fn is_block_device(&self) -> bool;
}

impl FileTypeExt for FileType {
    fn is_fifo(&self) -> bool {
        false
    }

    fn is_socket(&self) -> bool {
        false
    }

    fn is_char_device(&self) -> bool {
        false
    }

    fn is_block_device(&self) -> bool {
        false
    }
}

/// Flags of an open.
pub trait OpenOptionsExt {
    /// Sets the bits of [`OFlags`]. With `NOFOLLOW`, a link is refused. The others have no effect here.
    fn custom_flags(&mut self, flags: i32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn custom_flags(&mut self, flags: i32) -> &mut Self {
        let flags = OFlags::from_bits_truncate(flags.cast_unsigned());
        if flags.contains(OFlags::NOFOLLOW) {
            self.follow(FollowSymlinks::No);
        }
        self
    }
}
