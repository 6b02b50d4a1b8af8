//! What a handler came to.

use serde::Serialize;

use crate::ToolError;
use crate::bindings::tool::goondan::tool::types::Outcome as ContractOutcome;

/// What a handler returns that may answer later. One that always answers returns its output itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// Done: the value the model is given.
    Output(T),
    /// Accepted but not done: a handle of at most 1 KiB, with which the host asks `poll` later.
    Pending(String),
}

/// What a handler may return: anything that serde can write as JSON, or an [`Outcome`] of it.
pub trait IntoOutcome {
    /// Writes the output as JSON.
    ///
    /// # Errors
    /// It is none, such as a map whose keys are not texts.
    #[doc(hidden)]
    fn into_outcome(self) -> Result<ContractOutcome, ToolError>;
}

impl<T: Serialize> IntoOutcome for T {
    fn into_outcome(self) -> Result<ContractOutcome, ToolError> {
        let text = serde_json::to_string(&self).map_err(|reason| {
            ToolError::new(format!("the handler's result is not JSON: {reason}"))
        })?;
        Ok(ContractOutcome::Output(text))
    }
}

impl<T: Serialize> IntoOutcome for Outcome<T> {
    fn into_outcome(self) -> Result<ContractOutcome, ToolError> {
        match self {
            Self::Output(output) => output.into_outcome(),
            Self::Pending(handle) => Ok(ContractOutcome::Pending(handle)),
        }
    }
}
