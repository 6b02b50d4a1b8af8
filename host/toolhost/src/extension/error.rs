//! Errors of registering extensions.

/// An extension, or one of its tools, that cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// The agent already has an extension with this name.
    #[error("the agent '{agent}' already has an extension '{extension}'")]
    Registered {
        /// Name of the agent.
        agent: String,
        /// Name of the extension.
        extension: String,
    },
    /// The tool name belongs to another owner.
    #[error(
        "extension '{extension}': the tool name {tool} is taken by {owner}; choose another name"
    )]
    NameTaken {
        /// Name of the extension.
        extension: String,
        /// Name of the tool.
        tool: String,
        /// Owner of the name: `the bundle` or another extension.
        owner: String,
    },
    /// The parameters are not a usable JSON Schema.
    #[error("extension '{extension}': invalid parameters of {tool}: {reason}")]
    Parameters {
        /// Name of the extension.
        extension: String,
        /// Name of the tool.
        tool: String,
        /// The reason.
        reason: String,
    },
    /// The agent was dropped, or the extension was removed from it.
    #[error("extension '{extension}': the extension was removed, or its agent was dropped")]
    Gone {
        /// Name of the extension.
        extension: String,
    },
    /// An error of the extension itself.
    #[error("extension '{extension}': {reason}")]
    Own {
        /// Name of the extension.
        extension: String,
        /// The reason.
        reason: String,
    },
}
