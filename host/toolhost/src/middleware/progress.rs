//! What happened beneath the layers of a call, which they cannot change.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use toolhost_contract::{ErrorCode, Locale, ToolError, ToolErrorCode, ToolResult};

/// What happened beneath the layers of a call.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    ran: AtomicBool,
    inner: OnceLock<HostFields>,
}

/// The fields of the core's result that only the host may set.
#[derive(Debug)]
struct HostFields {
    code: Option<ErrorCode>,
    handle: Option<String>,
}

impl Progress {
    /// Records that the tool starts to run.
    pub(crate) fn set_running(&self) {
        self.ran.store(true, Relaxed);
    }

    /// Returns whether the tool ran, whatever result the layers returned.
    pub(crate) fn has_run(&self) -> bool {
        self.ran.load(Relaxed)
    }

    /// Records the result that the innermost layer gets.
    pub(crate) fn set_result(&self, result: &ToolResult) {
        let fields = HostFields {
            code: result.tool_error().map(|error| error.code.clone()),
            handle: result.handle().map(str::to_owned),
        };
        let _is_first = self.inner.set(fields).is_ok();
    }

    /// Replaces the layers' result by `E_MIDDLEWARE` if it has a host code or a handle that the
    /// core's result did not have.
    pub(crate) fn sanitize_codes(&self, result: ToolResult, locale: Locale) -> ToolResult {
        let inner = self.inner.get();
        let message = match result.tool_error() {
            Some(error) => is_forged(&error.code, inner.and_then(|inner| inner.code.as_ref()))
                .then(|| error.message.clone()),
            None => {
                let own_handle = inner.and_then(|inner| inner.handle.as_deref());
                let is_forged = result.handle().is_some() && result.handle() != own_handle;
                is_forged.then(|| "A middleware returned a handle that no tool gave.".to_owned())
            }
        };
        match message {
            None => result,
            Some(message) => {
                result.into_error(ToolError::host(ToolErrorCode::Middleware, message, locale))
            }
        }
    }
}

/// Returns whether a code is the host's, but neither `E_MIDDLEWARE` nor the code `before` the layers.
fn is_forged(code: &ErrorCode, before: Option<&ErrorCode>) -> bool {
    match code {
        ErrorCode::Host(ToolErrorCode::Middleware) | ErrorCode::Handler(_) => false,
        ErrorCode::Host(_) => before != Some(code),
    }
}

/// Replaces the code of a turn's or step's error by `E_MIDDLEWARE` if it is a host code other than
/// the one `before` the layers.
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
