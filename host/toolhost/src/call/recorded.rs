//! Records the run of a component: as a whole for a recorder, and in short if it failed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;
use toolhost_contract::{
    HttpCredential, Limits, RECORDING_VERSION, RecordedComponent, RecordedEngine, RecordedLimits,
    RecordedOperation, RecordedOutcome, Recording, RecordingEnd, Redactor, Timestamp, ToolContext,
    ToolError, ToolResult, Usage, WorkdirAccess,
};
use toolhost_sandbox::{ComponentFacts, Operation, RecordOptions};

use super::outcome::{Answer, exit};
use super::scope::TurnScope;
use crate::agent::Permit;
use crate::recording::call_recording::{CallRecording, Detail, RecordedGrants};
use crate::recording::kept;
use crate::recording::recorder::CallRecorder;
use crate::registry::RegisteredTool;

/// What is known of a run before it begins, for its recording.
pub(super) struct RunRecord {
    recorder: Option<CallRecorder>,
    operation: Operation,
    permit: Permit,
}

/// What a run returned, for its recording.
pub(super) struct Ended<'a> {
    pub(super) turn: &'a TurnScope,
    pub(super) tool: &'a RegisteredTool,
    pub(super) facts: &'a ComponentFacts,
    pub(super) context: ToolContext,
    pub(super) answer: &'a Result<Answer, ToolError>,
    pub(super) usage: &'a Usage,
    pub(super) recording: Option<Box<Recording>>,
}

impl RunRecord {
    /// Returns what the recording of a run needs; none if nothing can be recorded. `permit` has the
    /// credentials of the run.
    pub(super) fn begin(turn: &TurnScope, operation: &Operation, permit: &Permit) -> Option<Self> {
        let recorder = turn.recorder();
        let is_recorded = recorder.is_some() || turn.instance.directory.is_some();
        is_recorded.then(|| Self {
            recorder,
            operation: operation.clone(),
            permit: permit.clone(),
        })
    }

    /// Returns how the sandbox records the run; none if it does not.
    pub(super) fn options(&self, redactor: &Redactor) -> Option<RecordOptions> {
        let recorder = self.recorder.as_ref()?;
        Some(recorder.options(redactor))
    }

    /// Gives the recording to the recorder. Keeps that of a failed run in the directory of the instance,
    /// and returns its path.
    pub(super) async fn end(self, mut ended: Ended<'_>) -> Option<Arc<Path>> {
        let turn = ended.turn;
        let has_failed = ended.answer.is_err();
        let whole = ended.recording.take();
        let recorder = self.recorder.clone();
        let receiver = recorder.zip(whole);
        if !has_failed && receiver.is_none() {
            return None;
        }
        // Of a failed call that is recorded as a whole, the short form is kept too.
        let short = self.short(ended);
        if let Some((recorder, whole)) = receiver {
            recorder.receive(CallRecording {
                recording: *whole,
                detail: Detail::Full,
                ..short.clone()
            });
        }
        if has_failed {
            keep(turn, short).await
        } else {
            None
        }
    }

    /// Returns the recording without the host calls.
    fn short(self, ended: Ended<'_>) -> CallRecording {
        let redactor = &ended.turn.agent().host.redactor;
        let result = result_of(&ended);
        CallRecording {
            tool: ended.tool.item.name.clone(),
            recorded_at: Timestamp(SystemTime::now()).to_string(),
            grants: grants_of(&self.permit),
            result: serde_json::to_value(&result).unwrap_or_default(),
            detail: Detail::Summary,
            recording: Recording {
                version: RECORDING_VERSION,
                component: RecordedComponent {
                    sha256: ended.facts.sha256.clone(),
                    imports: ended.facts.imports.clone(),
                },
                engine: RecordedEngine {
                    toolhost: env!("CARGO_PKG_VERSION").to_owned(),
                    architecture: std::env::consts::ARCH.to_owned(),
                },
                operation: operation_of(self.operation, redactor),
                context: redacted(&ended.context, redactor),
                limits: limits_of(&self.permit.limits),
                policy_sha256: String::new(),
                calls: Vec::new(),
                blobs: BTreeMap::new(),
                outcome: outcome_of(&result),
                usage: serde_json::to_value(ended.usage).unwrap_or_default(),
                end: RecordingEnd::Complete,
            },
        }
    }
}

