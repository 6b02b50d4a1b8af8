//! Answers the host calls of a replay from a recording.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use toolhost_contract::{
    Answer, Divergence, HostCall, RecordedOutcome, Recording, RecordingEnd, Redactor, ReplayEvent,
};
use toolhost_runtime::lock;
use wasmtime::AsContextMut;
use wasmtime::component::{ResourceDynamic, Val};

use crate::recording::imports::{ImportedFunction, Imports};
use crate::recording::options::{ReplayObserver, ReplayStep};
use crate::recording::outcome::was_stopped_from_outside;
use crate::recording::values::{Encoder, decode, dropped};

/// How far a replay went. It outlives the store.
#[derive(Default)]
pub(crate) struct Progress {
    /// Host calls that equalled the recorded ones.
    pub(crate) calls: usize,
    /// Why the replay ended the guest. None if the guest ended by itself.
    pub(crate) stop: Option<Stop>,
}

/// Why a replay ended the guest.
pub(crate) enum Stop {
    Diverged(Box<Divergence>),
    /// The recording was cut here.
    Cut,
    /// The observer ended it.
    Stopped,
    /// The recorded call ended here.
    Ended,
}

/// Ends the guest of a replay.
#[derive(Debug, thiserror::Error)]
#[error("the replay ended")]
struct ReplayEnded;

/// The recording, and the place that a replay has reached.
pub(crate) struct Player {
    recording: Arc<Recording>,
    progress: Arc<Mutex<Progress>>,
    observer: Option<ReplayObserver>,
    none: Redactor,
}

impl Player {
    pub(crate) fn new(
        recording: &Arc<Recording>,
        progress: &Arc<Mutex<Progress>>,
        observer: Option<ReplayObserver>,
    ) -> Self {
        Self {
            recording: Arc::clone(recording),
            progress: Arc::clone(progress),
            observer,
            none: Redactor::default(),
        }
    }

    /// Answers a call of a function.
    pub(super) fn call(
        &mut self,
        mut store: impl AsContextMut,
        imports: &Imports,
        function: &ImportedFunction,
        params: (&[Val], Vec<u32>),
        results: &mut [Val],
    ) -> wasmtime::Result<()> {
        let (params, handles) = params;
        let recording = Arc::clone(&self.recording);
        let (index, answer) = self.expect(&recording, &function.name, params, handles)?;
        let (Some(ty), Some(result)) = (&function.result, results.first_mut()) else {
            return Ok(());
        };
        let decoded = decode(answer, ty, &recording.blobs, &mut |number, ty| {
            let payload = imports
                .resource(ty)
                .ok_or("is a handle of an unknown resource")?;
            let payload = u32::try_from(payload).map_err(|error| error.to_string())?;
            let handle = ResourceDynamic::new_own(number, payload);
            let handle = handle.try_into_resource_any(&mut store);
            handle.map_err(|error| error.to_string())
        });
        match decoded {
            Ok(value) => {
                *result = value;
                Ok(())
            }
            Err(problem) => {
                let expected = ReplayEvent::InvalidAnswer {
                    function: function.name.clone(),
                    problem,
                };
                let actual = call_event(&function.name, recording.calls.get(index));
                self.diverge(index, expected, actual)
            }
        }
    }

    /// Answers the drop of a handle.
    pub(super) fn drop_handle(&mut self, function: &str, handle: u32) -> wasmtime::Result<()> {
        let recording = Arc::clone(&self.recording);
        let dropped = dropped(handle);
        self.expect_arguments(&recording, function, vec![dropped])?;
        Ok(())
    }

    /// Returns the answer to a call that equals the recorded one.
    fn expect<'r>(
        &mut self,
        recording: &'r Recording,
        function: &str,
        params: &[Val],
        handles: Vec<u32>,
    ) -> wasmtime::Result<(usize, &'r Value)> {
        let mut encoder = Encoder::new(&self.none, handles);
        let arguments = params.iter().map(|value| encoder.value(value)).collect();
        self.expect_arguments(recording, function, arguments)
    }

    fn expect_arguments<'r>(
        &mut self,
        recording: &'r Recording,
        function: &str,
        arguments: Vec<Value>,
    ) -> wasmtime::Result<(usize, &'r Value)> {
        let index = lock(&self.progress).calls;
        let Some(call) = recording.calls.get(index) else {
            if matches!(recording.end, RecordingEnd::CutAtLimit { .. }) {
                return self.stop(Stop::Cut);
            }
            if was_stopped_from_outside(&recording.outcome) {
                return self.stop(Stop::Ended);
            }
            let expected = ReplayEvent::End {
                outcome: recording.outcome.clone(),
            };
            return self.diverge(index, expected, event(function, arguments));
        };
        if call.function != function || call.arguments != arguments {
            let expected = call_event(&call.function, Some(call));
            return self.diverge(index, expected, event(function, arguments));
        }
        lock(&self.progress).calls += 1;
        if let Some(observer) = &mut self.observer
            && observer(call) == ReplayStep::Stop
        {
            return self.stop(Stop::Stopped);
        }
        match &call.answer {
            Answer::Returned(value) => Ok((index, value)),
            Answer::Ended(_) | Answer::Unanswered => self.stop(Stop::Ended),
        }
    }

    fn diverge<T>(
        &self,
        index: usize,
        expected: ReplayEvent,
        actual: ReplayEvent,
    ) -> wasmtime::Result<T> {
        self.stop(Stop::Diverged(Box::new(Divergence {
            index: index as u64,
            expected,
            actual,
        })))
    }

    fn stop<T>(&self, stop: Stop) -> wasmtime::Result<T> {
        lock(&self.progress).stop = Some(stop);
        Err(ReplayEnded.into())
    }
}

fn event(function: &str, arguments: Vec<Value>) -> ReplayEvent {
    ReplayEvent::Call {
        function: function.to_owned(),
        arguments,
    }
}

pub(crate) fn call_event(function: &str, call: Option<&HostCall>) -> ReplayEvent {
    event(
        function,
        call.map(|call| call.arguments.clone()).unwrap_or_default(),
    )
}

/// Returns where a guest that ended by itself differs from the recording.
pub(crate) fn divergence_at_end(
    recording: &Recording,
    calls: usize,
    outcome: &RecordedOutcome,
    is_alike: bool,
) -> Option<Divergence> {
    let actual = ReplayEvent::End {
        outcome: outcome.clone(),
    };
    let expected = match recording.calls.get(calls) {
        Some(call) => call_event(&call.function, Some(call)),
        None if is_alike => return None,
        None => ReplayEvent::End {
            outcome: recording.outcome.clone(),
        },
    };
    Some(Divergence {
        index: calls as u64,
        expected,
        actual,
    })
}
