//! Why a directory or a file is not private.

use std::io;
use std::path::{Path, PathBuf};

/// Why a directory or a file is not used as one that is private to this user. Nothing is read from it or written to
/// it. The message names the path, what is wrong, and the next move.
///
/// Functions return it as the source of an [`io::Error`] of the kind
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied).
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", self.finding(), self.next_move())]
pub struct NotPrivate {
    path: PathBuf,
    fault: Fault,
}

/// What is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Link,
    NotADirectory,
    NotAFile,
    OtherOwner {
        owner: u32,
        user: u32,
    },
    /// A directory that others can write to.
    Writable {
        mode: u32,
    },
    /// A file that others can read or write.
    Readable {
        mode: u32,
    },
    /// A directory above, in which everybody can rename what belongs to others.
    Exchangeable {
        mode: u32,
    },
}

impl NotPrivate {
    pub(super) fn new(path: &Path, fault: Fault) -> Self {
        Self {
            path: path.to_owned(),
            fault,
        }
    }

    /// Returns the error in an [`io::Error`], if that is the reason.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns the directory or the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is wrong, with the path, such as `/x is a symbolic link`.
    pub fn finding(&self) -> String {
        let path = self.path.display();
        match self.fault {
            Fault::Link => format!("{path} is a symbolic link"),
            Fault::NotADirectory => format!("{path} is not a directory"),
            Fault::NotAFile => format!("{path} is not a regular file"),
            Fault::OtherOwner { owner, user } => {
                format!("{path} belongs to user {owner}, and this process runs as user {user}")
            }
            Fault::Writable { mode } => {
                format!("other users can write to {path} (mode {mode:04o})")
            }
            Fault::Readable { mode } => {
                format!("other users can read or write {path} (mode {mode:04o})")
            }
            Fault::Exchangeable { mode } => {
                format!("other users can rename what lies in {path} (mode {mode:04o})")
            }
        }
    }

    /// Returns the shell command that mends it. `None` where something has to be moved away.
    pub fn command(&self) -> Option<String> {
        let path = quoted(&self.path);
        match self.fault {
            Fault::Link => Some(format!("rm {path}")),
            Fault::NotADirectory | Fault::NotAFile => None,
            Fault::OtherOwner { user, .. } => Some(format!("sudo chown -R {user} {path}")),
            Fault::Writable { .. } => Some(format!("chmod go-w {path}")),
            Fault::Readable { .. } => Some(format!("chmod go-rwx {path}")),
            Fault::Exchangeable { .. } => Some(format!("chmod o-w {path}")),
        }
    }

    fn next_move(&self) -> String {
        match self.command() {
            Some(command) => format!("run `{command}`"),
            None => "move it away".to_owned(),
        }
    }
}

impl From<NotPrivate> for io::Error {
    fn from(error: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, error)
    }
}

/// Returns a path as one word of a shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}
