//! The permissions of files, which `std::fs` does not have for components.
//!
//! Paths are those of `std::fs`: `/a` and `a` are the same file of the workdir. On the machine of an author, in
//! `cargo test`, they are those of that machine.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("modes-{}", std::process::id()));
//! # std::fs::create_dir(&dir)?;
//! # let path = dir.join("run.sh");
//! use toolhost_guest::files;
//!
//! std::fs::write(&path, "#!/bin/sh\n")?;
//! files::set_mode(&path, files::mode(&path)? | 0o111)?;
//! # assert_eq!(files::mode(&path)? & 0o100, 0o100);
//! # std::fs::remove_dir_all(&dir)
//! # }
//! ```

use std::io;
use std::path::Path;

/// Returns the permissions (`0o777`) of what a path leads to. A link at its end is followed.
///
/// # Errors
/// Those of [`std::fs::metadata`].
pub fn mode(path: impl AsRef<Path>) -> io::Result<u32> {
    system::mode(path.as_ref(), true)
}

/// Returns the permissions of what has this path, which may be a link.
///
/// # Errors
/// Those of [`std::fs::symlink_metadata`].
pub fn symlink_mode(path: impl AsRef<Path>) -> io::Result<u32> {
    system::mode(path.as_ref(), false)
}

/// Sets the permissions (`0o777`) of the file or folder that a path leads to. [`mode`] tells what was set: the host
/// gives the group and others no more than new files may have, or than they had, and leaves the owner `0o400` of a
/// file and `0o700` of a folder.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for other bits, [`Unsupported`](io::ErrorKind::Unsupported) for a
/// folder that exists, in a transactional workdir; and those of writing the file.
pub fn set_mode(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    system::set_mode(path.as_ref(), mode)
}

#[cfg(target_family = "wasm")]
mod system {
    use std::io;
    use std::path::Path;

    use crate::bindings::modes::goondan::tool::modes::{self, Error};

    pub(super) fn mode(path: &Path, follow: bool) -> io::Result<u32> {
        modes::get_mode(beneath(path)?, follow).map_err(of_code)
    }

    pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        modes::set_mode(beneath(path)?, mode).map_err(of_code)
    }

    /// Returns the path from the workdir, which is `/` and the current directory.
    fn beneath(path: &Path) -> io::Result<&str> {
        let path = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        match path.trim_start_matches('/') {
            "" if !path.is_empty() => Ok("."),
            beneath => Ok(beneath),
        }
    }

    /// Returns the error of `std::fs` with this meaning, by its number in the C library.
    fn of_code(error: Error) -> io::Error {
        io::Error::from_raw_os_error(match error {
            Error::Access => 2,
            Error::Busy => 10,
            Error::IllegalByteSequence => 25,
            Error::InsufficientMemory => 48,
            Error::InsufficientSpace => 51,
            Error::Invalid => 28,
            Error::Io => 29,
            Error::Loop => 32,
            Error::NameTooLong => 37,
            Error::NoEntry => 44,
            Error::NotDirectory => 54,
            Error::NotPermitted => 63,
            Error::ReadOnly => 69,
            Error::Unsupported => 58,
        })
    }
}

#[cfg(not(target_family = "wasm"))]
mod system {
    use std::fs::{self, Permissions};
    use std::io;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    pub(super) fn mode(path: &Path, follow: bool) -> io::Result<u32> {
        let metadata = if follow {
            fs::metadata(path)
        } else {
            fs::symlink_metadata(path)
        };
        Ok(metadata?.permissions().mode() & 0o777)
    }

    pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        if mode & !0o777 != 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        fs::set_permissions(path, Permissions::from_mode(mode))
    }
}
