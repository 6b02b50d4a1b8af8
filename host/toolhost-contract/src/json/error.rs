//! Why a text is refused as JSON.

use std::fmt;

use crate::text;

/// Longest reason of the parser, in characters. It may quote the text.
const REASON_MAX: usize = 200;

/// Where in a JSON text: a JSON pointer, shortened where it is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPlace(String);

impl JsonPlace {
    pub(super) fn new(pointer: String) -> Self {
        Self(pointer)
    }

    /// Returns the pointer, such as `/items/3/id`. Empty for the whole text.
    pub fn pointer(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_str() {
            "" => f.write_str("the top level"),
            pointer => f.write_str(pointer),
        }
    }
}

/// Why a text is refused as JSON. Messages follow the name of the text: "the answer has 3 values, …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text has more bytes than allowed.
    #[error("has {bytes} bytes, at most {limit} are allowed")]
    TooLarge {
        /// How many it has.
        bytes: u64,
        /// How many it may have.
        limit: u64,
    },
    /// Arrays and objects are nested too deeply.
    #[error("is nested {depth} deep, at most {limit} is allowed")]
    TooDeep {
        /// How deep they are nested.
        depth: usize,
        /// How deep they may be.
        limit: usize,
    },
    /// The text has more values than allowed.
    #[error("has {values} values, at most {limit} are allowed")]
    TooMany {
        /// How many it has.
        values: u64,
        /// How many it may have.
        limit: u64,
    },
    /// The text is not UTF-8.
    #[error("is not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// Number of valid bytes before.
        offset: usize,
    },
    /// The text begins with U+FEFF.
    #[error("begins with a byte order mark, which JSON does not have")]
    ByteOrderMark,
    /// A string has one half of a surrogate pair, such as `\ud83d`: it is not a text.
    #[error("has half of a surrogate pair in the string at {place}")]
    LoneSurrogate {
        /// The string.
        place: JsonPlace,
    },
    /// An integer that 64 bits cannot hold.
    #[error("has the integer {digits} at {place}, which 64 bits cannot hold: write it as a string")]
    LongInteger {
        /// The number.
        place: JsonPlace,
        /// Its digits, shortened where there are many.
        digits: String,
    },
    /// A number that is infinite, or not a number.
    #[error("has the number {literal} at {place}, which is not finite")]
    NotFinite {
        /// The number.
        place: JsonPlace,
        /// How it is written, shortened where it is long.
        literal: String,
    },
    /// The text is not JSON.
    #[error("is not valid JSON: {reason} at line {line} column {column}")]
    Syntax {
        /// What is wrong.
        reason: String,
        /// The line, beginning with 1.
        line: usize,
        /// The byte in the line, beginning with 1.
        column: usize,
    },
    /// The text is JSON, but not of the type that is read.
    #[error("has an unexpected form: {reason}")]
    Shape {
        /// What is wrong. It may quote the text.
        reason: String,
    },
}

impl JsonError {
    /// Returns whether the text exceeds a limit.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::TooLarge { .. } | Self::TooDeep { .. } | Self::TooMany { .. }
        )
    }
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let reason = error.to_string();
        let place = format!(" at line {line} column {column}");
        let reason = reason.strip_suffix(&place).unwrap_or(&reason);
        // Twice: what is escaped is longer.
        let reason = text::shorten(&text::shorten(reason, REASON_MAX), REASON_MAX);
        if error.is_data() {
            return Self::Shape { reason };
        }
        Self::Syntax {
            reason,
            line,
            column,
        }
    }
}
