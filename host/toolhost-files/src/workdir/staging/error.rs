//! Why a transaction does not start, or is not committed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most paths in an error, a record or a result: each may have 4,096 bytes, and a journal names each directory once.
pub(super) const LISTED_MAX: usize = 1_000;

use crate::NotPrivate;
use rustix::io::Errno;

/// Paths that a message names.
const NAMED_MAX: usize = 8;

/// What the system ran out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// Bytes or inodes of the disk, or of the quota of this user.
    Disk,
    /// File descriptors of the process or of the machine.
    Descriptors,
}

impl Shortage {
    /// Returns what the system lacked, if an operation failed because of that.
    pub fn of(error: &io::Error) -> Option<Self> {
        match Errno::from_io_error(error)? {
            Errno::NOSPC | Errno::DQUOT => Some(Self::Disk),
            Errno::MFILE | Errno::NFILE => Some(Self::Descriptors),
            _ => None,
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disk => "the disk is full",
            Self::Descriptors => "the host has no file descriptors left",
        })
    }
}

/// Why a transaction cannot start. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// Files cannot be renamed between the staging directory and the workdir.
    #[error(
        "the workdir {} and the staging directory {} are not on one file system, so changes cannot be committed \
         by renaming files: use a state root on the file system of the workdir, or set `workdir: direct` for \
         the tool",
        .workdir.display(),
        .staging.display()
    )]
    OtherFileSystem {
        /// The workdir.
        workdir: PathBuf,
        /// The directory in the state root.
        staging: PathBuf,
    },
    /// The file system cannot exchange two files.
    #[error(
        "the file system of the staging directory {} cannot exchange two files in one step \
         (RENAME_EXCHANGE): use a state root and a workdir on another file system, or set `workdir: direct` for \
         the tool",
        .staging.display()
    )]
    NoExchange {
        /// The directory in the state root.
        staging: PathBuf,
    },
    /// Another user could change what is staged.
    #[error("the staging directory is refused: {0}")]
    NotPrivate(NotPrivate),
    /// The directory cannot be made or opened.
    #[error("the staging directory {} cannot be used", .path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl StagingError {
    /// Returns the error of a system call on the directory.
    pub(super) fn of(path: &Path, error: io::Error) -> Self {
        match error.downcast() {
            Ok(not_private) => Self::NotPrivate(not_private),
            Err(source) => Self::Io {
                path: path.to_owned(),
                source,
            },
        }
    }

    /// Returns what the system lacked, if that is why.
    pub fn shortage(&self) -> Option<Shortage> {
        match self {
            Self::Io { source, .. } => Shortage::of(source),
            Self::OtherFileSystem { .. } | Self::NoExchange { .. } | Self::NotPrivate(_) => None,
        }
    }
}

