//! What a guest says, bounded: stdout and stderr, log records, and the result's JSON.

use std::collections::VecDeque;

use serde_json::Value;
use toolhost_contract::json_depth;

use crate::SandboxError;

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
            bytes.extend_from_slice(format!("\n… {missing} bytes left out …\n").as_bytes());
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

/// The log of one call.
#[derive(Debug)]
pub(crate) struct LogBook {
    records: Vec<LogRecord>,
    seen: u64,
    most: u64,
    record_bytes: usize,
}

impl LogBook {
    pub(crate) fn new(most: u64, record_bytes: usize) -> Self {
        Self {
            records: Vec::new(),
            seen: 0,
            most,
            record_bytes,
        }
    }

    pub(crate) fn write(&mut self, level: LogLevel, context: &str, message: &str) {
        self.seen += 1;
        if self.seen > self.most {
            return;
        }
        self.records.push(LogRecord {
            level,
            context: printable(context, self.record_bytes.min(256)),
            message: printable(message, self.record_bytes),
        });
    }

    /// Records seen, and of these dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.seen, self.seen.saturating_sub(self.most))
    }

    pub(crate) fn take(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.records)
    }
}

/// Escapes what would move a cursor, end a line or turn text around, within `most` bytes.
pub(crate) fn printable(text: &str, most: usize) -> String {
    const CUT: &str = "… (cut)";
    let mut out = String::with_capacity(text.len().min(most));
    for c in text.chars() {
        let before = out.len();
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let breaks = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
        if c.is_control() || turns || breaks {
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
    out
}

/// Why a guest's text is no JSON value that is accepted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("has {bytes} bytes, at most {limit} are allowed")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("is not valid JSON: {reason}")]
    Invalid { reason: String },
}

impl From<JsonError> for SandboxError {
    /// Where the text is the answer of a call.
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::TooLarge { bytes, limit } => Self::OutputTooLarge { bytes, limit },
            JsonError::Invalid { reason } => Self::InvalidOutput { reason },
        }
    }
}

/// Takes a guest's JSON for a value, within its limits.
pub(crate) fn parse_json(
    json: &str,
    most_bytes: u64,
    most_depth: usize,
) -> Result<Value, JsonError> {
    let bytes = json.len() as u64;
    if bytes > most_bytes {
        return Err(JsonError::TooLarge {
            bytes,
            limit: most_bytes,
        });
    }
    let depth = json_depth(json);
    if depth > most_depth {
        return Err(JsonError::Invalid {
            reason: format!("nested {depth} deep, at most {most_depth} is allowed"),
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
        assert_eq!(kept.total(), 16);
    }

    #[test]
    fn takes_only_one_json_value_within_its_limits() {
        // tool-spec-v2 §10.1
        let check = |json: &str| parse_json(json, 64, 3);
        assert_eq!(check("{\"a\":1}").unwrap(), serde_json::json!({"a": 1}));
        for invalid in [
            "",
            " ",
            "x",
            "1 2",
            "{\"a\":1}]",
            "1e400",
            r#""\ud800""#,
            "[[[[1]]]]",
            "NaN",
        ] {
            assert!(
                matches!(check(invalid), Err(JsonError::Invalid { .. })),
                "{invalid}"
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
    fn log_text_cannot_break_a_line_or_turn_it_around() {
        let text = "a\nb\r\u{1b}[31m\u{2028}\u{202e}c\u{85}";
        let shown = printable(text, 1000);
        assert!(!shown.chars().any(char::is_control), "{shown}");
        assert_eq!(shown, r"a\u{a}b\u{d}\u{1b}[31m\u{2028}\u{202e}c\u{85}");
        assert_eq!(printable("가나다", 7), "가나… (cut)");
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
}
