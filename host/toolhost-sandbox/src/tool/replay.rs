//! What a replay begins with, and what it reports.

use std::env::consts::ARCH;
use std::sync::{Arc, Mutex};

use toolhost_contract::{RECORDING_VERSION, Recording, RecordingEnd, Redactor};
use toolhost_files::WriteProtected;
use toolhost_runtime::lock;

use crate::call::invocation::Invocation;
use crate::operation::Outcome;
use crate::recording::options::{ReplayEnd, ReplayError, ReplayReport};
use crate::recording::outcome::{self, ended_alike, invalid, limits, recorded};
use crate::recording::player::{Progress, Stop, divergence_at_end};
use crate::{Grants, SandboxError};

/// What a replay begins with.
pub(crate) struct Replay {
    pub(crate) recording: Arc<Recording>,
    pub(crate) progress: Arc<Mutex<Progress>>,
    pub(crate) invocation: Invocation,
}

impl Replay {
    /// # Errors
    /// The recording cannot be replayed here.
    pub(crate) fn new(recording: &Recording) -> Result<Self, ReplayError> {
        if recording.version != RECORDING_VERSION {
            return Err(ReplayError::Version {
                found: recording.version,
                known: RECORDING_VERSION,
            });
        }
        if recording.engine.architecture != ARCH {
            return Err(ReplayError::Architecture {
                found: recording.engine.architecture.clone(),
                here: ARCH,
            });
        }
        for (index, call) in recording.calls.iter().enumerate() {
            if call.index != index as u64 {
                let place = format!("calls[{index}].index");
                return Err(invalid(&place, &format!("it is {}", call.index)));
            }
        }
        let invocation = Invocation {
            operation: Arc::new(recording.operation.clone()),
            context: outcome::context(&recording.context)?,
            workdir: None,
            protected: WriteProtected::default(),
            grants: Grants::none(),
            agents: None,
            tools: None,
            effects: None,
            outer: None,
            log: None,
            limits: limits(&recording.limits, &recording.outcome),
            record: None,
        };
        Ok(Self {
            recording: Arc::new(recording.clone()),
            progress: Arc::default(),
            invocation,
        })
    }
}

/// Returns the report of a replay that ended.
///
/// # Errors
/// The call could not start, or the host failed.
pub(crate) fn report(
    recording: &Recording,
    progress: &Mutex<Progress>,
    outcome: Result<Outcome, SandboxError>,
) -> Result<ReplayReport, ReplayError> {
    let mut progress = lock(progress);
    let calls = progress.calls;
    let replayed = recorded(&outcome, &Redactor::default());
    let ended = |end, divergence, outcome| ReplayReport {
        divergence,
        calls: calls as u64,
        end,
        outcome,
    };
    let was_recorded = || recording.outcome.clone();
    Ok(match progress.stop.take() {
        Some(Stop::Diverged(divergence)) => {
            let stopped = toolhost_contract::RecordedOutcome::Stopped {
                reason: "diverged".to_owned(),
                message: "the replay ended at its first divergence".to_owned(),
            };
            ended(ReplayEnd::Diverged, Some(*divergence), stopped)
        }
        Some(Stop::Cut) => ended(ReplayEnd::RecordingCut, None, was_recorded()),
        Some(Stop::Stopped) => ended(ReplayEnd::Stopped, None, was_recorded()),
        Some(Stop::Ended) => ended(ReplayEnd::Finished, None, was_recorded()),
        None => {
            let is_alike = ended_alike(&recording.outcome, &replayed);
            match outcome {
                Err(error @ (SandboxError::Busy { .. } | SandboxError::Host(_))) if !is_alike => {
                    return Err(error.into());
                }
                Ok(_) | Err(_) => {}
            }
            let at_end = calls == recording.calls.len();
            if at_end && matches!(recording.end, RecordingEnd::CutAtLimit { .. }) {
                return Ok(ended(ReplayEnd::RecordingCut, None, was_recorded()));
            }
            match divergence_at_end(recording, calls, &replayed, is_alike) {
                None => ended(ReplayEnd::Finished, None, was_recorded()),
                divergence => ended(ReplayEnd::Diverged, divergence, replayed),
            }
        }
    })
}
