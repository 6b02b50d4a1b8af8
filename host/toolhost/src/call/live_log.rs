//! Reports what the calls of a turn log, while they run.

use std::fmt;
use std::sync::Arc;

use toolhost_contract::Redactor;
use toolhost_sandbox::{LogLevel, LogSink};

use crate::middleware::CallIdentity;

/// A record that a call logged. Its texts are escaped, truncated and redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallLogRecord<'a> {
    /// Id of the call.
    pub tool_call_id: &'a str,
    /// Name of the tool.
    pub tool_name: &'a str,
    /// The severity. What a component prints is [`LogLevel::Debug`].
    pub level: LogLevel,
    /// A group that the component chose, at most 256 bytes; `stdout` or `stderr` for what it prints; the
    /// extension's name for a native handler.
    pub context: &'a str,
    /// The text, in one line.
    pub message: &'a str,
}

/// Receives the records of the calls of a turn.
#[derive(Clone)]
pub(crate) struct LogListener(Arc<dyn Fn(&CallLogRecord<'_>) + Send + Sync>);

impl fmt::Debug for LogListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogListener")
    }
}

impl LogListener {
    pub(crate) fn new(receive: impl Fn(&CallLogRecord<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }

    /// Returns the sink of one call.
    pub(crate) fn sink(&self, redactor: &Redactor, call: &CallIdentity) -> LogSink {
        let (receive, call) = (Arc::clone(&self.0), call.clone());
        LogSink::new(redactor.clone(), move |record| {
            receive(&CallLogRecord {
                tool_call_id: &call.call_id,
                tool_name: &call.tool_name,
                level: record.level,
                context: &record.context,
                message: &record.message,
            });
        })
    }
}
