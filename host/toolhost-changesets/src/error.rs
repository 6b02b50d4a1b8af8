//! Why an operation on a changeset failed.

use std::io;

use toolhost::workdir::StagingError;
use toolhost::{HandlerError, WorkdirError};
use toolhost_files::{EntryKind as Kind, ReadError};
use toolhost_store::StoreError;

use crate::limits::{BYTES_MAX, FILE_BYTES_MAX, FILES_MAX, OPEN_MAX, READ_BYTES_MAX};
use crate::path::PathError;

/// Why an operation on a changeset failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangesetError {
    /// The policy does not let the agent change its bundle.
    #[error("the policy does not let agent '{agent}' change its bundle")]
    NotGranted {
        /// Name of the agent.
        agent: String,
    },
    /// The policy does not let the agent change this file.
    #[error("the policy does not let agent '{agent}' change '{path}'")]
    NotGrantedPath {
        /// Name of the agent.
        agent: String,
        /// The path in the bundle's folder.
        path: String,
    },
    /// This instance has no such changeset.
    #[error("there is no changeset '{id}' of this instance")]
    Unknown {
        /// The id.
        id: String,
    },
    /// The changeset is being committed, was committed or was discarded.
    #[error("the changeset '{id}' is {state}")]
    NotOpen {
        /// The id.
        id: String,
        /// Its state: `being committed`, `committed` or `discarded`.
        state: &'static str,
    },
    /// The instance has too many open changesets.
    #[error("the instance has {OPEN_MAX} open changesets")]
    TooMany,
    /// The changeset has too many files.
    #[error("the changeset has {FILES_MAX} files")]
    TooManyFiles,
    /// A file, or all files of the changeset, are too large.
    #[error(
        "'{path}' is too large: a file of a changeset has at most {FILE_BYTES_MAX} bytes, and all together \
         have at most {BYTES_MAX}"
    )]
    TooLarge {
        /// The path in the bundle's folder.
        path: String,
    },
    /// The file is too large for the answer of a tool.
    #[error("'{path}' has {bytes} bytes, and a tool returns at most {READ_BYTES_MAX}")]
    TooLargeToReturn {
        /// The path in the bundle's folder.
        path: String,
        /// Its bytes.
        bytes: usize,
    },
    /// The content of a file is not what its encoding says.
    #[error("the content is not base64: {reason}")]
    NotBase64 {
        /// Why.
        reason: String,
    },
    /// The path is no file that a changeset can reach.
    #[error(transparent)]
    Path(#[from] PathError),
    /// There is no such file or folder.
    #[error("there is no '{path}' in the bundle")]
    NotFound {
        /// The path in the bundle's folder.
        path: String,
    },
    /// The path names something else.
    #[error("'{path}' is {found}")]
    Unfit {
        /// The path in the bundle's folder.
        path: String,
        /// What it is, such as `a folder`.
        found: &'static str,
    },
    /// The bundle's folder cannot be opened, or contains what no tool may reach.
    #[error("the folder of the bundle cannot be changed by an agent")]
    Folder(#[from] WorkdirError),
    /// Files cannot be renamed from the state root to the bundle's folder.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The database of the state root failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or a directory could not be read or written.
    #[error("'{path}' could not be read or written")]
    Io {
        /// The path.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The [`Changesets`](crate::Changesets) were dropped, or an extension could not be added.
    #[error("{reason}")]
    Host {
        /// Why.
        reason: String,
    },
}

impl ChangesetError {
    pub(crate) fn io(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| {
            let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
            if absent.contains(&source.kind()) {
                Self::NotFound { path }
            } else {
                Self::Io { path, source }
            }
        }
    }

    /// Returns the error of a path that cannot be read.
    pub(crate) fn read(path: &str, error: ReadError) -> Self {
        let path = path.to_owned();
        match error {
            ReadError::NotFound => Self::NotFound { path },
            ReadError::Link { path } => unfit(&path.to_string_lossy(), Kind::Link),
            ReadError::NotAFile { kind } => unfit(&path, kind),
            ReadError::TooLarge { .. } => Self::TooLarge { path },
            ReadError::Denied
            | ReadError::Outside
            | ReadError::TooFar
            | ReadError::Dangling
            | ReadError::Io(_) => Self::Io {
                path,
                source: error.into(),
            },
        }
    }

    /// Returns the code of the error for a model.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotGranted { .. } | Self::NotGrantedPath { .. } => "E_CHANGESET_DENIED",
            Self::Unknown { .. } => "E_CHANGESET_UNKNOWN",
            Self::NotOpen { .. } => "E_CHANGESET_NOT_OPEN",
            Self::TooMany
            | Self::TooManyFiles
            | Self::TooLarge { .. }
            | Self::TooLargeToReturn { .. } => "E_CHANGESET_LIMIT",
            Self::NotBase64 { .. } => "E_CHANGESET_CONTENT",
            Self::Path(_) | Self::NotFound { .. } | Self::Unfit { .. } => "E_CHANGESET_PATH",
            Self::Folder(_)
            | Self::Staging(_)
            | Self::Store(_)
            | Self::Io { .. }
            | Self::Host { .. } => "E_CHANGESET_FAILED",
        }
    }

    /// Returns the next step for the reader.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotGranted { .. } => {
                "The operator grants it in the policy: agents: {NAME: {changesets: true}}."
            }
            Self::NotGrantedPath { .. } => {
                "Change other files, or ask the operator to add the path to the agent's `changesets` in the policy."
            }
            Self::Unknown { .. } => {
                "Use the id that changeset__open returned, or open a changeset."
            }
            Self::NotOpen { .. } => "Open another changeset with changeset__open.",
            Self::TooMany => "Commit or discard one of them.",
            Self::TooManyFiles | Self::TooLarge { .. } => {
                "Commit what the changeset has, and make the other changes in another one."
            }
            Self::TooLargeToReturn { .. } => "Replace the whole file, or leave it as it is.",
            Self::NotBase64 { .. } => "Encode the bytes with the standard alphabet and padding.",
            Self::Path(PathError::Reserved { .. } | PathError::HostSource { .. }) => {
                "Leave this file to the operator."
            }
            Self::Path(_) => {
                "Name a file by its path from the bundle's folder, such as goondan.yaml."
            }
            Self::NotFound { .. } => "List the files with changeset__list.",
            Self::Unfit { .. } => {
                "Name a regular file. Links are not followed: name the file itself."
            }
            Self::Folder(_) => {
                "Ask the operator to move the named file or directory out of the bundle's folder."
            }
            Self::Staging(_) => {
                "Ask the operator for a state root on the file system of the bundle."
            }
            Self::Store(_) | Self::Io { .. } | Self::Host { .. } => {
                "Try again; if it fails again, the operator finds the cause in the host's log."
            }
        }
    }

    /// Returns the error as a tool's.
    pub(crate) fn into_handler_error(self) -> HandlerError {
        let message = with_causes(&self);
        let error = HandlerError::new(format!("{message}."));
        error.with_code(self.code()).with_suggestion(self.help())
    }
}

/// Returns the error of a path that names something else than it should.
pub(crate) fn unfit(path: &str, kind: Kind) -> ChangesetError {
    ChangesetError::Unfit {
        path: path.to_owned(),
        found: match kind {
            Kind::File => "a file",
            Kind::Directory => "a folder",
            Kind::Link => "a symbolic link",
            Kind::Pipe | Kind::Socket | Kind::Device => "not a regular file",
        },
    }
}

/// Returns an error with its causes in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        // A transparent error has the text of its cause.
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
