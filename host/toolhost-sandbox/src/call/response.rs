//! What an export returned, before and after it is checked against the limits.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::Value;
use toolhost_contract::{HandlerError, JsonLimits};

use crate::SandboxError;
use crate::host::bindings::{handlers, outputs};
use crate::operation::Outcome;
use crate::store::meters::CallMeters;

/// Longest handle of a pending outcome, in bytes.
const HANDLE_MAX: usize = 1 << 10;

/// What an export returned.
pub(crate) enum RawResponse {
    Exports(Vec<handlers::ExportSpec>, Vec<outputs::OutputSpec>),
    Outcome(Result<handlers::Outcome, handlers::ToolError>),
    Cancelled,
}

/// The same, within its limits.
pub(crate) enum Response {
    Exports(Vec<handlers::ExportSpec>, Vec<outputs::OutputSpec>),
    Outcome(Outcome),
}

impl RawResponse {
    pub(crate) fn check(self, meters: &CallMeters) -> Result<Response, SandboxError> {
        let limits = &meters.limits;
        let outcome = match self {
            Self::Exports(exports, outputs) => return Ok(Response::Exports(exports, outputs)),
            Self::Cancelled => Outcome::Output(Value::Null),
            Self::Outcome(Ok(handlers::Outcome::Output(json))) => {
                meters.output.answer_bytes.store(json.len() as u64, Relaxed);
                Outcome::Output(JsonLimits::of_output(limits).parse(&json)?)
            }
            Self::Outcome(Ok(handlers::Outcome::Pending(handle))) => {
                meters
                    .output
                    .answer_bytes
                    .store(handle.len() as u64, Relaxed);
                let bytes = handle.len();
                if bytes == 0 {
                    let reason = "is pending with an empty handle".to_owned();
                    return Err(SandboxError::InvalidOutput { reason });
                }
                if bytes > HANDLE_MAX {
                    let reason = format!(
                        "is pending with a handle of {bytes} bytes, at most {HANDLE_MAX} are allowed"
                    );
                    return Err(SandboxError::InvalidOutput { reason });
                }
                Outcome::Pending(handle)
            }
            Self::Outcome(Err(error)) => {
                let error = HandlerError {
                    message: error.message,
                    name: error.name,
                    code: error.code,
                    suggestion: error.suggestion,
                    help_url: error.help_url,
                };
                let (bytes, limit) = (error.bytes(), limits.output_bytes);
                meters.output.answer_bytes.store(bytes, Relaxed);
                if bytes > limit {
                    return Err(SandboxError::OutputTooLarge { bytes, limit });
                }
                Outcome::Failed(error)
            }
        };
        Ok(Response::Outcome(outcome))
    }
}