/// Writes the recording of a failed run into the directory of its instance.
async fn keep(turn: &TurnScope, recording: CallRecording) -> Option<Arc<Path>> {
    let host = &turn.agent().host;
    let root = host.state_root.clone()?;
    let instance = turn.instance.directory.clone()?;
    let write = move || {
        let bytes = recording.to_bytes();
        kept::keep(&root, &instance, &recording.recorded_at, &bytes)
    };
    match host.sandbox.threads().compute(write).await {
        Ok(Ok(path)) => Some(path.into()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the recording of a failed call could not be written");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the recording of a failed call could not be written");
            None
        }
    }
}

/// Returns the result of a run, before middleware.
fn result_of(ended: &Ended<'_>) -> ToolResult {
    let (id, name) = (&*ended.context.tool_call_id, ended.tool.item.name.as_str());
    let result = match ended.answer {
        Ok(Answer::Output(output)) => ToolResult::ok(id, name, output.clone()),
        Ok(Answer::Pending(handle)) => ToolResult::pending(id, name, handle.clone()),
        Err(error) => ToolResult::error(id, name, error.clone()),
    };
    let redactor = &ended.turn.agent().host.redactor;
    exit(redactor, result, ended.tool.error_message_limit)
}

fn redacted(context: &ToolContext, redactor: &Redactor) -> Value {
    let mut context = serde_json::to_value(context).unwrap_or_default();
    redactor.value(&mut context);
    context
}

fn operation_of(operation: Operation, redactor: &Redactor) -> RecordedOperation {
    match operation {
        Operation::Handler { name, input } => RecordedOperation::Handler {
            name,
            input: redacted_json(&input, redactor),
        },
        Operation::Poll { handle } => RecordedOperation::Poll {
            handle: redactor.text(&handle).into_owned(),
        },
        Operation::Cancel { handle } => RecordedOperation::Cancel {
            handle: redactor.text(&handle).into_owned(),
        },
    }
}

/// Redacts the texts of a JSON text, whatever escapes it is written with.
fn redacted_json(json: &str, redactor: &Redactor) -> String {
    if redactor.is_empty() {
        return json.to_owned();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return redactor.text(json).into_owned();
    };
    redactor.value(&mut value);
    value.to_string()
}

fn outcome_of(result: &ToolResult) -> RecordedOutcome {
    match (result.output(), result.handle()) {
        (Some(output), _) => RecordedOutcome::Output {
            value: output.clone(),
        },
        (None, Some(handle)) => RecordedOutcome::Pending {
            handle: handle.to_owned(),
        },
        (None, None) => RecordedOutcome::Failed {
            error: serde_json::to_value(result.tool_error()).unwrap_or_default(),
        },
    }
}

fn grants_of(permit: &Permit) -> RecordedGrants {
    let grants = &permit.grants;
    let workdir = match grants.workdir {
        WorkdirAccess::ReadWrite => "read-write",
        WorkdirAccess::ReadOnly => "read-only",
    };
    let http = grants.http.as_deref();
    // The `Debug` form has the header and the origin, and not the secret.
    let credential = |one: &HttpCredential| format!("{one:?}");
    RecordedGrants {
        workdir: workdir.to_owned(),
        env: grants.env.iter().map(|(name, _)| name.clone()).collect(),
        http: http.map(|http| http.allow.iter().map(ToString::to_string).collect()),
        credentials: http.map_or_else(Vec::new, |http| {
            http.credentials.iter().map(credential).collect()
        }),
        agents: permit.agents,
    }
}

fn limits_of(limits: &Limits) -> RecordedLimits {
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
