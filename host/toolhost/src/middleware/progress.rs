//! How far a call got beneath its layers: what they cannot change.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use toolhost_contract::{ErrorCode, Locale, ToolError, ToolErrorCode, ToolResult};

/// What happened beneath the layers.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    ran: AtomicBool,
    said: OnceLock<Said>,
}

/// What of a result only the host can make.
#[derive(Debug)]
struct Said {
    code: Option<ErrorCode>,
    handle: Option<String>,
}

impl Progress {
    /// The tool is run now.
    pub(crate) fn runs(&self) {
        self.ran.store(true, Relaxed);
    }

    /// Whether the tool was run, whatever the layers made of its result.
    pub(crate) fn has_run(&self) -> bool {
        self.ran.load(Relaxed)
    }

    /// Remembers what the layers are given.
    pub(crate) fn said(&self, result: &ToolResult) {
        let said = Said {
            code: result.tool_error().map(|error| error.code.clone()),
            handle: result.handle().map(str::to_owned),
        };
        let _first = self.said.set(said).is_ok();
    }

    /// What the layers made of it, with no code of the host's and no handle that was not there before.
    pub(crate) fn sanitize_codes(&self, result: ToolResult, locale: Locale) -> ToolResult {
        let said = self.said.get();
        let code = result.tool_error().map(|error| &error.code);
        let forged = match code {
            Some(code) if is_forged(code, said.and_then(|said| said.code.as_ref())) => {
                result.tool_error().map(|error| error.message.clone())
            }
            Some(_) => None,
            None => {
                let handle = result.handle();
                let known = said.and_then(|said| said.handle.as_deref());
                let made_up = handle.is_some() && handle != known;
                made_up.then(|| "A middleware answered with a handle that no tool gave.".to_owned())
            }
        };
        match forged {
            None => result,
            Some(message) => {
                result.into_error(ToolError::host(ToolErrorCode::Middleware, message, locale))
            }
        }
    }
}

/// Whether a code is the host's, and neither a middleware's own nor one that was there `before`.
fn is_forged(code: &ErrorCode, before: Option<&ErrorCode>) -> bool {
    match code {
        ErrorCode::Host(ToolErrorCode::Middleware) | ErrorCode::Handler(_) => false,
        ErrorCode::Host(_) => before != Some(code),
    }
}

/// What the layers of a turn or a step made of a failure, with no code of the host's that was not there
/// `before`.
pub(crate) fn sanitize_error_code(
    error: ToolError,
    before: Option<&ErrorCode>,
    locale: Locale,
) -> ToolError {
    if is_forged(&error.code, before) {
        return ToolError::host(ToolErrorCode::Middleware, error.message, locale);
    }
    error
}
