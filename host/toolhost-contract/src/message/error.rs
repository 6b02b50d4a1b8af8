//! Why a value is not an assistant's message.

/// A JSON value that is not an assistant's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The value is not a JSON object.
    #[error("a message must be a JSON object")]
    NotAnObject,
    /// The role is not `assistant`.
    #[error("the message's role must be 'assistant', not '{0}'")]
    Role(String),
    /// A tool call has no id, so that no result could name it.
    #[error("tool call {0} of the message has no id")]
    CallWithoutId(
        /// Position among the message's tool calls, from 1.
        usize,
    ),
    /// Two tool calls have the same id, so that a result would name both.
    #[error("two tool calls of the message have the id '{0}'")]
    DuplicateId(String),
    /// The message contains no tool call with this id.
    #[error("the message contains no tool call '{0}'")]
    NoSuchCall(String),
}
