//! Why an extension cannot be registered.

/// Why an extension cannot be registered, or cannot register something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// The agent has an extension of this name.
    #[error("the agent '{agent}' already has an extension '{extension}'")]
    Registered {
        /// The agent.
        agent: String,
        /// The name.
        extension: String,
    },
    /// A tool of this name is not the extension's own.
    #[error("extension '{extension}': the tool {tool} is {owner}'s; choose another name")]
    NameTaken {
        /// The extension.
        extension: String,
        /// The tool.
        tool: String,
        /// Whose it is: `the bundle`, or another extension.
        owner: String,
    },
    /// The parameters are no JSON Schema that arguments can be checked against.
    #[error("extension '{extension}': the parameters of {tool} cannot be used: {reason}")]
    Parameters {
        /// The extension.
        extension: String,
        /// The tool.
        tool: String,
        /// Why.
        reason: String,
    },
    /// The agent is gone, or the extension was removed from it.
    #[error("extension '{extension}': it was removed, or the agent it was registered with is gone")]
    Gone {
        /// The extension.
        extension: String,
    },
    /// The extension's own reason.
    #[error("extension '{extension}': {reason}")]
    Own {
        /// The extension.
        extension: String,
        /// Why.
        reason: String,
    },
}
