//! What an export returned, before and after it is checked against the limits.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::Value;
use toolhost_contract::HandlerError;

use crate::SandboxError;
use crate::accounting::meter::Meter;
use crate::accounting::output::parse_json;
use crate::call::invocation::Outcome;
use crate::host::bindings::handlers;

/// Longest handle of a pending outcome, in bytes.
const HANDLE_MAX: usize = 1 << 10;

/// What an export returned.
pub(crate) enum RawResponse {
    Exports(Vec<handlers::ExportSpec>),
    Outcome(Result<handlers::Outcome, handlers::ToolError>),
    Cancelled,
}

/// The same, within its limits.
pub(crate) enum Response {
    Exports(Vec<handlers::ExportSpec>),
    Outcome(Outcome),
}

impl RawResponse {
    pub(crate) fn check(self, meter: &Meter) -> Result<Response, SandboxError> {
        match self {
            Self::Exports(exports) => Ok(Response::Exports(exports)),
            Self::Outcome(returned) => to_outcome(returned, meter).map(Response::Outcome),
            Self::Cancelled => Ok(Response::Outcome(Outcome::Output(Value::Null))),
        }
    }
}

fn to_outcome(
    returned: Result<handlers::Outcome, handlers::ToolError>,
    meter: &Meter,
) -> Result<Outcome, SandboxError> {
    let limits = &meter.limits;
    match returned {
        Ok(handlers::Outcome::Output(json)) => {
            meter.output_bytes.store(json.len() as u64, Relaxed);
            let output = parse_json(&json, limits.output_bytes, limits)?;
            Ok(Outcome::Output(output))
        }
        Ok(handlers::Outcome::Pending(handle)) => {
            meter.output_bytes.store(handle.len() as u64, Relaxed);
            if handle.is_empty() || handle.len() > HANDLE_MAX {
                return Err(SandboxError::InvalidOutput {
                    reason: format!("a handle has 1 to {HANDLE_MAX} bytes, not {}", handle.len()),
                });
            }
            Ok(Outcome::Pending(handle))
        }
        Err(error) => {
            let error = HandlerError {
                message: error.message,
                name: error.name,
                code: error.code,
                suggestion: error.suggestion,
                help_url: error.help_url,
            };
            let (bytes, limit) = (error.bytes(), limits.output_bytes);
            meter.output_bytes.store(bytes, Relaxed);
            if bytes > limit {
                return Err(SandboxError::OutputTooLarge { bytes, limit });
            }
            Ok(Outcome::Failed(error))
        }
    }
}
