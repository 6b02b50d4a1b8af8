//! Records the run of a component: as a whole for a recorder, and as a summary if it failed.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use toolhost_contract::{
    HttpCredential, RecordedOutcome, Recording, Timestamp, ToolResult, WorkdirAccess,
};
use toolhost_sandbox::{Operation, RecordOptions};

use super::exit::exit;
use super::run::{ComponentRun, RunEnd, result_of};
use super::scope::TurnScope;
use crate::agent::ToolPermit;
use crate::recording::call_recording::{CallRecording, Detail, RecordedGrants};
use crate::recording::kept::{self, Ended, KeptRecordings};

/// Returns how the host calls of a turn's runs are recorded; none if they are not.
pub(super) fn options(turn: &TurnScope) -> Option<RecordOptions> {
    let host = &turn.agent().host;
    let of_recorder = turn.recorder();
    of_recorder
        .map(|recorder| recorder.options(&host.redactor))
        .or_else(|| {
            let is_kept = host.kept_recordings.is_whole() && turn.instance.directory.is_some();
            is_kept.then(|| {
                let mut options = RecordOptions::new(host.redactor.clone());
                options.max_bytes = KeptRecordings::HOST_CALL_BYTES;
                options
            })
        })
}

/// Gives the recording of a run to the recorder, and keeps it in the directory of the instance, as the host is to: by
/// default a summary of a failed run. Returns the path of what is kept.
pub(super) async fn record(
    run: &ComponentRun<'_>,
    operation: &Operation,
    end: &RunEnd,
    whole: Option<Box<Recording>>,
) -> Option<Arc<Path>> {
    let turn = run.turn;
    let host = &turn.agent().host;
    let keeps = || {
        let outer = run.outer.as_ref();
        outer.is_none_or(|outer| outer.budget.keeps_recording())
    };
    let ended = if end.answer.is_err() {
        Ended::Failed
    } else {
        Ended::Succeeded
    };
    let is_asked = ended == Ended::Failed || host.kept_recordings == KeptRecordings::All;
    let is_kept = is_asked && turn.instance.directory.is_some() && keeps();
    let recorder = turn.recorder().filter(|_| whole.is_some());
    if recorder.is_none() && !is_kept {
        return None;
    }
    let redactor = &host.redactor;
    let result = result_of(end.answer.clone(), run.call);
    let result = exit(redactor, result, run.tool.error_message_limit);
    let recorded = |recording, detail| CallRecording {
        tool: run.tool.item.name.clone(),
        recorded_at: Timestamp(SystemTime::now()).to_string(),
        grants: grants_of(&run.permit),
        result: serde_json::to_value(&result).unwrap_or_default(),
        recording,
        detail,
    };
    let mut whole = whole.map(|whole| recorded(*whole, Detail::Full));
    let keeps_whole = is_kept && host.kept_recordings.is_whole();
    if let Some(recorder) = recorder {
        let received = if keeps_whole {
            whole.clone()
        } else {
            whole.take()
        };
        received.into_iter().for_each(|it| recorder.receive(it));
    }
    if !is_kept {
        return None;
    }
    if let Some(whole) = whole.filter(|_| keeps_whole) {
        return keep(turn, ended, whole).await;
    }
    let mut recording = run.component.ready()?.recording_without_calls(
        operation,
        &run.call.tool_context(run.message),
        &run.permit.limits,
        &run.permit.grants,
        redactor,
    );
    recording.outcome = outcome_of(&result);
    recording.usage = serde_json::to_value(&end.usage).unwrap_or_default();
    keep(turn, ended, recorded(recording, Detail::Summary)).await
}

/// Writes the recording of a run into the directory of its instance.
async fn keep(turn: &TurnScope, ended: Ended, recording: CallRecording) -> Option<Arc<Path>> {
    let host = &turn.agent().host;
    let root = host.state_root.clone()?;
    let instance = turn.instance.directory.clone()?;
    let write = move || {
        let bytes = recording.to_bytes();
        kept::keep(&root, &instance, ended, &recording.recorded_at, &bytes)
    };
    match host.sandbox.threads().compute(write).await {
        Ok(Ok(path)) => Some(path.into()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the recording of a call could not be written");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the recording of a call could not be written");
            None
        }
    }
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

fn grants_of(permit: &ToolPermit) -> RecordedGrants {
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
        tools: permit
            .tools
            .iter()
            .flat_map(|it| it.iter())
            .map(ToString::to_string)
            .collect(),
    }
}
