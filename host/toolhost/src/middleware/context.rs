//! What a pipeline runs over.

use toolhost_contract::{Locale, ToolError};

/// What a pipeline runs over: a [`ToolCallContext`](crate::ToolCallContext), a
/// [`StepContext`](crate::StepContext) or a [`TurnContext`](crate::TurnContext). Sealed: the
/// specification defines these three kinds.
pub trait MiddlewareContext: sealed::Sealed + Send + Sized + 'static {
    /// What the pipeline returns.
    type Answer: Send + 'static;

    /// Name of the kind in the specification: `turn`, `step` or `toolCall`.
    const KIND: &'static str;

    #[doc(hidden)]
    fn locale(&self) -> Locale;

    #[doc(hidden)]
    fn failed(error: ToolError) -> Self::Answer;

    #[doc(hidden)]
    fn error_of(answer: Self::Answer) -> Option<ToolError>;
}

pub(super) mod sealed {
    /// Keeps other crates from adding a kind of context.
    pub trait Sealed {}
}
