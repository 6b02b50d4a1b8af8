//! The result of a handler.

use serde::Serialize;

use crate::ToolError;
use crate::bindings::tool::goondan::tool::types::{
    Outcome as ContractOutcome, ToolError as ContractError,
};

/// The result of a handler that may finish later. A handler that always finishes returns its output directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The work is finished: the value for the model.
    Output(T),
    /// The work is accepted but not finished: a handle of at most 1 KiB, which the host passes to `poll` later.
    Pending(String),
}

/// What a handler may return: any type that serde can write as JSON, or an [`Outcome`] of one.
pub trait IntoOutcome {
    /// Writes the output as JSON.
    ///
    /// # Errors
    /// The value cannot be written as JSON, such as a map whose keys are not strings.
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

pub(crate) fn answer<U, E>(result: Result<U, E>) -> Result<ContractOutcome, ContractError>
where
    U: IntoOutcome,
    E: Into<ToolError>,
{
    match result {
        Ok(output) => Ok(output.into_outcome()?),
        Err(error) => Err(error.into().into()),
    }
}
