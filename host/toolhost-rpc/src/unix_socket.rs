//! The file of a Unix socket.

use std::fs::{self, File, Metadata, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixSocket as TokioSocket, UnixStream};
use tokio::time::{sleep, timeout};
use toolhost_files::is_of_this_user;

use crate::socket_error::SocketError;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Only the user may connect.
const MODE: u32 = 0o600;

/// How long to wait for another server that starts in the same directory.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two attempts to lock the directory.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A socket that listens. Only its user can connect. Dropping it removes its file.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file.
    file: (u64, u64),
}

impl UnixSocket {
    /// Listens on a path. A socket of this user on which nobody listens any more is replaced; anything
    /// else that exists is left as it is.
    ///
    /// # Errors
    /// [`SocketError`] if the path is taken, or the socket cannot be created there.
    pub async fn bind(path: impl Into<PathBuf>) -> Result<Self, SocketError> {
        let path = path.into();
        // Two servers that start at once must not replace each other's socket.
        let _lock = lock_directory(&path).await?;
        remove_stale(&path).await?;
        bind(&path).map_err(|source| SocketError::Create { path, source })
    }

    /// Accepts a connection. Cancel safe.
    pub(crate) async fn accept(&self) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
        Ok(self.listener.accept().await?.0.into_split())
    }
}

impl Drop for UnixSocket {
    /// Removes the file while the socket still listens, so that nobody else has replaced it.
    fn drop(&mut self) {
        let is_own =
            fs::symlink_metadata(&self.path).is_ok_and(|metadata| identity(&metadata) == self.file);
        if is_own && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(
                target: "toolhost::rpc", path = %self.path.display(), %error,
                "the socket was not removed"
            );
        }
    }
}

/// Before it listens, nobody can connect: then its mode is set.
fn bind(path: &Path) -> io::Result<UnixSocket> {
    let socket = TokioSocket::new_stream()?;
    socket.bind(path)?;
    let listening = fs::set_permissions(path, Permissions::from_mode(MODE))
        .and_then(|()| fs::symlink_metadata(path))
        .and_then(|metadata| Ok((socket.listen(BACKLOG)?, identity(&metadata))));
    match listening {
        Ok((listener, file)) => Ok(UnixSocket {
            listener,
            path: path.to_owned(),
            file,
        }),
        Err(error) => {
            // It was created above.
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

/// Removes a socket of this user on which nobody listens.
async fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let create = |source| SocketError::Create {
        path: path.to_owned(),
        source,
    };
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(create)?,
    };
    if !metadata.file_type().is_socket() || !is_of_this_user(&metadata) {
        let path = path.to_owned();
        return Err(SocketError::NotOurs { path });
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(create)
        }
        // Also if its queue of connections is full.
        Ok(_) | Err(_) => Err(SocketError::InUse {
            path: path.to_owned(),
        }),
    }
}

/// Locks the directory of a path until the file is dropped.
async fn lock_directory(path: &Path) -> Result<File, SocketError> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let create = |source| SocketError::Create {
        path: path.to_owned(),
        source,
    };
    let directory = File::open(dir).map_err(create)?;
    let locked = async {
        loop {
            match directory.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    };
    match timeout(LOCK_TIMEOUT, locked).await {
        Ok(locked) => locked.map(|()| directory).map_err(create),
        Err(_) => Err(SocketError::Locked {
            dir: dir.to_owned(),
        }),
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
