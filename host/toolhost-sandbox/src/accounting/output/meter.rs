//! Keeps and counts what a call prints, logs and answers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use toolhost_contract::{Limits, Usage};
use toolhost_runtime::lock;

use super::head_tail::HeadTail;
use super::live_log::{LiveLog, LogSink, Stream};
use super::log::{LogBook, LogLevel, LogRecord};

/// What one call prints, logs and answers, within its limits.
#[derive(Debug)]
pub(crate) struct OutputMeter {
    /// Bytes of the answer.
    pub(crate) answer_bytes: AtomicU64,
    stdout: Mutex<HeadTail>,
    stderr: Mutex<HeadTail>,
    log: Mutex<LogBook>,
    /// Forwards the log while the call runs; none if nobody listens.
    pub(crate) live_log: Option<Box<LiveLog>>,
}

impl OutputMeter {
    pub(crate) fn new(limits: &Limits, sink: Option<LogSink>) -> Self {
        Self {
            answer_bytes: AtomicU64::new(0),
            stdout: Mutex::new(HeadTail::new(limits.stdio_bytes)),
            stderr: Mutex::new(HeadTail::new(limits.stdio_bytes)),
            log: Mutex::new(LogBook::new(limits.log_records, limits.log_record_bytes)),
            live_log: sink.map(|sink| Box::new(LiveLog::new(sink, limits))),
        }
    }

    fn stream(&self, stream: Stream) -> &Mutex<HeadTail> {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    /// Keeps the head and the tail of what the guest prints.
    pub(crate) fn print(&self, stream: Stream, bytes: &[u8]) {
        lock(self.stream(stream)).write(bytes);
        if let Some(live) = &self.live_log {
            live.print(stream, bytes);
        }
    }

    /// Returns the head and the tail of what the guest printed.
    pub(crate) fn printed(&self, stream: Stream) -> String {
        lock(self.stream(stream)).text()
    }

    /// Keeps a record that the guest logs.
    pub(crate) fn log(&self, level: LogLevel, context: &str, message: &str) {
        lock(&self.log).write(level, context, message);
        if let Some(live) = &self.live_log {
            live.log(level, context, message);
        }
    }

    /// Takes the log.
    pub(crate) fn take_log(&self) -> Vec<LogRecord> {
        lock(&self.log).take()
    }

    /// Adds what was used so far.
    pub(crate) fn add_to(&self, usage: &mut Usage) {
        usage.stdout_bytes = lock(&self.stdout).total();
        usage.stderr_bytes = lock(&self.stderr).total();
        (usage.log_records, usage.log_dropped) = lock(&self.log).counts();
        usage.output_bytes = self.answer_bytes.load(Relaxed);
    }
}
