//! Locks between processes.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::OFlags;

/// A lock that is released when dropped, or when the process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

/// Takes a lock. Waits while another process holds it.
pub(crate) async fn lock(path: &Path) -> Result<FileLock> {
    let cannot = || format!("{} cannot be locked", path.display());
    // Refuses links, and does not block on a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .custom_flags(flags)
        .open(path)
        .with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => return Ok(FileLock { _file: file }),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    let waiting = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
    let file = waiting
        .await
        .context("a thread of the host failed")?
        .with_context(cannot)?;
    Ok(FileLock { _file: file })
}
