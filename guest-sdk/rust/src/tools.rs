//! Calls of other tools: of those in the step of this call, as far as the operator's policy grants them.
//!
//! ```no_run
//! use toolhost_guest::tools::{self, CallError};
//! use toolhost_guest::{Value, json};
//!
//! /// Reads two files at the same time.
//! fn both(first: &str, second: &str) -> Result<(Value, Value), CallError> {
//!     let first = tools::start("file-system__read", &json!({"path": first}))?;
//!     let second = tools::start("file-system__read", &json!({"path": second}))?;
//!     Ok((first.wait()?, second.wait()?))
//! }
//! ```
//!
//! Each call has its own instance, grants, limits and receipt, and what it uses counts against the limits of this call,
//! too. A component that calls anything here imports `goondan:tool/tools`; the policy grants it as
//! `tools: {NAME: {tools: ["file-system__*"]}}`. On an author's machine, in `cargo test`, each function fails.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ToolError;

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name, such as `file-system__read`.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// JSON Schema of its output.
    pub output_schema: Option<Value>,
}

/// Why a call has no output: the error of the called tool, as the host passes it on, or one of the host.
///
/// | code | why |
/// |---|---|
/// | `E_TOOL_NOT_IN_CATALOG` | the step has no tool of this name |
/// | `E_TOOL_DENIED` | the policy does not grant this tool; or the called one was denied something |
/// | `E_TOOL_INVALID_ARGS` | the arguments do not fit: [`Self::parameters`] has their schema |
/// | `E_TOOL_CALL_LIMIT` | this call makes one call more than it may |
/// | `E_TOOL_CALL_NOT_UNDONE` | the called tool failed after it changed something: no change of the whole is kept |
/// | `E_TOOL_TIMEOUT`, `E_TOOL_TRAP`, other codes that begin with `E_TOOL` | the called tool was stopped, or failed |
/// | any other, such as `NOT_FOUND` | the called tool's own |
///
/// `?` in a tool that returns [`ToolError`] passes it on with its code in the message. Branch on [`Self::code`]:
///
/// ```no_run
/// use toolhost_guest::{ToolError, Value, json, tools};
///
/// fn title(path: &str) -> Result<Value, ToolError> {
///     match tools::call("file-system__read", &json!({ "path": path })) {
///         Err(error) if error.code() == "NOT_FOUND" => Ok(json!("untitled")),
///         read => Ok(read?),
///     }
/// }
/// ```
///
/// In a function with an error of its own, `From<CallError>` for that error does the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallError {
    /// The error: its `code` tells whose it is.
    pub error: Box<ToolError>,
    /// JSON Schema of the arguments, where they were the reason.
    pub parameters: Option<Value>,
}

impl CallError {
    /// The code, such as `E_TOOL_DENIED`.
    #[must_use]
    pub fn code(&self) -> &str {
        self.error.code.as_deref().unwrap_or("E_TOOL")
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.error.message)
    }
}

impl std::error::Error for CallError {}

impl From<CallError> for ToolError {
    /// The code of the host is named in the message: a tool cannot raise it itself.
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        Self {
            message,
            ..*error.error
        }
    }
}

impl From<ToolError> for CallError {
    fn from(error: ToolError) -> Self {
        Self {
            error: Box::new(error),
            parameters: None,
        }
    }
}

/// A call that was started. Dropping it stops the call.
#[derive(Debug)]
pub struct Call(system::Call);

impl Call {
    /// Its id: that of this call, `/` and a number.
    #[must_use]
    pub fn id(&self) -> String {
        self.0.id()
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.answer().is_some()
    }

    /// Stops it, unless it has ended.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Waits until it has ended, and returns its output.
    ///
    /// # Errors
    /// [`CallError`] says why there is no output.
    pub fn wait(self) -> Result<Value, CallError> {
        loop {
            if let Some(answer) = self.0.answer() {
                return json_of(&answer?);
            }
            wait_any(std::slice::from_ref(&self));
        }
    }
}

/// Waits until one of these calls has ended, and returns the indexes of those that have. Returns at once for none.
pub fn wait_any(calls: &[Call]) -> Vec<usize> {
    if calls.is_empty() {
        return Vec::new();
    }
    system::wait_any(calls)
}

/// Starts a call of a tool. It runs beside this one.
///
/// # Errors
/// [`CallError`] for a tool that may not be called, arguments that are no JSON object, and one call too many.
pub fn start(name: &str, arguments: &impl Serialize) -> Result<Call, CallError> {
    let arguments = serde_json::to_string(arguments).map_err(|reason| {
        ToolError::new(format!("the arguments of {name} are not JSON: {reason}"))
    })?;
    system::start(name, &arguments).map(Call)
}

