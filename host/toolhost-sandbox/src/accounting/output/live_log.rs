//! Forwards what a call logs and prints to a listener, while the call runs.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use toolhost_contract::{Limits, Redactor};
use toolhost_runtime::{debug_fields, lock};

use super::lines::Lines;
use super::log::{LogBudget, LogLevel, LogRecord};

/// An output stream of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Receives the records of one call while the call runs. Their secrets are redacted.
#[derive(Clone)]
pub struct LogSink {
    redactor: Redactor,
    receive: Arc<dyn Fn(&LogRecord) + Send + Sync>,
}

impl fmt::Debug for LogSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogSink")
    }
}

impl LogSink {
    /// Calls `receive` with each record, on the thread that runs the guest. It must not block: the guest
    /// waits meanwhile, and its deadline cannot interrupt it.
    pub fn new(redactor: Redactor, receive: impl Fn(&LogRecord) + Send + Sync + 'static) -> Self {
        Self {
            redactor,
            receive: Arc::new(receive),
        }
    }
}

/// Forwards the log of one call to its sink.
///
/// The limits are those of the call's report: `log_records`, `log_record_bytes`, and 512 KiB for all
/// records. The lines that a guest prints are a log of their own, with the same limits.
pub struct LiveLog {
    sink: LogSink,
    is_closed: AtomicBool,
    logged: Mutex<LogBudget>,
    printed: Mutex<Printed>,
}

#[derive(Debug)]
struct Printed {
    budget: LogBudget,
    stdout: Lines,
    stderr: Lines,
}

debug_fields!(LiveLog, this => is_closed: this.is_closed);

impl LiveLog {
    /// Starts the log of a call.
    pub fn new(sink: LogSink, limits: &Limits) -> Self {
        let budget = || LogBudget::new(limits.log_records, limits.log_record_bytes);
        Self {
            sink,
            is_closed: AtomicBool::new(false),
            logged: Mutex::new(budget()),
            printed: Mutex::new(Printed {
                budget: budget(),
                stdout: Lines::default(),
                stderr: Lines::default(),
            }),
        }
    }

    /// Forwards a record, unless the limits are reached. If the sink panics, it gets no more records.
    pub fn log(&self, level: LogLevel, context: &str, message: &str) {
        let record = lock(&self.logged).admit(level, context, message);
        self.forward(record);
    }

    /// Forwards the lines that these bytes complete.
    pub(crate) fn print(&self, stream: Stream, bytes: &[u8]) {
        let mut printed = lock(&self.printed);
        if printed.budget.is_spent() {
            return;
        }
        let line_max = printed.budget.record_bytes_max();
        let text = printed.lines(stream).push(bytes, line_max);
        let Some(text) = text else { return };
        let records = printed.records(stream, &self.sink.redactor.text(&text));
        drop(printed);
        self.forward(records);
    }

    /// Forwards lines without an end, and closes the log.
    pub(crate) fn finish(&self) {
        let mut printed = lock(&self.printed);
        let mut records = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let text = printed.lines(stream).take();
            records.extend(printed.records(stream, &self.sink.redactor.text(&text)));
        }
        drop(printed);
        self.forward(records);
        self.close();
    }

    /// Forwards nothing more.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }

    fn forward(&self, records: impl IntoIterator<Item = LogRecord>) {
        let redactor = &self.sink.redactor;
        for mut record in records {
            if self.is_closed.load(Relaxed) {
                return;
            }
            record.context = redactor.text(&record.context).into_owned();
            record.message = redactor.text(&record.message).into_owned();
            let received = catch_unwind(AssertUnwindSafe(|| (self.sink.receive)(&record)));
            if received.is_err() {
                self.close();
                tracing::error!(
                    "the receiver of a call's log panicked: it gets no more of the call"
                );
            }
        }
    }
}

impl Printed {
    fn lines(&mut self, stream: Stream) -> &mut Lines {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Returns the records of the lines of a text.
    fn records(&mut self, stream: Stream, text: &str) -> Vec<LogRecord> {
        let context = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let lines = text.lines().filter(|line| !line.is_empty());
        lines
            .map_while(|line| self.budget.admit(LogLevel::Debug, context, line))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a log with these limits, and what its sink receives.
    fn log(records: u64, bytes: usize, secret: &str) -> (LiveLog, Arc<Mutex<Vec<String>>>) {
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&received);
        let receive = move |record: &LogRecord| {
            let LogRecord {
                level,
                context,
                message,
            } = record;
            lock(&kept).push(format!("{level:?} {context}: {message}"));
        };
        let sink = LogSink::new(Redactor::new([("KEY", secret)]), receive);
        let limits = Limits {
            log_records: records,
            log_record_bytes: bytes,
            ..Limits::default()
        };
        (LiveLog::new(sink, &limits), received)
    }

    #[test]
    fn forwards_records_and_printed_lines_within_the_limits_of_the_log() {
        let (live, received) = log(2, 8, "");
        for message in ["one", "a very long one", "lost"] {
            live.log(LogLevel::Info, "c", message);
        }
        live.print(Stream::Stdout, b"p");
        live.print(Stream::Stderr, b"q\n\n");
        live.print(Stream::Stdout, b"p\nlost\n");
        live.print(Stream::Stdout, b"lost");
        live.finish();
        live.log(LogLevel::Info, "c", "lost");
        assert_eq!(
            *lock(&received),
            [
                "Info c: one",
                "Info c: a very l… (cut)",
                "Debug stderr: q",
                "Debug stdout: pp"
            ]
        );
    }

    #[test]
    fn a_last_line_without_an_end_is_forwarded_when_the_call_ends() {
        let (live, received) = log(10, 80, "");
        live.print(Stream::Stdout, b"one\nlast");
        assert_eq!(*lock(&received), ["Debug stdout: one"]);
        live.finish();
        assert_eq!(
            *lock(&received),
            ["Debug stdout: one", "Debug stdout: last"]
        );
    }

    #[test]
    fn no_secret_is_forwarded_however_it_is_printed() {
        let secret = "-----BEGIN-----\nshort\n0123456789\n-----END-----";
        for pieces in 1..40 {
            let (live, received) = log(1_000, 12, secret);
            for piece in format!("x {secret} y\n").as_bytes().chunks(pieces) {
                live.print(Stream::Stdout, piece);
            }
            live.log(LogLevel::Info, secret, &format!("k={secret}"));
            live.finish();
            let all = lock(&received).join("|");
            for part in ["BEGIN", "4567", "END"] {
                assert!(!all.contains(part), "{all}");
            }
        }
        // Lines written together are redacted together, so that a short line of a secret is not left.
        let (live, received) = log(1_000, 80, secret);
        live.print(Stream::Stdout, format!("{secret}\n").as_bytes());
        assert_eq!(*lock(&received), ["Debug stdout: [redacted:KEY]"]);
    }

    #[test]
    fn a_sink_that_panics_gets_no_more_records() {
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        let sink = LogSink::new(Redactor::default(), move |_| {
            *lock(&counted) += 1;
            assert!(*lock(&counted) == 0, "in the test");
        });
        let live = LiveLog::new(sink, &Limits::default());
        live.log(LogLevel::Info, "", "one");
        live.log(LogLevel::Info, "", "two");
        live.print(Stream::Stdout, b"three\n");
        assert_eq!(*lock(&calls), 1);
    }
}
