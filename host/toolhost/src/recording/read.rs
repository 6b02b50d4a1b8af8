//! Reads a `.call` file: within limits, and with errors that name the line and the next move.

use std::collections::BTreeMap;

use data_encoding::{BASE64, HEXLOWER};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolhost_contract::{HostCall, JsonError, JsonLimits, RECORDING_VERSION, Recording, text};

use super::call_recording::{CallRecording, Detail};
use super::file::{BlobLine, EndLine, FORMAT, HeaderLine};

/// Largest `.call` file, in bytes.
pub const FILE_BYTES_MAX: u64 = 256 << 20;

/// Most bytes of host calls that are recorded: of a file, the rest is left for arguments, message and result.
pub(super) const RECORDED_BYTES_MAX: u64 = FILE_BYTES_MAX / 2;

/// Most host calls of a file. Each takes more memory than its line.
const CALLS_MAX: usize = 1_000_000;

/// Most JSON values of a file: each takes up to 400 bytes of memory once parsed. What a tool records has fewer, also
/// the largest file that is recorded by default.
const VALUES_MAX: u64 = 8_000_000;

/// Most JSON values of a file of this many bytes: a small file cannot take the memory of a large one. The result may
/// have 200,000 twice, each of two bytes; host calls have more bytes for each.
const fn values_max(bytes: usize) -> u64 {
    let most = 500_000 + bytes as u64 / 8;
    if most < VALUES_MAX { most } else { VALUES_MAX }
}

/// Deepest nesting of a line: that of the parser.
const DEPTH_MAX: usize = 127;

/// Longest quote of a file in an error, in characters.
const QUOTED_MAX: usize = 60;

/// Why a file is not a recording that this release reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file is larger than [`FILE_BYTES_MAX`].
    #[error("{file} has more than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// The first line is not that of a recording.
    #[error("{file} is not a recording of a call: {problem}")]
    NotARecording {
        /// The file.
        file: String,
        /// What is wrong with its first line.
        problem: String,
    },
    /// A newer release wrote the file.
    #[error(
        "{file} has version {found} of the format, and this release reads version {RECORDING_VERSION}"
    )]
    Version {
        /// The file.
        file: String,
        /// Its version.
        found: u64,
    },
    /// The last line is missing.
    #[error("{file} was cut: it ends after line {line}, without the line that ends a recording")]
    Cut {
        /// The file.
        file: String,
        /// Number of its last line, beginning with 1.
        line: usize,
    },
    /// A line is invalid.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The file.
        file: String,
        /// Number of the line, beginning with 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

impl RecordingError {
    /// The next move.
    pub fn help(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => {
                "Record the call again with a lower limit of bytes, or with smaller files."
            }
            Self::NotARecording { .. } => {
                "Name a file that `toolhost call --record FILE` wrote, or one of `failed/`."
            }
            Self::Version { .. } => "Use the release of toolhost that wrote it, or a newer one.",
            Self::Cut { .. } => "Copy the whole file again, or record the call again.",
            Self::Line { .. } => {
                "The file was changed after it was written: copy it again, or record the call again."
            }
        }
    }
}

impl CallRecording {
    /// Reads the content of a `.call` file. `file` names it in errors.
    ///
    /// # Errors
    /// [`RecordingError`] if it is not a recording that this release reads, if it is larger than
    /// [`FILE_BYTES_MAX`], has more than 1,000,000 host calls, or more JSON values than 500,000 and one for every 8
    /// bytes, at most 8,000,000, or if a part of it is missing or invalid.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, RecordingError> {
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let file = file.to_owned();
            return Err(RecordingError::TooLarge { file });
        }
        let mut lines = Lines::new(bytes, file);
        let header = lines.header()?;
        let mut blobs = BTreeMap::new();
        let mut calls = Vec::new();
        let end = loop {
            let Some(line) = lines.next()? else {
                return Err(lines.cut());
            };
            match kind_of(&line) {
                Some("blob") => {
                    let BlobLine { blob, base64 } = lines.read(line)?;
                    lines.check_blob(&blob, &base64)?;
                    blobs.insert(blob, base64);
                }
                Some("index") if header.detail == Detail::Full => {
                    let call: HostCall = lines.read(line)?;
                    lines.check_order(calls.len(), &call)?;
                    calls.push(call);
                }
                Some("end") => break lines.read::<EndLine>(line)?,
                Some(_) | None => {
                    let start = text::shorten(&line.to_string(), QUOTED_MAX);
                    return Err(lines.problem(format!("a line of a recording is not {start}")));
                }
            }
        };
        let count = calls.len() as u64;
        if end.host_calls != count {
            let problem = format!(
                "the recording has {} host calls, but {count} lines with host calls",
                end.host_calls
            );
            return Err(lines.problem(problem));
        }
        if lines.next()?.is_some() {
            return Err(lines.problem("a line follows the end of the recording".to_owned()));
        }
        Ok(Self {
            tool: header.tool,
            recorded_at: header.recorded_at,
            grants: header.grants,
            result: end.result,
            recording: Recording {
                version: header.version,
                component: header.component,
                engine: header.engine,
                operation: header.operation,
                context: header.context,
                limits: header.limits,
                policy_sha256: header.policy_sha256,
                calls,
                blobs,
                outcome: end.outcome,
                usage: end.usage,
                end: end.end,
            },
            detail: header.detail,
        })
    }
}

