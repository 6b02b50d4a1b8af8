//! The calls that were made: a ring in the state root, in a database of its own.
//!
//! It is made of the end events of calls and of what these leave out: arguments and outputs. What is added is queued, and
//! one thread writes it.

mod database;
mod entry;
mod json;
mod record;
mod row;
mod search;
mod stats;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use toolhost_contract::{Redactor, ToolCall, ToolResult};
use toolhost_manifest::policy::CallsRule;
use toolhost_runtime::lock;

use self::entry::Entry;
use self::json::bounded_json;
use self::writer::Writer;
use super::event::RuntimeEvent;
use super::worker::Worker;

pub use record::{CallDenial, CallKind, CallRecord};
pub use search::{CallLog, CallLogError, CallPage, CallQuery, CallRef};
pub use stats::{CallStats, CodeStats, TimeStats, ToolStats};

/// Most calls that wait for the writer.
const QUEUE: usize = 8192;

/// Most bytes of their arguments and outputs.
const QUEUE_BYTES: usize = 32 << 20;

/// Bytes that a call without arguments and output counts in the queue.
const ENTRY_BYTES: usize = 1024;

/// What is kept: a bit for calls, for their arguments and outputs, and for diffs.
const CALLS: u8 = 1;
const ARGUMENTS: u8 = 2;
const DIFFS: u8 = 4;

/// The ring of one host.
pub(crate) struct Ring {
    worker: Worker<Entry, u64>,
    root: PathBuf,
    redactor: Redactor,
    /// Bits of the constants above: the rule, for whoever adds a call.
    kept: AtomicU8,
    rule: Arc<Mutex<CallsRule>>,
}

impl Ring {
    /// Creates the ring of a state root. Opens no file before a call is added.
    pub(crate) fn new(root: &Path, redactor: &Redactor, rule: Option<CallsRule>) -> Self {
        let ring = Self {
            worker: Worker::new("toolhost-calls", QUEUE, QUEUE_BYTES),
            root: root.to_owned(),
            redactor: redactor.clone(),
            kept: AtomicU8::new(0),
            rule: Arc::default(),
        };
        ring.set_rule(rule);
        ring
    }

    /// Sets what is kept from now on: nothing without a rule.
    pub(crate) fn set_rule(&self, rule: Option<CallsRule>) {
        let bits = rule.map_or(0, |rule| {
            let arguments = if rule.arguments { ARGUMENTS } else { 0 };
            let diffs = if rule.diffs { DIFFS } else { 0 };
            CALLS | arguments | diffs
        });
        self.kept.store(bits, Relaxed);
        if let Some(rule) = rule {
            *lock(&self.rule) = rule;
        }
    }

    /// Whether calls are kept. One relaxed atomic load.
    pub(super) fn is_on(&self) -> bool {
        self.keeps(CALLS)
    }

    /// Whether the diffs of changed files are kept.
    pub(crate) fn keeps_diffs(&self) -> bool {
        self.keeps(DIFFS)
    }

    fn keeps(&self, bit: u8) -> bool {
        self.kept.load(Relaxed) & bit != 0
    }

    /// Returns the arguments of a call, cut at a limit, if they are kept.
    pub(super) fn arguments(&self, call: &ToolCall) -> Option<String> {
        self.text(&call.args)
    }

    fn text(&self, value: &impl Serialize) -> Option<String> {
        self.keeps(ARGUMENTS).then(|| bounded_json(value))
    }

    /// Adds what an end event is of. Never waits.
    pub(super) fn add(
        &self,
        kind: CallKind,
        is_inner: bool,
        event: Arc<RuntimeEvent>,
        arguments: Option<String>,
        result: Option<&ToolResult>,
    ) {
        if !self.is_on() {
            return;
        }
        let output = result.and_then(ToolResult::output);
        let entry = Entry {
            kind,
            is_inner,
            event,
            arguments,
            output: output.and_then(|output| self.text(output)),
            recording: result.and_then(ToolResult::recording).map(Arc::from),
        };
        let queue = self.worker.started(|| {
            let mut writer = Writer::new(&self.root, &self.redactor, &self.rule);
            move |batch| writer.write(batch)
        });
        let texts = [&entry.arguments, &entry.output].into_iter().flatten();
        let files = entry
            .event
            .usage
            .iter()
            .flat_map(|usage| &usage.changes.files);
        let diffs = files.filter_map(|file| file.diff.as_ref());
        let bytes = texts.chain(diffs).map(String::len).sum::<usize>() + ENTRY_BYTES;
        queue.push(entry, bytes, |lost, _| *lost += 1);
    }

    /// Waits until the calls so far are written or lost.
    pub(super) async fn flush(&self) {
        self.worker.flush().await;
    }
}

#[cfg(test)]
mod tests;
