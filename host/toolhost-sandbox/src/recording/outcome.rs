//! Outcomes, operations, contexts and limits as a recording holds them.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost_contract::{
    AssistantMessage, Operation, RecordedLimits, RecordedOutcome, Redactor, ToolContext,
};

use crate::component::facts::sha256;
use crate::operation::Outcome;
use crate::recording::options::ReplayError;
use crate::{Grants, Limits, SandboxError};

/// Why a call was stopped that was stopped at its deadline.
const TIMEOUT: &str = "timeout";

/// Returns an outcome as it is recorded.
pub(crate) fn recorded(
    outcome: &Result<Outcome, SandboxError>,
    redactor: &Redactor,
) -> RecordedOutcome {
    let text = |text: &str| redactor.same_length(text).into_owned();
    match outcome {
        Ok(Outcome::Output(value)) => {
            let mut value = value.clone();
            redactor.same_length_value(&mut value);
            RecordedOutcome::Output { value }
        }
        Ok(Outcome::Pending(handle)) => RecordedOutcome::Pending {
            handle: text(handle),
        },
        Ok(Outcome::Failed(error)) => {
            let mut error = json!(error);
            redactor.same_length_value(&mut error);
            RecordedOutcome::Failed { error }
        }
        Err(error) => RecordedOutcome::Stopped {
            reason: reason(error).to_owned(),
            message: text(&error.to_string()),
        },
    }
}

fn reason(error: &SandboxError) -> &'static str {
    match error {
        SandboxError::Timeout { .. } => TIMEOUT,
        SandboxError::OutOfMemory { .. } => "out-of-memory",
        SandboxError::MemoryExhausted => "memory-exhausted",
        SandboxError::Trap { .. } => "trap",
        SandboxError::Exit { .. } => "exit",
        SandboxError::InvalidOutput { .. } => "invalid-output",
        SandboxError::OutputTooDeep { .. } => "output-too-deep",
        SandboxError::OutputTooMany { .. } => "output-too-many",
        SandboxError::OutputTooLarge { .. } => "output-too-large",
        SandboxError::HostcallTooLarge { .. } => "hostcall-too-large",
        SandboxError::NoPolling => "no-polling",
        SandboxError::Busy { .. } => "busy",
        SandboxError::Host(_) => "host",
        SandboxError::HostPanic => "host-panic",
    }
}

/// Whether what stopped the call was outside of it, such as the clock: the guest of a replay may go further.
pub(crate) fn was_stopped_from_outside(outcome: &RecordedOutcome) -> bool {
    let outside = [TIMEOUT, "memory-exhausted", "busy", "host", "host-panic"];
    matches!(outcome, RecordedOutcome::Stopped { reason, .. } if outside.contains(&reason.as_str()))
}

/// Whether a replay that made the same host calls ended as the recording did.
pub(crate) fn ended_alike(recorded: &RecordedOutcome, replayed: &RecordedOutcome) -> bool {
    // What a guest prints is not captured in a replay, and messages of crashes are read from it.
    let crashes = ["trap", "exit", "out-of-memory"];
    match (recorded, replayed) {
        (
            RecordedOutcome::Stopped { reason, .. },
            RecordedOutcome::Stopped {
                reason: replayed, ..
            },
        ) => {
            let crashed = |reason: &String| crashes.contains(&reason.as_str());
            reason == replayed || (crashed(reason) && crashed(replayed))
        }
        _ => was_stopped_from_outside(recorded) || recorded == replayed,
    }
}

/// Returns an operation as it is recorded.
pub(crate) fn recorded_operation(operation: &Operation, redactor: &Redactor) -> Operation {
    let text = |text: &str| redactor.same_length(text).into_owned();
    match operation {
        Operation::Handler { name, input } => Operation::Handler {
            name: name.clone(),
            input: text(input),
        },
        Operation::Poll { handle } => Operation::Poll {
            handle: text(handle),
        },
        Operation::Cancel { handle } => Operation::Cancel {
            handle: text(handle),
        },
    }
}

/// Returns a context as it is recorded.
pub(crate) fn recorded_context(context: &ToolContext, redactor: &Redactor) -> Value {
    let mut context = serde_json::to_value(context).unwrap_or(Value::Null);
    redactor.same_length_value(&mut context);
    context
}

/// Returns a recorded context as one of a call.
pub(crate) fn context(recorded: &Value) -> Result<ToolContext, ReplayError> {
    let place = |key: &str| format!("context.{key}");
    let text = |key: &str| {
        let text = recorded.get(key).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| invalid(&place(key), &"it is missing, or no text"))
    };
    let message = recorded.get("message").cloned().unwrap_or(Value::Null);
    Ok(ToolContext {
        agent_name: text("agentName")?.into(),
        instance_key: text("instanceKey")?.into(),
        turn_id: text("turnId")?.into(),
        tool_call_id: text("toolCallId")?.into(),
        trace_id: recorded
            .get("traceId")
            .and_then(Value::as_str)
            .map(Into::into),
        message: AssistantMessage::parse(message)
            .map_err(|error| invalid(&place("message"), &error))?,
        workdir: text("workdir")?,
    })
}

pub(crate) fn invalid(place: &str, problem: &dyn std::fmt::Display) -> ReplayError {
    ReplayError::Invalid {
        place: place.to_owned(),
        problem: problem.to_string(),
    }
}

/// Returns the limits that act on a guest without a host call.
pub(crate) fn recorded_limits(limits: &Limits) -> RecordedLimits {
    RecordedLimits {
        deadline_ms: u64::try_from(limits.deadline.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: limits.memory_bytes,
        table_elements: limits.table_elements,
        instances: limits.instances as u64,
        handles: limits.handles as u64,
        hostcall_bytes: limits.hostcall_bytes as u64,
        output_bytes: limits.output_bytes,
        json_depth: limits.json_depth as u64,
        json_values: limits.json_values,
    }
}

/// Returns the limits of a replay. Its deadline is not that of the call, unless that ended the call: answers
/// take no time, but whoever watches the replay may.
pub(crate) fn limits(recorded: &RecordedLimits, outcome: &RecordedOutcome) -> Limits {
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let defaults = Limits::default();
    let is_timeout =
        matches!(outcome, RecordedOutcome::Stopped { reason, .. } if reason == TIMEOUT);
    Limits {
        deadline: if is_timeout {
            Duration::from_millis(recorded.deadline_ms).min(LONGEST)
        } else {
            LONGEST
        },
        memory_bytes: recorded.memory_bytes,
        table_elements: recorded.table_elements,
        instances: size(recorded.instances),
        handles: size(recorded.handles),
        // A recording may come from somebody else: what is read from it is bounded as in a call.
        hostcall_bytes: size(recorded.hostcall_bytes),
        output_bytes: recorded.output_bytes,
        json_depth: size(recorded.json_depth),
        json_values: recorded.json_values,
        ..defaults
    }
}

/// Returns the digest of what the policy gave a call: limits and grants, without the values of variables.
pub(crate) fn policy_sha256(limits: &Limits, grants: &Grants) -> String {
    let text = format!("{limits:?}\n{grants:?}");
    sha256(text.as_bytes())
}
