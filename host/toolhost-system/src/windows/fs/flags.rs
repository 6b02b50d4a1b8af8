//! Flags and modes. Their bits are this crate's own.

use bitflags::bitflags;

bitflags! {
    /// How a file is opened.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct OFlags: u32 {
        /// For reading.
        const RDONLY = 0;
        /// For writing.
        const WRONLY = 1;
        /// For both.
        const RDWR = 2;
        /// The bits of these three.
        const RWMODE = 3;
        /// Each write is at the end.
        const APPEND = 1 << 2;
        /// The file is created unless it exists.
        const CREATE = 1 << 3;
        /// With `CREATE`: it must not exist.
        const EXCL = 1 << 4;
        /// Its content is removed.
        const TRUNC = 1 << 5;
        /// It must be a directory. Nobody renames or removes the directory while it is open.
        const DIRECTORY = 1 << 6;
        /// A link is refused; with `PATH`, it is opened itself.
        const NOFOLLOW = 1 << 7;
        /// For its metadata and its path alone.
        const PATH = 1 << 8;
        /// No effect: no open waits.
        const NONBLOCK = 1 << 9;
        /// No effect: there are no controlling terminals.
        const NOCTTY = 1 << 10;
        /// No effect: the standard library's handles are never inherited.
        const CLOEXEC = 1 << 11;
    }

    /// How a name is taken.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        /// A link is not followed.
        const SYMLINK_NOFOLLOW = 1;
        /// A directory is removed.
        const REMOVEDIR = 1 << 1;
        /// The rights of the process count, which they always do.
        const EACCESS = 1 << 2;
    }

    /// Permission bits. They are not kept: see [`fchmod`](super::fchmod).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Mode: u32 {
        /// The owner may read, write and execute.
        const RWXU = 0o700;
        /// The owner may read.
        const RUSR = 0o400;
        /// The owner may write.
        const WUSR = 0o200;
        /// All others.
        const OTHERS = 0o7177;
    }

    /// What a rename does to the new name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// It must be free.
        const NOREPLACE = 1;
        /// Both names are exchanged.
        const EXCHANGE = 1 << 1;
    }

    /// What a process may do with a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Access: u32 {
        /// Read it.
        const READ_OK = 4;
        /// Write it.
        const WRITE_OK = 2;
        /// Execute it, or open what is in it.
        const EXEC_OK = 1;
    }
}

impl Mode {
    /// Returns the permission bits of a mode.
    #[must_use]
    pub const fn from_raw_mode(mode: u32) -> Self {
        Self::from_bits_truncate(mode)
    }
}

/// What is done to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlockOperation {
    /// Take it with others, and wait.
    LockShared,
    /// Take it with others, or fail.
    NonBlockingLockShared,
    /// Take it alone, or fail.
    NonBlockingLockExclusive,
    /// Release it.
    Unlock,
}

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekFrom {
    /// From its beginning.
    Start(u64),
    /// From its end.
    End(i64),
    /// The next data. Not supported.
    Data(u64),
    /// The next hole. Not supported.
    Hole(u64),
}
