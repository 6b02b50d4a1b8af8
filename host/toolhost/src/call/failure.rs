//! Turns the outcome of a sandbox call into what the model reads. No other module maps sandbox errors
//! to error codes.

use toolhost_contract::{
    ErrorCode, HandlerError, Locale, ToolError, ToolErrorCode, ToolName, dropped_values,
    normalise_error,
};
use toolhost_sandbox::{CallReport, FailedOperation, Outcome, PrepareError, SandboxError};

use super::failed_operation::{name_operation, path_of_crash};
use super::hints::{FailureContext, explain, suggest_raising};
use super::run::{Answer, RunEnd};
use crate::registry::RegisteredTool;
use toolhost_contract::Redactor;

/// Returns how the run of a component ended.
pub(super) fn end_of(
    mut report: CallReport,
    tool: &RegisteredTool,
    redactor: &Redactor,
    locale: Locale,
) -> RunEnd {
    let has_answered = report.outcome.is_ok();
    let end = |answer, usage| RunEnd {
        answer,
        usage,
        has_answered,
        recording: None,
    };
    let name = &tool.item.name;
    redactor.denials(&mut report.usage.denials);
    redactor.changes(&mut report.usage.changes);
    let error = match report.outcome {
        Ok(Outcome::Output(output)) => return end(Ok(Answer::Output(output)), report.usage),
        Ok(Outcome::Pending(handle)) => return end(Ok(Answer::Pending(handle)), report.usage),
        Ok(Outcome::Failed(mut error)) => {
            let is_denied_request = |failed: &FailedOperation| {
                report.just_denied && matches!(failed, FailedOperation::Http { .. })
            };
            if let Some(failed) = report
                .just_failed
                .filter(|failed| !is_denied_request(failed))
            {
                name_operation(&mut error, &failed);
            }
            let error = normalised(redactor.handler_error(error), tool, locale);
            match report.memory_refused {
                Some(refused) => out_of_memory(error, name, &refused, locale),
                None => error,
            }
        }
        Err(error) => {
            let mut failed = failure(name, &error, locale);
            if let SandboxError::Trap { reason } = &error
                && let Some(operation) = &report.just_failed
                && let Some(path) = path_of_crash(reason, operation)
            {
                failed.message = format!("{} The path was '{path}'.", failed.message);
            }
            failed
        }
    };
    let context = FailureContext {
        disk_limit: report.disk_limit,
        just_denied: report.just_denied,
        was_refused_memory: report.was_refused_memory,
        denials: &report.usage.denials,
    };
    let error = explain(error, &context, name.resource(), locale);
    end(Err(error), report.usage)
}

/// Converts the error of a component's or an extension's handler. Values that the model does not get are
/// logged at the level `debug`.
pub(super) fn normalised(error: HandlerError, tool: &RegisteredTool, locale: Locale) -> ToolError {
    for dropped in dropped_values(&error) {
        let tool = tool.item.name.as_str();
        tracing::debug!(tool, "the error of the handler: {dropped}");
    }
    normalise_error(error, tool.error_message_limit, locale)
}

/// Guests' words for a lack of memory that say no more than the host's, in lower case.
const BARE_WORDS: [&str; 3] = ["", "memoryerror", "out of memory"];

/// Returns the error of a call whose handler was refused memory, with the handler's own words. Keeps an
/// error with a code of the handler's own.
fn out_of_memory(
    error: ToolError,
    tool: &ToolName,
    refused: &SandboxError,
    locale: Locale,
) -> ToolError {
    if error.code != ErrorCode::Host(ToolErrorCode::Tool) {
        return error;
    }
    let mut failed = failure(tool, refused, locale);
    let words = error.message.trim();
    if !BARE_WORDS.contains(&words.to_lowercase().as_str()) {
        failed.message = format!("{} It reported: {words}", failed.message);
    }
    failed
}