/// Calls a tool and waits for its output.
///
/// # Errors
/// [`CallError`] lists the codes. An output that is no `T` has none of them: its code is `E_TOOL`.
pub fn call<T: DeserializeOwned>(name: &str, arguments: &impl Serialize) -> Result<T, CallError> {
    let output = start(name, arguments)?.wait()?;
    serde_json::from_value(output).map_err(|reason| {
        ToolError::new(format!(
            "the output of {name} is not what was expected: {reason}"
        ))
        .into()
    })
}

/// Returns the names of the tools that may be called.
///
/// # Errors
/// `E_TOOL_DENIED` where the policy grants none.
pub fn names() -> Result<Vec<String>, ToolError> {
    system::names()
}

/// Returns a tool that may be called.
///
/// # Errors
/// [`CallError`] for a tool that may not be called.
pub fn describe(name: &str) -> Result<Tool, CallError> {
    system::describe(name)
}

/// Returns the tools that fit a query, the best first: at most `limit` of them, and at most 50.
///
/// # Errors
/// `E_TOOL_DENIED` where the policy grants none; `E_TOOL_INVALID_ARGS` for a query over 1 KiB.
pub fn search(query: &str, limit: u32) -> Result<Vec<Tool>, ToolError> {
    system::search(query, limit)
}

fn json_of(text: &str) -> Result<Value, CallError> {
    serde_json::from_str(text)
        .map_err(|reason| ToolError::new(format!("the host's JSON is broken: {reason}")).into())
}

#[cfg(target_family = "wasm")]
mod system {
    use serde_json::Value;

    use super::{CallError, Tool};
    use crate::ToolError;
    use crate::bindings::tools::goondan::tool::tools as host;
    use crate::bindings::tools::wasi::io::poll::poll;

    #[derive(Debug)]
    pub(super) struct Call(host::Call);

    impl Call {
        pub(super) fn id(&self) -> String {
            self.0.id()
        }

        pub(super) fn answer(&self) -> Option<Result<String, CallError>> {
            self.0.get().map(|answer| answer.map_err(CallError::of))
        }

        pub(super) fn cancel(&self) {
            self.0.cancel();
        }
    }

    pub(super) fn wait_any(calls: &[super::Call]) -> Vec<usize> {
        let pollables: Vec<_> = calls.iter().map(|call| call.0.0.subscribe()).collect();
        let pollables: Vec<_> = pollables.iter().collect();
        let ready = poll(&pollables);
        ready.into_iter().map(|index| index as usize).collect()
    }

    pub(super) fn start(name: &str, arguments: &str) -> Result<Call, CallError> {
        host::start(name, arguments)
            .map(Call)
            .map_err(CallError::of)
    }

    pub(super) fn names() -> Result<Vec<String>, ToolError> {
        host::names().map_err(ToolError::from)
    }

    pub(super) fn describe(name: &str) -> Result<Tool, CallError> {
        host::describe(name).map(tool_of).map_err(CallError::of)
    }

    pub(super) fn search(query: &str, limit: u32) -> Result<Vec<Tool>, ToolError> {
        let tools = host::search(query, limit).map_err(ToolError::from)?;
        Ok(tools.into_iter().map(tool_of).collect())
    }

    fn tool_of(tool: host::Tool) -> Tool {
        let schema = |text: String| serde_json::from_str(&text).unwrap_or_default();
        Tool {
            name: tool.name,
            description: tool.description,
            parameters: schema(tool.parameters),
            output_schema: tool.output_schema.map(schema),
        }
    }

    impl CallError {
        fn of(failure: host::Failure) -> Self {
            let parameters: Option<Value> = failure
                .parameters
                .and_then(|text| serde_json::from_str(&text).ok());
            Self {
                error: Box::new(failure.error.into()),
                parameters,
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod system {
    use super::{CallError, Tool};
    use crate::ToolError;

    #[derive(Debug)]
    pub(super) enum Call {}

    impl Call {
        pub(super) fn id(&self) -> String {
            match *self {}
        }

        pub(super) fn answer(&self) -> Option<Result<String, CallError>> {
            match *self {}
        }

        pub(super) fn cancel(&self) {
            match *self {}
        }
    }

    pub(super) fn wait_any(_: &[super::Call]) -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn start(name: &str, _: &str) -> Result<Call, CallError> {
        Err(not_here(name).into())
    }

    pub(super) fn names() -> Result<Vec<String>, ToolError> {
        Err(not_here("other tools"))
    }

    pub(super) fn describe(name: &str) -> Result<Tool, CallError> {
        Err(not_here(name).into())
    }

    pub(super) fn search(_: &str, _: u32) -> Result<Vec<Tool>, ToolError> {
        Err(not_here("other tools"))
    }

    fn not_here(what: &str) -> ToolError {
        ToolError::new(format!(
            "{what} can be called only in a component that toolhost runs"
        ))
        .suggestion("Test the function without it, and this one with a case of `toolhost test`")
    }
}
