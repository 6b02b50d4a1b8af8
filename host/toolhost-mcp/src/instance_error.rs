//! Why a request gets no instance.

use toolhost::{AgentError, WorkspaceError};

/// Why a request gets no instance. The messages are for clients: they contain no path of the host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceError {
    #[error("this server has no instance '{key}'")]
    Unknown { key: String },
    #[error("this server has {max} instances and makes no further ones; ask its operator")]
    TooMany { max: usize },
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("the workspace of the instance cannot be opened; ask the server's operator")]
    Workspace(#[from] WorkspaceError),
    #[error("opening the workspace was interrupted")]
    Interrupted,
}
