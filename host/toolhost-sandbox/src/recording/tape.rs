//! Collects the host calls of a call, within a limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use toolhost_contract::{Answer, HostCall, Redactor};
use toolhost_runtime::{ComponentId, Quota, lock};
use wasmtime::component::Val;

use crate::recording::options::RecordOptions;
use crate::recording::values::{Encoder, dropped};

/// Bytes that a host call counts beside its values.
const CALL_BYTES: u64 = 200;

/// The host calls of one call. They outlive its store, so that a call that was stopped has them too.
pub(crate) struct Tape {
    options: RecordOptions,
    state: Mutex<TapeState>,
    /// The memory of all calls, where what is recorded counts.
    memory: Arc<Quota>,
    component: ComponentId,
}

#[derive(Default)]
struct TapeState {
    calls: Vec<HostCall>,
    blobs: BTreeMap<String, String>,
    bytes: u64,
    is_cut: bool,
}

/// What was recorded.
pub(crate) struct Recorded {
    pub(crate) calls: Vec<HostCall>,
    pub(crate) blobs: BTreeMap<String, String>,
    pub(crate) is_cut: bool,
}

impl Tape {
    pub(crate) fn new(
        options: RecordOptions,
        memory: &Arc<Quota>,
        component: ComponentId,
    ) -> Arc<Self> {
        Arc::new(Self {
            options,
            state: Mutex::default(),
            memory: Arc::clone(memory),
            component,
        })
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.options.redactor
    }

    pub(crate) fn limit(&self) -> u64 {
        self.options.max_bytes
    }

    /// Records that a function was called.
    pub(super) fn begin(&self, function: &str, arguments: &[Val], handles: Vec<u32>) {
        if lock(&self.state).is_cut {
            return;
        }
        let mut encoder = Encoder::new(self.redactor(), handles);
        let arguments: Vec<Value> = arguments.iter().map(|value| encoder.value(value)).collect();
        let mut state = lock(&self.state);
        let bytes = CALL_BYTES + function.len() as u64 + encoder.bytes;
        if self.count(&mut state, bytes, encoder.blobs) {
            let index = state.calls.len() as u64;
            state.calls.push(HostCall {
                index,
                function: function.to_owned(),
                arguments,
                answer: Answer::Unanswered,
            });
        }
    }

    /// Records that the guest dropped a handle.
    pub(super) fn begin_drop(&self, function: &str, handle: u32) {
        let mut state = lock(&self.state);
        if !state.is_cut && self.count(&mut state, CALL_BYTES, BTreeMap::new()) {
            let index = state.calls.len() as u64;
            state.calls.push(HostCall {
                index,
                function: function.to_owned(),
                arguments: vec![dropped(handle)],
                answer: Answer::Unanswered,
            });
        }
    }

    /// Records that the function returned.
    pub(super) fn returned(&self, result: &[Val], handles: Vec<u32>) {
        if lock(&self.state).is_cut {
            return;
        }
        let mut encoder = Encoder::new(self.redactor(), handles);
        let result = result
            .first()
            .map_or(Value::Null, |value| encoder.value(value));
        let mut state = lock(&self.state);
        if self.count(&mut state, encoder.bytes, encoder.blobs) {
            if let Some(call) = state.calls.last_mut() {
                call.answer = Answer::Returned(result);
            }
        } else {
            // Its answer is missing.
            state.calls.pop();
        }
    }

    /// Records that the function ended the guest.
    pub(super) fn ended(&self, error: &wasmtime::Error) {
        let mut state = lock(&self.state);
        if state.is_cut {
            return;
        }
        if let Some(call) = state.calls.last_mut() {
            let text = error.root_cause().to_string();
            call.answer = Answer::Ended(self.redactor().same_length(&text).into_owned());
        }
    }

    /// Counts bytes and adds blobs. Returns false, and ends the recording, where they exceed a limit.
    fn count(&self, state: &mut TapeState, bytes: u64, blobs: BTreeMap<String, String>) -> bool {
        let is_new = |(digest, _): &(&String, &String)| !state.blobs.contains_key(*digest);
        let more = blobs
            .iter()
            .filter(is_new)
            .map(|(_, text)| text.len() as u64);
        let bytes = bytes + more.sum::<u64>();
        let fits = state.bytes.saturating_add(bytes) <= self.options.max_bytes
            && self.memory.take(self.component, bytes);
        if fits {
            state.bytes += bytes;
            state.blobs.extend(blobs);
        } else {
            state.is_cut = true;
        }
        fits
    }

    /// Returns what was recorded.
    pub(crate) fn take(&self) -> Recorded {
        let mut state = lock(&self.state);
        self.memory
            .give_back(self.component, std::mem::take(&mut state.bytes));
        Recorded {
            calls: std::mem::take(&mut state.calls),
            blobs: std::mem::take(&mut state.blobs),
            is_cut: state.is_cut,
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        drop(self.take());
    }
}
