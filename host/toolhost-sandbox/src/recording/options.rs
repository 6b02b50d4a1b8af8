//! What a caller asks of a recording and of a replay, and what it gets.

use std::fmt;

use toolhost_contract::{Divergence, HostCall, RecordedOutcome, Redactor};

/// Default of [`RecordOptions::max_bytes`].
const MAX_BYTES: u64 = 64 << 20;

/// How a call is recorded.
///
/// In one host call, a recorded guest may pass lists of some 6 MB, if
/// [`Limits::hostcall_bytes`](toolhost_contract::Limits::hostcall_bytes) allows them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordOptions {
    /// Most bytes of the host calls as JSON. Beyond them the recording ends with
    /// [`CutAtLimit`](toolhost_contract::RecordingEnd::CutAtLimit), and the call goes on. They count as
    /// memory of all calls while the call runs. Default 64 MiB.
    pub max_bytes: u64,
    /// Redacts the recording. A secret is replaced by a text with as many bytes, so that lengths that the
    /// guest computes stay the same in a replay. Values of granted variables of the environment are
    /// redacted only where this redactor knows them.
    pub redactor: Redactor,
}

impl RecordOptions {
    /// Returns the defaults with this redactor.
    pub fn new(redactor: Redactor) -> Self {
        Self {
            max_bytes: MAX_BYTES,
            redactor,
        }
    }
}

/// Whether a replay goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayStep {
    /// The guest gets the recorded answer.
    Continue,
    /// The replay ends before the guest gets the answer.
    Stop,
}

/// Called with each host call of a replay that equals the recorded one, before the guest gets its answer.
/// The replay waits for it; its deadline does not.
pub type ReplayObserver = Box<dyn FnMut(&HostCall) -> ReplayStep + Send>;

/// How a recording is replayed.
#[derive(Default)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// Called with each host call. Default: none.
    pub on_call: Option<ReplayObserver>,
}

impl fmt::Debug for ReplayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOptions")
            .field("on_call", &self.on_call.is_some())
            .finish()
    }
}

/// How a replay ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayReport {
    /// The first place at which the guest did something else than in the recording. None if it did the same.
    pub divergence: Option<Divergence>,
    /// Host calls that equalled the recorded ones.
    pub calls: u64,
    /// Why it ended.
    pub end: ReplayEnd,
    /// How the call ended. After [`ReplayEnd::Finished`] the same as in the recording.
    pub outcome: RecordedOutcome,
}

/// Why a replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayEnd {
    /// The guest did all that it did in the recording, and ended in the same way.
    Finished,
    /// The guest did something else, see [`ReplayReport::divergence`].
    Diverged,
    /// The recording was cut at its limit. The guest did the same until there.
    RecordingCut,
    /// [`ReplayOptions::on_call`] returned [`ReplayStep::Stop`].
    Stopped,
}

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Another version of the format.
    #[error("the recording has version {found}, this release reads version {known}")]
    Version {
        /// Its version.
        found: u32,
        /// The version that this release reads.
        known: u32,
    },
    /// Another architecture: floating-point results may differ.
    #[error(
        "the recording was made on {found}, but this machine is {here}: results of floating-point \
         operations may differ; replay it on a machine with {found}"
    )]
    Architecture {
        /// That of the recording.
        found: String,
        /// That of this machine.
        here: &'static str,
    },
    /// A part of the recording is invalid.
    #[error("the recording is invalid: {place}: {problem}")]
    Invalid {
        /// The part, such as `operation.name` or `calls[3].index`.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The component imports something whose calls cannot be recorded.
    #[error("calls of this component cannot be recorded or replayed: {0}")]
    Unsupported(String),
    /// The call could not start, or the host failed.
    #[error(transparent)]
    Call(#[from] crate::SandboxError),
}
