//! What a component's call came to, or was stopped for, as the model reads it. The one place that
//! knows both.

use toolhost_contract::{ErrorCode, Locale, ToolError, ToolErrorCode, ToolName, Usage};
use toolhost_sandbox::{CallReport, Outcome, SandboxError};

use crate::executor::Answer;
use crate::registry::RegisteredTool;
use crate::result::normalise_error;
use crate::turn::TurnInner;

/// What a component's call came to, in the model's words.
pub(crate) fn answer_of(
    report: CallReport,
    tool: &RegisteredTool,
    turn: &TurnInner,
) -> (Result<Answer, ToolError>, Usage) {
    let locale = turn.locale();
    let error = match report.outcome {
        Ok(Outcome::Output(output)) => return (Ok(Answer::Output(output)), report.usage),
        Ok(Outcome::Pending(handle)) => return (Ok(Answer::Pending(handle)), report.usage),
        Ok(Outcome::Failed(error)) => {
            let error = turn.agent().host.redactor.raised(error);
            normalise_error(error, tool.error_message_limit, locale)
        }
        Err(error) => failure(&tool.item.name, &error, locale),
    };
    let clues = Clues {
        disk_limit_hit: report.disk_limit_hit,
        denials: &report.usage.denials,
    };
    (Err(explained(error, &clues, locale)), report.usage)
}

/// Turns the sandbox's error into the model's. The host's own causes are logged, never told.
pub(crate) fn failure(tool: &ToolName, error: &SandboxError, locale: Locale) -> ToolError {
    let code = code_of(error);
    if code == ToolErrorCode::Host {
        tracing::error!(%tool, ?error, "a call failed for the host's fault");
    }
    ToolError::host(code, format!("Tool '{tool}' failed: {error}."), locale)
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
        SandboxError::InvalidOutput { .. } => ToolErrorCode::InvalidOutput,
        SandboxError::OutputTooLarge { .. } | SandboxError::HostcallTooLarge { .. } => {
            ToolErrorCode::OutputTooLarge
        }
        SandboxError::NoPolling => ToolErrorCode::UnknownHandle,
        // The memory is other calls': this one may go well later.
        SandboxError::Busy { .. } | SandboxError::MemoryExhausted => ToolErrorCode::Busy,
        _ => ToolErrorCode::Host,
    }
}

/// What the host knows of a failed call and the guest may not.
pub(crate) struct Clues<'a> {
    /// A write was refused for a disk limit.
    pub(crate) disk_limit_hit: bool,
    /// What it tried without a grant.
    pub(crate) denials: &'a [String],
}

/// Adds why a call failed where the guest could not know: a disk limit, or a missing grant.
pub(crate) fn explained(mut error: ToolError, clues: &Clues<'_>, locale: Locale) -> ToolError {
    let stopped_by_us = matches!(error.code, ErrorCode::Host(code) if !guests_own(code));
    if clues.disk_limit_hit && !stopped_by_us {
        let message = std::mem::take(&mut error.message);
        return ToolError::host(ToolErrorCode::DiskLimit, message, locale);
    }
    if clues.denials.is_empty() {
        return error;
    }
    let denied = clues.denials.join(", ");
    if matches!(error.code, ErrorCode::Host(ToolErrorCode::Trap)) {
        let message = std::mem::take(&mut error.message);
        error = ToolError::host(ToolErrorCode::Denied, message, locale);
    }
    error.suggestion = Some(match locale {
        Locale::En => format!(
            "The tool tried what the operator's policy does not grant it: {denied}. Do it another way, or ask the operator."
        ),
        Locale::Ko => format!(
            "도구가 운영자 정책이 허용하지 않는 동작을 시도했습니다: {denied}. 다른 방법을 쓰거나 운영자에게 요청하세요."
        ),
    });
    error
}

/// Codes of a call that ended by the guest's own doing.
fn guests_own(code: ToolErrorCode) -> bool {
    matches!(
        code,
        ToolErrorCode::Tool | ToolErrorCode::Trap | ToolErrorCode::Exit
    )
}
