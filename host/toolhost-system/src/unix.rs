//! The items of rustix and of the standard library.

/// Buffers that a system call fills.
pub mod buffer {
    pub use rustix::buffer::spare_capacity;
}

/// What cap-std's types have beyond those of all systems.
#[cfg(feature = "cap")]
pub mod cap {
    pub use cap_primitives::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
}

/// Handles of open files.
pub mod fd {
    pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
}

/// Bytes of names.
pub mod ffi {
    pub use std::os::unix::ffi::{OsStrExt, OsStringExt};
}

/// Files and directories.
pub mod fs {
    use std::fs::{File, Permissions};
    use std::io;

    pub use std::fs::{Metadata, metadata, symlink_metadata};
    pub use std::os::unix::fs::{
        DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink,
    };

    pub use rustix::fs::{
        Access, AtFlags, CWD, Dir, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags,
        SeekFrom, Stat, StatFs, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, access, accessat,
        fchmod, fchown, flock, fstat, fstatfs, fsync, ftruncate, futimens, linkat, lstat, mkdirat,
        open, openat, readlink, readlinkat, renameat, renameat_with, seek, stat, statat, statfs,
        statvfs, symlinkat, sync, unlinkat, utimensat,
    };

    #[cfg(target_os = "linux")]
    pub use rustix::fs::{
        Advice, MemfdFlags, PROC_SUPER_MAGIC, ResolveFlags, StatxFlags, copy_file_range, fadvise,
        ioctl_ficlone, memfd_create, mkfifoat, mknodat, openat2, statx, syncfs,
    };

    #[cfg(target_vendor = "apple")]
    pub use rustix::fs::getpath;

    /// Returns the permissions of a mode. Always some: on Windows there are none.
    #[must_use]
    pub fn permissions_of(mode: u32) -> Option<Permissions> {
        Some(PermissionsExt::from_mode(mode))
    }

    /// Returns the identity of a file: the numbers of its device and of its inode there.
    #[must_use]
    pub fn identity(found: &Metadata) -> (u64, u64) {
        (found.dev(), found.ino())
    }

    /// Returns the identity of a file: the numbers of its device and of its inode there. The types of the fields depend
    /// on the system.
    #[must_use]
    pub fn identity_of(found: &Stat) -> (u64, u64) {
        #[cfg(target_os = "linux")]
        let device = found.st_dev;
        #[cfg(target_vendor = "apple")]
        let device = u64::from(found.st_dev.cast_unsigned());
        (device, found.st_ino)
    }

    /// Returns how many names a file has.
    #[must_use]
    pub fn links(found: &Metadata) -> u64 {
        found.nlink()
    }

    /// Returns the metadata of an open file.
    ///
    /// # Errors
    /// The error of the system.
    pub fn metadata_of(file: &File) -> io::Result<Metadata> {
        file.metadata()
    }
}

/// Error numbers, and reading and writing at offsets.
pub mod io {
    pub use rustix::io::{Errno, Result, pread, pwrite};

    #[cfg(target_os = "linux")]
    pub use rustix::io::{ReadWriteFlags, pwritev2};
}

/// Requests to devices and files.
#[cfg(target_os = "linux")]
pub mod ioctl {
    pub use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};
}

/// Mappings of memory.
pub mod mm {
    pub use rustix::mm::{
        Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
    };
}

/// Parameters of the machine.
pub mod param {
    pub use rustix::param::page_size;
}

/// Paths as arguments of calls.
pub mod path {
    pub use rustix::path::Arg;

    use crate::io::Result;

    /// Checks that a path of a guest is made of names that the system takes as they are. On Unix each name is one.
    ///
    /// # Errors
    /// None.
    pub fn check_names(_: &str) -> Result<()> {
        Ok(())
    }
}

/// Processes, their limits and their users.
pub mod process {
    pub use std::os::unix::process::ExitStatusExt;

    pub use rustix::process::{
        Pid, Resource, Rlimit, Signal, geteuid, getpid, getrlimit, kill_process,
        kill_process_group, nice, setrlimit,
    };

    #[cfg(target_os = "linux")]
    pub use rustix::process::{prlimit, set_parent_process_death_signal};

    /// Whether a program can start in a process group of its own.
    pub const HAS_GROUPS: bool = true;

    /// Has a program start in a process group of its own, which can be killed as a whole.
    pub fn own_group(command: &mut std::process::Command) {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }
}

/// Clocks.
pub mod time {
    pub use rustix::time::{ClockId, clock_gettime};
}
