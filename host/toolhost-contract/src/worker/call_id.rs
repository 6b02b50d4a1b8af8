//! The id of a run on a worker.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Letters of an id: 160 bits in base32.
const LETTERS: usize = 32;

/// Id of one run of a component on a worker: 32 letters of base32 in lower case, which are never used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WorkerCallId(String);

/// A text is not 32 letters of base32 in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of a run is 32 letters of base32 in lower case")]
pub struct WorkerCallIdError;

impl WorkerCallId {
    /// Parses an id.
    ///
    /// # Errors
    /// [`WorkerCallIdError`].
    pub fn parse(text: &str) -> Result<Self, WorkerCallIdError> {
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
        if text.len() == LETTERS && text.bytes().all(is_letter) {
            Ok(Self(text.to_owned()))
        } else {
            Err(WorkerCallIdError)
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WorkerCallId {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let text = String::deserialize(text)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}