/// The member that distinguishes a line from those of other kinds.
fn kind_of(line: &Value) -> Option<&'static str> {
    let kinds = ["end", "blob", "index"];
    let is_there = |kind: &&str| line.get(*kind).is_some();
    kinds.into_iter().find(is_there)
}

/// The lines of a file, and the number of the last one that was read.
struct Lines<'a> {
    file: &'a str,
    rest: &'a [u8],
    number: usize,
    /// JSON values that the rest may have.
    values: u64,
}

impl<'a> Lines<'a> {
    fn new(rest: &'a [u8], file: &'a str) -> Self {
        Self {
            file,
            rest,
            number: 0,
            values: values_max(rest.len()),
        }
    }

    /// Reads the next line as JSON. None at the end, and for a line without its line break: it was cut.
    fn next(&mut self) -> Result<Option<Value>, RecordingError> {
        let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        self.number += 1;
        let limits = JsonLimits::new(FILE_BYTES_MAX, DEPTH_MAX, self.values);
        let parsed = limits
            .utf8(line)
            .and_then(|line| limits.parse_measured(line));
        let (json, shape) = parsed.map_err(|error| {
            let error = if matches!(error, JsonError::TooMany { .. }) {
                "has more JSON values than a file of this size may have".to_owned()
            } else {
                error.to_string()
            };
            self.problem(format!("the line {error}"))
        })?;
        self.values -= shape.values;
        Ok(Some(json))
    }

    /// Reads the first line. Its version is checked before the rest: a newer one may have other members.
    fn header(&mut self) -> Result<HeaderLine, RecordingError> {
        let not_one = |problem: &str| RecordingError::NotARecording {
            file: self.file.to_owned(),
            problem: problem.to_owned(),
        };
        let no_line = not_one("its first line is not a JSON object with `format`");
        let cut = not_one("it has no line of JSON");
        let line = match self.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Err(cut),
            Err(_) => return Err(no_line),
        };
        if line.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(no_line);
        }
        match line.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(RECORDING_VERSION) => self.read(line),
            Some(found) => Err(RecordingError::Version {
                file: self.file.to_owned(),
                found,
            }),
            None => Err(self.problem("`version` is not a number".to_owned())),
        }
    }

    fn read<T: DeserializeOwned>(&self, line: Value) -> Result<T, RecordingError> {
        serde_json::from_value(line).map_err(|error| self.problem(error.to_string()))
    }

    fn check_blob(&self, blob: &str, base64: &str) -> Result<(), RecordingError> {
        let bytes = BASE64.decode(base64.as_bytes());
        let bytes = bytes.map_err(|error| self.problem(format!("`base64`: {error}")))?;
        if HEXLOWER.encode(&Sha256::digest(bytes)) == blob {
            Ok(())
        } else {
            Err(self.problem("`blob` is not the SHA-256 of the bytes".to_owned()))
        }
    }

    fn check_order(&self, count: usize, call: &HostCall) -> Result<(), RecordingError> {
        if call.index != count as u64 {
            let problem = format!("host call {count} is missing: {} follows", call.index);
            return Err(self.problem(problem));
        }
        if count < CALLS_MAX {
            Ok(())
        } else {
            Err(self.problem(format!("the file has more than {CALLS_MAX} host calls")))
        }
    }

    fn cut(&self) -> RecordingError {
        RecordingError::Cut {
            file: self.file.to_owned(),
            line: self.number,
        }
    }

    fn problem(&self, problem: String) -> RecordingError {
        RecordingError::Line {
            file: self.file.to_owned(),
            line: self.number,
            problem,
        }
    }
}

#[cfg(test)]
mod tests;