/// Turns a sandbox error into the model's. The cause of a host error is logged, and not part of it.
pub(crate) fn failure(tool: &ToolName, error: &SandboxError, locale: Locale) -> ToolError {
    let code = code_of(error);
    if code == ToolErrorCode::Host {
        let error: &(dyn std::error::Error + 'static) = error;
        tracing::error!(%tool, error, "a call failed because of the host");
    }
    let failed = ToolError::host(code, format!("Tool '{tool}' failed: {error}."), locale);
    match limit_of(error) {
        Some(key) => suggest_raising(failed, key, locale),
        None => failed,
    }
}

fn code_of(error: &SandboxError) -> ToolErrorCode {
    match error {
        SandboxError::Timeout { .. } => ToolErrorCode::Timeout,
        SandboxError::OutOfMemory { .. } => ToolErrorCode::OutOfMemory,
        SandboxError::Trap { .. } => ToolErrorCode::Trap,
        SandboxError::Exit { .. } => ToolErrorCode::Exit,
        SandboxError::InvalidOutput { .. }
        | SandboxError::OutputTooDeep { .. }
        | SandboxError::OutputTooMany { .. } => ToolErrorCode::InvalidOutput,
        SandboxError::OutputTooLarge { .. } | SandboxError::HostcallTooLarge { .. } => {
            ToolErrorCode::OutputTooLarge
        }
        SandboxError::NoPolling => ToolErrorCode::UnknownHandle,
        // Other calls use the memory, so a later call may succeed.
        SandboxError::Busy { .. } | SandboxError::MemoryExhausted => ToolErrorCode::Busy,
        SandboxError::Host(_) | SandboxError::HostPanic => ToolErrorCode::Host,
    }
}

/// Returns the policy key of the limit that a call exceeded, unless the code's suggestion names it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "other errors have no limit in the policy"
)]
fn limit_of(error: &SandboxError) -> Option<&'static str> {
    match error {
        SandboxError::OutputTooLarge { .. } => Some("outputBytes"),
        SandboxError::OutputTooDeep { .. } => Some("jsonDepth"),
        SandboxError::OutputTooMany { .. } => Some("jsonValues"),
        SandboxError::HostcallTooLarge { .. } => Some("hostcallBytes"),
        _ => None,
    }
}

/// Returns the error code for a component that could not be loaded.
pub fn prepare_error_code(error: &PrepareError) -> ToolErrorCode {
    match error {
        PrepareError::NotAComponent(_) | PrepareError::Compile { .. } => {
            ToolErrorCode::ComponentInvalid
        }
        PrepareError::TooLarge { .. }
        | PrepareError::TooSlow { .. }
        | PrepareError::WaitedTooLong { .. }
        | PrepareError::OutOfMemory { .. } => ToolErrorCode::ComponentLimit,
        PrepareError::NoHandlers { .. } | PrepareError::WrongShape { .. } => {
            ToolErrorCode::ComponentWorld
        }
        PrepareError::WrongVersion { .. } => ToolErrorCode::ComponentVersion,
        PrepareError::UnservedImport { .. } | PrepareError::LaterWasi { .. } => {
            ToolErrorCode::ComponentImport
        }
        PrepareError::Describe(_)
        | PrepareError::HandlerName { .. }
        | PrepareError::HandlerTwice(_)
        | PrepareError::DescribeTooLarge { .. } => ToolErrorCode::ComponentDescribe,
        PrepareError::Host(_) => ToolErrorCode::Host,
    }
}

/// Returns what to do about a component that could not be loaded.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "for the others, the code has a suggestion"
)]
pub fn prepare_error_help(error: &PrepareError) -> &'static str {
    match error {
        PrepareError::HandlerName { .. } => {
            "Rename the handler: lower-case letters, digits, '_' and '-', without '__'."
        }
        PrepareError::LaterWasi { .. } => {
            "Build it for WASI 0.2: `toolhost build` does so for Rust, TypeScript and Python; Rust's target wasm32-wasip2, componentize-py, jco, wasi-sdk and TinyGo do."
        }
        PrepareError::HandlerTwice(_) => "Give each handler a name of its own.",
        PrepareError::DescribeTooLarge { what, .. } if *what == "handlers" => {
            "Serve fewer handlers: split the component into several tools."
        }
        PrepareError::DescribeTooLarge { .. } => {
            "Shorten the descriptions and parameters in the component; the manifest may have them instead."
        }
        PrepareError::Describe(SandboxError::Trap { .. } | SandboxError::Exit { .. }) => {
            "Correct describe: it runs without arguments, files, network and environment, and must not fail."
        }
        PrepareError::Describe(SandboxError::OutOfMemory { .. }) => {
            "Make describe return a constant list: it needs little memory then."
        }
        PrepareError::Describe(SandboxError::InvalidOutput { .. }) => {
            "Correct describe: its texts are Unicode."
        }
        _ => prepare_error_code(error).suggestion(Locale::En),
    }
}
