//! What a guest says, bounded: stdout and stderr, log records, and the result's JSON.

use std::collections::VecDeque;

use serde_json::Value;
use toolhost_contract::JsonShape;
use toolhost_contract::text::{self, CUT, left_out};

use crate::{Limits, SandboxError};

/// Keeps the head and the tail of a stream and forgets the middle.
#[derive(Debug)]
pub(crate) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl HeadTail {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: capacity / 2,
            total: 0,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half - self.head.len();
        let (to_head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(to_head);
        let (_, kept) = rest.split_at(rest.len().saturating_sub(self.half));
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The text kept, with a mark where something is missing.
    pub(crate) fn text(&self) -> String {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let mut bytes = self.head.clone();
        if self.total > kept {
            let missing = self.total - kept;
            bytes.extend_from_slice(left_out(missing).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// How much a log record matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Every small step.
    Trace,
    /// While developing.
    Debug,
    /// Worth knowing.
    Info,
    /// Odd.
    Warn,
    /// Could not be done.
    Error,
    /// Cannot work at all.
    Critical,
}

/// One record of a guest's logger; its text is escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// How much it matters.
    pub level: LogLevel,
    /// The guest's own grouping.
    pub context: String,
    /// What it says.
    pub message: String,
}

/// Bytes kept of all records of a call, in their sum.
const LOG_BYTES: usize = 512 << 10;

/// The log of one call.
#[derive(Debug)]
pub(crate) struct LogBook {
    records: Vec<LogRecord>,
    /// What may still be kept.
    bytes_left: usize,
    seen: u64,
    dropped: u64,
    most: u64,
    record_bytes: usize,
}

impl LogBook {
    pub(crate) fn new(most: u64, record_bytes: usize) -> Self {
        Self {
            records: Vec::new(),
            bytes_left: LOG_BYTES,
            seen: 0,
            dropped: 0,
            most,
            record_bytes,
        }
    }

    pub(crate) fn write(&mut self, level: LogLevel, context: &str, message: &str) {
        self.seen += 1;
        if self.seen > self.most || self.bytes_left == 0 {
            self.dropped += 1;
            return;
        }
        let record = LogRecord {
            level,
            context: printable(context, self.record_bytes.min(256)),
            message: printable(message, self.record_bytes),
        };
        let taken = size_of::<LogRecord>() + record.context.len() + record.message.len();
        match self.bytes_left.checked_sub(taken) {
            Some(left) => {
                self.bytes_left = left;
                self.records.push(record);
            }
            // What comes now is later than what is missing: nothing more is kept.
            None => {
                self.bytes_left = 0;
                self.dropped += 1;
            }
        }
    }

    /// Records seen, and of these dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.seen, self.dropped)
    }

    pub(crate) fn take(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.records)
    }
}

/// Escapes what acts, line breaks too, within `most` bytes.
pub(crate) fn printable(said: &str, most: usize) -> String {
    let mut out = String::with_capacity(said.len().min(most));
    for c in said.chars() {
        let before = out.len();
        if text::acts(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        if out.len() > most {
            out.truncate(before);
            out.push_str(CUT);
            break;
        }
    }
    // It is kept until somebody reads it.
    out.shrink_to_fit();
    out
}

/// Why a guest's text is no JSON value that is accepted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("has {bytes} bytes, at most {limit} are allowed")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("is nested {depth} deep, at most {limit} is allowed")]
    TooDeep { depth: usize, limit: usize },
    #[error("is made of {values} values, at most {limit} are allowed")]
    TooMany { values: u64, limit: u64 },
    #[error("is not valid JSON: {reason}")]
    Invalid { reason: String },
}

impl From<JsonError> for SandboxError {
    /// Where the text is the answer of a call.
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::TooLarge { bytes, limit } => Self::OutputTooLarge { bytes, limit },
            JsonError::TooDeep { depth, limit } => Self::OutputTooDeep { depth, limit },
            JsonError::TooMany { values, limit } => Self::OutputTooMany { values, limit },
            JsonError::Invalid { reason } => Self::InvalidOutput { reason },
        }
    }
}

