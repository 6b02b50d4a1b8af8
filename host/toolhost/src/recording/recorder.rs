//! Receives the recordings of calls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolhost_contract::Redactor;
use toolhost_runtime::debug_fields;
use toolhost_sandbox::RecordOptions;

use super::call_recording::CallRecording;
use super::read::RECORDED_BYTES_MAX;

/// Receives a [`CallRecording`] of each call of a component, once the call has ended: also of each poll and
/// cancellation of a pending call. Cheap to clone.
///
/// - A call for which no component runs, such as one with invalid arguments, is not recorded; nor are calls
///   of native handlers, and calls whose future is dropped.
/// - The secrets of the policy and of the credential provider are redacted. A guest that encodes a secret
///   which it was given as an environment variable, such as in base64, has the encoded secret recorded in the
///   arguments of its host calls.
/// - `receive` runs on the task of the call, which waits for it. If it panics, the call goes on.
#[derive(Clone)]
pub struct CallRecorder {
    bytes_max: Option<u64>,
    receive: Arc<dyn Fn(CallRecording) + Send + Sync>,
}

debug_fields!(CallRecorder, this => bytes_max: this.bytes_max);

impl CallRecorder {
    /// Calls `receive` with each recording.
    pub fn new(receive: impl Fn(CallRecording) + Send + Sync + 'static) -> Self {
        Self {
            bytes_max: None,
            receive: Arc::new(receive),
        }
    }

    /// Sets the most bytes of the host calls of a recording. Beyond them the recording ends, and the call
    /// goes on. Default 64 MiB. More than 128 MiB count as 128 MiB: a file with more might not be read.
    #[must_use]
    pub fn with_bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = Some(bytes);
        self
    }

    pub(crate) fn options(&self, redactor: &Redactor) -> RecordOptions {
        let mut options = RecordOptions::new(redactor.clone());
        let bytes = self.bytes_max.unwrap_or(options.max_bytes);
        options.max_bytes = bytes.min(RECORDED_BYTES_MAX);
        options
    }

    pub(crate) fn receive(&self, recording: CallRecording) {
        let tool = recording.tool.clone();
        let received = catch_unwind(AssertUnwindSafe(|| (self.receive)(recording)));
        if received.is_err() {
            tracing::error!(%tool, "the receiver of a recording panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::FILE_BYTES_MAX;
    use super::*;

    #[test]
    fn no_more_is_recorded_than_is_read_again() {
        let recorder = CallRecorder::new(|_| {});
        let bytes = |recorder: CallRecorder| recorder.options(&Redactor::default()).max_bytes;
        assert_eq!(bytes(recorder.clone()), 64 << 20);
        assert_eq!(bytes(recorder.clone().with_bytes_max(1_000)), 1_000);
        assert!(bytes(recorder.with_bytes_max(u64::MAX)) <= FILE_BYTES_MAX / 2);
    }
}
