//! Opens files that this user alone may read.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Permission bits of the group and of others.
const OTHERS: u32 = 0o077;

/// Opens a file to be read. Follows no link, and does not wait for the other end of a pipe.
///
/// # Errors
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied) where it is not a regular file, belongs to another
/// user, or others can read or write it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let refused = |reason: &str| {
        let text = format!("{} {reason}", path.display());
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(opened.map_err(|error| match error {
        rustix::io::Errno::LOOP => refused("is a symbolic link: remove it"),
        error => error.into(),
    })?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file: move it away"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("belongs to another user: name another file"));
    }
    if metadata.mode() & OTHERS != 0 {
        return Err(refused(
            "can be read or written by others: run `chmod 600` on it",
        ));
    }
    Ok(file)
}