/// Takes a guest's JSON for a value, within its limits.
pub(crate) fn parse_json(json: &str, most_bytes: u64, limits: &Limits) -> Result<Value, JsonError> {
    let bytes = json.len() as u64;
    if bytes > most_bytes {
        return Err(JsonError::TooLarge {
            bytes,
            limit: most_bytes,
        });
    }
    let JsonShape { depth, values } = JsonShape::of(json);
    if depth > limits.json_depth {
        return Err(JsonError::TooDeep {
            depth,
            limit: limits.json_depth,
        });
    }
    if values > limits.json_values {
        return Err(JsonError::TooMany {
            values,
            limit: limits.json_values,
        });
    }
    serde_json::from_str(json).map_err(|e| JsonError::Invalid {
        reason: printable(&e.to_string(), 200),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_head_and_the_tail_of_a_stream() {
        let mut kept = HeadTail::new(8);
        kept.write(b"abc");
        assert_eq!(kept.text(), "abc");
        kept.write(b"defgh");
        assert_eq!(kept.text(), "abcdefgh");
        kept.write(b"ijklmnop");
        assert_eq!(kept.text(), "abcd\n… 8 bytes left out …\nmnop");
        let around = |text: &str| -> Vec<String> {
            let cut = |at: std::ops::Range<usize>| {
                let (before, after) = (text.get(..at.start), text.get(at.end..));
                format!("{}|{}", before.unwrap(), after.unwrap())
            };
            text::cuts(text).into_iter().map(cut).collect()
        };
        assert_eq!(around(&kept.text()), ["abcd|mnop"]);
        let reason = printable(&format!("{}x", kept.text()), 39);
        assert_eq!(
            around(&reason),
            ["abcd\\u{a}… 8 bytes left out …\\u{a}m|", "abcd|m… (cut)"]
        );
        assert_eq!(around("… bytes left out"), [""; 0]);
        assert_eq!(kept.total(), 16);
    }

    #[test]
    fn parses_one_json_value_within_the_limits() {
        // tool-spec-v2 §10.1
        let limits = Limits {
            json_depth: 3,
            json_values: 8,
            ..Limits::default()
        };
        let check = |json: &str| parse_json(json, 64, &limits);
        assert!(check("[1,2,3,4,5,6,7]").is_ok());
        assert_eq!(check("{\"a\":1}").unwrap(), serde_json::json!({"a": 1}));
        for invalid in [
            "",
            " ",
            "x",
            "1 2",
            "{\"a\":1}]",
            "1e400",
            r#""\ud800""#,
            "NaN",
        ] {
            assert!(
                matches!(check(invalid), Err(JsonError::Invalid { .. })),
                "{invalid}"
            );
        }
        assert!(matches!(
            check("[[[[1]]]]"),
            Err(JsonError::TooDeep { depth: 4, limit: 3 })
        ));
        for many in ["[1,2,3,4,5,6,7,8]", "[[0],[0],[0],[0]]"] {
            let refused = check(many);
            assert!(
                matches!(refused, Err(JsonError::TooMany { limit: 8, .. })),
                "{many}"
            );
        }
        assert!(matches!(
            check(&"1".repeat(65)),
            Err(JsonError::TooLarge {
                bytes: 65,
                limit: 64
            })
        ));
    }

    #[test]
    fn log_text_cannot_break_or_reorder_a_line() {
        let said = "a\nb\r\u{1b}[31m\u{2028}\u{202e}c\u{85}";
        let shown = printable(said, 1000);
        assert!(!shown.chars().any(char::is_control), "{shown}");
        assert_eq!(shown, r"a\u{a}b\u{d}\u{1b}[31m\u{2028}\u{202e}c\u{85}");
        assert_eq!(printable("가나다", 7), "가나… (cut)");
        let all: String = ('\0'..=char::MAX).filter(|c| text::acts(*c)).collect();
        assert!(!printable(&all, 1 << 20).contains(text::acts));
    }

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
        assert!(records.len() > 100 && kept <= LOG_BYTES, "{kept}");
        assert!(records.iter().all(|record| record.context == "context"));
    }
}