/// Why a transaction was not committed. The workdir is as it was before the commit, except where the error
/// says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Files that the transaction read or changed were changed meanwhile, or names that it gives to files are
    /// taken.
    #[error(
        "{} changed while the call ran, so none of its changes were kept: read the current state and make the \
         call again",
        named(.files)
    )]
    Conflict {
        /// Their paths in the workdir, at most 1,000.
        files: Vec<String>,
    },
    /// Something that is write-protected by now would be changed.
    #[error("{} is write-protected, so none of the call's changes were kept", named(.files))]
    WriteProtected {
        /// The paths in the workdir.
        files: Vec<String>,
    },
    /// Another commit to the workdir takes too long.
    #[error(
        "another commit to the workdir has not ended within {seconds} s, so none of the call's changes were \
         kept: make the call again"
    )]
    Busy {
        /// How long this one waited.
        seconds: u64,
    },
    /// Another run of the same call has begun since.
    #[error("another run of the call has begun, so none of the changes of this one were kept")]
    Superseded,
    /// Another run of the same call was committed.
    #[error("another run of the call was committed, so none of the changes of this one were kept")]
    Committed {
        /// The note of that run.
        note: String,
    },
    /// The list of its renames is longer than one that can be taken back.
    #[error(
        "it changes more files than one commit can, {} MiB of paths, so none of its changes were kept: change \
         fewer files in one call",
        .bytes_max >> 20
    )]
    TooLarge {
        /// Maximum bytes of the list.
        bytes_max: u64,
    },
    /// The files that it changes could not be checked in time.
    #[error(
        "the files that it changes could not be checked within {} ms, so none of its changes were kept: change \
         fewer files in one call",
        .limit.as_millis()
    )]
    Late {
        /// [`CommitOptions::time`](super::CommitOptions::time).
        limit: Duration,
    },
    /// The system ran out of something, also after all undo records of the workdir were dropped. The steps before
    /// were taken back.
    #[error("{shortage}, so none of the call's changes were kept: {step} failed")]
    Short {
        /// What it ran out of.
        shortage: Shortage,
        /// The step and its path.
        step: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file system refused a step. The steps before it were taken back.
    #[error("the changes could not be committed: {step} failed, and none of them were kept")]
    Failed {
        /// The step and its path.
        step: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file system refused a step, and then to take back some before it.
    #[error(
        "the changes were committed in part: {step} failed, and {} could not be taken back; the former files \
         are in {}",
        named(.files),
        .staging.display()
    )]
    HalfDone {
        /// The step and its path.
        step: String,
        /// Paths in the workdir that are not as they were.
        files: Vec<String>,
        /// The directory that holds what was there.
        staging: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl CommitError {
    /// The error of a step that the system refused.
    pub(in crate::workdir) fn failed(
        step: impl Into<String>,
        source: impl Into<io::Error>,
    ) -> Self {
        let (step, source) = (step.into(), source.into());
        match Shortage::of(&source) {
            Some(shortage) => Self::Short {
                shortage,
                step,
                source,
            },
            None => Self::Failed { step, source },
        }
    }

    pub(super) fn is_full_disk(&self) -> bool {
        matches!(
            self,
            Self::Short {
                shortage: Shortage::Disk,
                ..
            }
        )
    }
}

/// Why a commit was not undone. The workdir is as it was before, except where the error says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// No commit of this id can be undone, or none at all.
    #[error(
        "there is nothing to undo in this workdir: no call changed it, or its undo record was dropped"
    )]
    Nothing,
    /// What the commit left was changed since.
    #[error(
        "{} changed after the call, so nothing was undone: restore what the call left there, or change the \
         files by hand",
        named(.files)
    )]
    Conflict {
        /// Their paths in the workdir.
        files: Vec<String>,
    },
    /// The record was changed by another program.
    #[error("the undo record {} cannot be read, so nothing was undone: {reason}", .path.display())]
    BadRecord {
        /// The staging directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another commit to the workdir takes too long.
    #[error(
        "another commit to the workdir has not ended within {seconds} s, so nothing was undone: try again"
    )]
    Busy {
        /// How long this one waited.
        seconds: u64,
    },
    /// The system ran out of something, also after the undo records of other calls were dropped. The steps before
    /// were taken back.
    #[error("{shortage}, so nothing was undone: {step} failed")]
    Short {
        /// What it ran out of.
        shortage: Shortage,
        /// The step and its path.
        step: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file system refused a step. The steps before it were taken back.
    #[error("the call could not be undone: {step} failed, and its changes are all in place")]
    Failed {
        /// The step and its path.
        step: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file system refused a step, and then to take back some before it.
    #[error(
        "the call was undone in part: {step} failed, and {} could not be restored; files of the call are in {}",
        named(.files),
        .staging.display()
    )]
    HalfDone {
        /// The step and its path.
        step: String,
        /// Paths in the workdir that are neither as before nor as after the call.
        files: Vec<String>,
        /// The directory that holds the rest.
        staging: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Returns paths as a list for a message, cut where it is long.
pub(super) fn named(files: &[String]) -> String {
    let mut text =
        files
            .iter()
            .take(NAMED_MAX)
            .enumerate()
            .fold(String::new(), |mut text, (index, file)| {
                if index > 0 {
                    text.push_str(", ");
                }
                text.push('`');
                // A guest chooses names.
                text.extend(file.escape_debug());
                text.push('`');
                text
            });
    if files.len() > NAMED_MAX {
        text.push_str(&format!(" and {} more", files.len() - NAMED_MAX));
    }
    text
}
