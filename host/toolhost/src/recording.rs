//! Recordings of calls: everything that a component received from the host, in one file.
//!
//! A [`CallRecorder`] receives a [`CallRecording`] of each call of a component; [`KeptRecordings`] are those that a host
//! keeps itself.
//! [`CallRecording::to_bytes`] is the content of a `.call` file, and [`CallRecording::parse`] reads it;
//! `docs/recordings.md` describes the format.
//! [`LoadedBundle::replay`](crate::LoadedBundle::replay) runs the component again, with the recorded answers
//! in the place of files, network, clocks and random numbers.
//!
//! ```no_run
//! # async fn example(bundle: toolhost::LoadedBundle, call: toolhost::ToolCall) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::mpsc;
//!
//! use toolhost::TurnStart;
//! use toolhost::recording::{CallRecorder, CallRecording, ReplayEnd, ReplayOptions};
//!
//! let (send, recordings) = mpsc::channel();
//! let recorder = CallRecorder::new(move |recording| drop(send.send(recording)));
//! let start = TurnStart::new("turn-1").with_recorder(recorder);
//! let instance = bundle.only_agent()?.instance("user-1", bundle.instance_workspace("user-1")?);
//! let turn = instance.open_turn(start).await?;
//! let step = turn.open_step().await?;
//! let result = step.execute_without_message(call).await;
//! // None if no component ran, such as for invalid arguments.
//! let recording = recordings.try_recv()?;
//! std::fs::write("count.call", recording.to_bytes())?;
//!
//! let recording = CallRecording::parse(&std::fs::read("count.call")?, "count.call")?;
//! let replay = bundle.replay(&recording, ReplayOptions::default()).await?;
//! assert_eq!(replay.report.end, ReplayEnd::Finished);
//! # let _ = result;
//! # Ok(())
//! # }
//! ```

pub(crate) mod call_recording;
mod compare;
mod file;
pub(crate) mod kept;
mod read;
mod readable;
pub(crate) mod recorder;

pub use call_recording::{CallRecording, Detail, RecordedGrants};
pub use compare::{Comparison, Difference, HostCallDifference};
pub use kept::KeptRecordings;
pub use read::{FILE_BYTES_MAX, RecordingError};
pub use readable::Readable;
pub use recorder::CallRecorder;

pub use crate::loaded_bundle::replay::{CallReplay, CallReplayError};

pub use toolhost_contract::{
    Answer, Divergence, HostCall, Operation, RecordedComponent, RecordedEngine, RecordedLimits,
    RecordedOutcome, Recording, RecordingEnd, ReplayEvent,
};
pub use toolhost_sandbox::{
    ReplayEnd, ReplayError, ReplayObserver, ReplayOptions, ReplayReport, ReplayStep,
};
