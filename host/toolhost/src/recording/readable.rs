//! Host calls of recordings as people read them.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::text::{escape_within, shorten};
use toolhost_contract::{Answer, HostCall, RecordedOutcome, ReplayEvent};

use super::call_recording::CallRecording;

/// Longest value on a line, in characters.
const VALUE_MAX: usize = 400;

/// Bytes after which no more of a host call is written: more than [`VALUE_MAX`] characters.
const WRITTEN_MAX: usize = 4 * VALUE_MAX;

/// Longest list of bytes that is printed as text, in characters.
const BYTES_MAX: usize = 120;

/// Writes host calls as people read them, with the lists of bytes of their recording: each value in at most 400
/// characters, in one line.
#[derive(Debug, Clone)]
pub struct Readable(Arc<CallRecording>);

impl Readable {
    /// Writes the host calls of this recording.
    pub fn of(recording: &Arc<CallRecording>) -> Self {
        Self(Arc::clone(recording))
    }

    /// Returns a host call and its answer.
    pub fn call(&self, call: &HostCall) -> String {
        let function = self.function(&call.function, &call.arguments);
        format!("{} {function} → {}", call.index, self.answer(call))
    }

    /// Returns the arguments of a host call.
    pub fn arguments(&self, call: &HostCall) -> String {
        self.list(&call.arguments)
    }

    /// Returns the answer of a host call.
    pub fn answer(&self, call: &HostCall) -> String {
        match &call.answer {
            Answer::Returned(value) => self.value(value),
            Answer::Ended(why) => format!("the call ended: {}", shorten(why, VALUE_MAX)),
            Answer::Unanswered => "the call was stopped before the answer".to_owned(),
        }
    }

    /// Returns what happened at a place of a call.
    pub fn event(&self, event: &ReplayEvent) -> String {
        match event {
            ReplayEvent::Call {
                function,
                arguments,
            } => self.function(function, arguments),
            ReplayEvent::End { outcome } => format!("the end: {}", Self::end(outcome)),
            ReplayEvent::InvalidAnswer { function, problem } => format!(
                "an answer of {} that is invalid: {}",
                shorten(function, VALUE_MAX),
                shorten(problem, VALUE_MAX)
            ),
        }
    }

    /// Returns how a call ended.
    pub fn end(outcome: &RecordedOutcome) -> String {
        let (what, value) = match outcome {
            RecordedOutcome::Output { value } => ("the output is", value.to_string()),
            RecordedOutcome::Pending { handle } => {
                ("it is pending with the handle", handle.clone())
            }
            RecordedOutcome::Failed { error } => ("it failed with", error.to_string()),
            RecordedOutcome::Stopped { reason, message } => {
                ("the host stopped it", format!("{reason}: {message}"))
            }
        };
        format!("{what} {}", shorten(&value, VALUE_MAX))
    }

    fn function(&self, function: &str, arguments: &[Value]) -> String {
        let function = shorten(function, VALUE_MAX);
        format!("{function}({})", self.list(arguments))
    }

    fn list(&self, values: &[Value]) -> String {
        let mut text = String::new();
        for (at, value) in values.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            self.write(value, &mut text);
        }
        shorten(&text, VALUE_MAX)
    }

    /// Returns a value of a host call.
    pub fn value(&self, value: &Value) -> String {
        let mut text = String::new();
        self.write(value, &mut text);
        shorten(&text, VALUE_MAX)
    }

    /// Adds a value, unless there is more than is printed already.
    fn write(&self, value: &Value, written: &mut String) {
        if written.len() > WRITTEN_MAX {
            return;
        }
        match value {
            Value::Object(members) => {
                let mut entries = members.iter();
                if let (Some((name, only)), None) = (entries.next(), entries.next()) {
                    match (name.as_str(), only) {
                        ("bytes" | "blob", _) => {
                            let bytes = self.0.bytes_of(value);
                            let bytes = bytes.map_or_else(|| "bytes".to_owned(), printed);
                            return written.push_str(&bytes);
                        }
                        ("handle", Value::Number(number)) => {
                            return written.push_str(&format!("#{number}"));
                        }
                        ("some" | "returned", value) => return self.write(value, written),
                        _ => {}
                    }
                }
                written.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    written.push_str(if at == 0 { "" } else { ", " });
                    written.push_str(name);
                    written.push_str(": ");
                    self.write(value, written);
                    if written.len() > WRITTEN_MAX {
                        return;
                    }
                }
                written.push('}');
            }
            Value::Array(items) => {
                written.push('[');
                for (at, item) in items.iter().enumerate() {
                    written.push_str(if at == 0 { "" } else { ", " });
                    self.write(item, written);
                    if written.len() > WRITTEN_MAX {
                        return;
                    }
                }
                written.push(']');
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                written.push_str(&value.to_string());
            }
        }
    }
}

/// A list of bytes: as text if it is text, with its length.
fn printed(bytes: Vec<u8>) -> String {
    let count = bytes.len();
    match String::from_utf8(bytes) {
        Ok(text) => {
            // What is shown is one line, in which line feeds must not look like blanks.
            let text = text.replace('\n', r"\n").replace('\t', r"\t");
            format!("\"{}\" ({count} bytes)", escape_within(&text, BYTES_MAX))
        }
        Err(_) => format!("{count} bytes"),
    }
}
