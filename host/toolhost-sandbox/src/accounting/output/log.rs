//! The log records of one call.

use toolhost_contract::text::printable;

/// The severity of a log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Each small step.
    Trace,
    /// For development.
    Debug,
    /// Noteworthy.
    Info,
    /// Unexpected.
    Warn,
    /// An operation failed.
    Error,
    /// The tool cannot work.
    Critical,
}

/// A log record of a guest. Its texts are escaped and truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The severity.
    pub level: LogLevel,
    /// A group that the guest chose.
    pub context: String,
    /// The text.
    pub message: String,
}

/// Maximum bytes of all records of a call.
const LOG_BYTES_MAX: usize = 512 << 10;

/// Maximum bytes of the context of a record.
const CONTEXT_BYTES_MAX: usize = 256;

/// Bounds the records of one call.
#[derive(Debug)]
pub(crate) struct LogBudget {
    bytes_left: usize,
    seen: u64,
    dropped: u64,
    records_max: u64,
    record_bytes_max: usize,
}

impl LogBudget {
    pub(crate) fn new(records_max: u64, record_bytes_max: usize) -> Self {
        Self {
            bytes_left: LOG_BYTES_MAX,
            seen: 0,
            dropped: 0,
            records_max,
            record_bytes_max,
        }
    }

    /// Returns a record, escaped and truncated, or counts it as dropped. After the first one that is
    /// dropped for its size, all are, so that the records kept have no gap.
    pub(crate) fn admit(
        &mut self,
        level: LogLevel,
        context: &str,
        message: &str,
    ) -> Option<LogRecord> {
        self.seen += 1;
        if self.seen > self.records_max || self.bytes_left == 0 {
            self.dropped += 1;
            return None;
        }
        let record = LogRecord {
            level,
            context: printable(context, self.record_bytes_max.min(CONTEXT_BYTES_MAX)),
            message: printable(message, self.record_bytes_max),
        };
        let bytes = size_of::<LogRecord>() + record.context.len() + record.message.len();
        let Some(left) = self.bytes_left.checked_sub(bytes) else {
            self.bytes_left = 0;
            self.dropped += 1;
            return None;
        };
        self.bytes_left = left;
        Some(record)
    }

    /// Whether every further record is dropped.
    pub(crate) fn is_spent(&self) -> bool {
        self.seen >= self.records_max || self.bytes_left == 0
    }

    /// Maximum bytes of the message of a record.
    pub(crate) fn record_bytes_max(&self) -> usize {
        self.record_bytes_max
    }
}

/// The log of one call.
#[derive(Debug)]
pub(crate) struct LogBook {
    records: Vec<LogRecord>,
    budget: LogBudget,
}

impl LogBook {
    pub(crate) fn new(records_max: u64, record_bytes_max: usize) -> Self {
        Self {
            records: Vec::new(),
            budget: LogBudget::new(records_max, record_bytes_max),
        }
    }

    /// Adds a record, or counts it as dropped.
    pub(crate) fn write(&mut self, level: LogLevel, context: &str, message: &str) {
        self.records
            .extend(self.budget.admit(level, context, message));
    }

    /// Returns the numbers of records written, and of those dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.budget.seen, self.budget.dropped)
    }

    pub(crate) fn take(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_and_counts_records_beyond_the_limit() {
        let mut log = LogBook::new(2, 4);
        for message in ["one", "three", "x"] {
            log.write(LogLevel::Info, "", message);
        }
        assert_eq!(log.counts(), (3, 1));
        let messages: Vec<_> = log.take().into_iter().map(|r| r.message).collect();
        assert_eq!(messages, ["one", "thre… (cut)"]);
    }

    #[test]
    fn bounds_the_bytes_of_all_log_records() {
        let mut log = LogBook::new(10_000, 4 << 10);
        for _ in 0..1_000 {
            log.write(LogLevel::Info, "context", &"\u{1b}".repeat(4 << 10));
        }
        log.write(LogLevel::Info, "", "small enough, but later");
        let (seen, dropped) = log.counts();
        let records = log.take();
        assert_eq!((seen, seen - dropped), (1_001, records.len() as u64));
        let kept: usize = records
            .iter()
            .map(|r| r.context.capacity() + r.message.capacity())
            .sum();
        assert!(records.len() > 100 && kept <= LOG_BYTES_MAX, "{kept}");
        assert!(records.iter().all(|record| record.context == "context"));
    }
}
