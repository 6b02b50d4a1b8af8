//! What a component's call came to, or was stopped for, as the model reads it. The one place that
//! knows both.

use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolName, Usage};
use toolhost_sandbox::{CallReport, Outcome, PrepareError, SandboxError};

use super::executor::Answer;
pub(crate) use super::hints::raisable;
use super::hints::{Clues, explained};
use crate::registry::RegisteredTool;
use crate::turn::TurnInner;
use toolhost_contract::normalise_error;

/// What a component's call came to, in the model's words.
pub(crate) fn answer_of(
    mut report: CallReport,
    tool: &RegisteredTool,
    turn: &TurnInner,
) -> (Result<Answer, ToolError>, Usage) {
    let (name, locale) = (&tool.item.name, turn.locale());
    let redactor = &turn.agent().host.redactor;
    redactor.denials(&mut report.usage.denials);
    let error = match report.outcome {
        Ok(Outcome::Output(output)) => return (Ok(Answer::Output(output)), report.usage),
        Ok(Outcome::Pending(handle)) => return (Ok(Answer::Pending(handle)), report.usage),
        Ok(Outcome::Failed(error)) => {
            let error = redactor.raised(error);
            normalise_error(error, tool.error_message_limit, locale)
        }
        Err(error) => failure(name, &error, locale),
    };
    let clues = Clues {
        disk_limit: report.disk_limit,
        just_denied: report.just_denied,
        denials: &report.usage.denials,
    };
    let error = explained(error, &clues, name.resource(), locale);
    (Err(error), report.usage)
}

/// Turns the sandbox's error into the model's. The host's own causes are logged, never told.
pub(crate) fn failure(tool: &ToolName, error: &SandboxError, locale: Locale) -> ToolError {
    let code = code_of(error);
    if code == ToolErrorCode::Host {
        tracing::error!(%tool, ?error, "a call failed for the host's fault");
    }
    let told = ToolError::host(code, format!("Tool '{tool}' failed: {error}."), locale);
    match limit_of(error) {
        Some(key) => raisable(told, key, locale),
        None => told,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not known here is the host's fault"
)]
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
        // The memory is other calls': this one may go well later.
        SandboxError::Busy { .. } | SandboxError::MemoryExhausted => ToolErrorCode::Busy,
        _ => ToolErrorCode::Host,
    }
}

/// The key of the policy that sets the limit a call met, where the code's own suggestion does not name
/// it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not known here met no limit of a policy's"
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

/// Returns the code of a component that cannot be loaded; its suggestion is the next move.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not known here is the host's fault"
)]
#[must_use]
pub fn prepare_error_code(error: &PrepareError) -> ToolErrorCode {
    match error {
        PrepareError::NotAComponent(_) | PrepareError::Compile { .. } => {
            ToolErrorCode::ComponentInvalid
        }
        PrepareError::TooLarge { .. }
        | PrepareError::TooSlow { .. }
        | PrepareError::NoTurn { .. }
        | PrepareError::OutOfMemory { .. } => ToolErrorCode::ComponentLimit,
        PrepareError::NoHandlers { .. } | PrepareError::WrongShape { .. } => {
            ToolErrorCode::ComponentWorld
        }
        PrepareError::WrongVersion { .. } => ToolErrorCode::ComponentVersion,
        PrepareError::UnservedImport { .. } => ToolErrorCode::ComponentImport,
        PrepareError::Describe(_)
        | PrepareError::HandlerName { .. }
        | PrepareError::HandlerTwice(_)
        | PrepareError::DescribeTooLarge { .. } => ToolErrorCode::ComponentDescribe,
        _ => ToolErrorCode::Host,
    }
}
