//! Host calls of recordings as people read them.

use std::sync::Arc;

use serde_json::Value;
use toolhost::recording::{Answer, CallRecording, HostCall, RecordedOutcome, ReplayEvent};
use toolhost::text::{escape_within, shorten};

/// Longest value on a line, in characters.
const VALUE_MAX: usize = 400;

/// Longest list of bytes that is printed as text, in characters.
const BYTES_MAX: usize = 120;

/// Prints host calls with the lists of bytes of their recording.
#[derive(Clone)]
pub(super) struct Readable(Arc<CallRecording>);

impl Readable {
    pub(super) fn of(recording: &Arc<CallRecording>) -> Self {
        Self(Arc::clone(recording))
    }

    /// A host call and its answer.
    pub(super) fn call(&self, call: &HostCall) -> String {
        let answer = match &call.answer {
            Answer::Returned(value) => self.value(value),
            Answer::Ended(why) => format!("the call ended: {}", shorten(why, VALUE_MAX)),
            Answer::Unanswered => "the call was stopped before the answer".to_owned(),
        };
        format!(
            "{} {} → {answer}",
            call.index,
            self.function(&call.function, &call.arguments)
        )
    }

    /// What happened at a place of a call.
    pub(super) fn event(&self, event: &ReplayEvent) -> String {
        match event {
            ReplayEvent::Call {
                function,
                arguments,
            } => self.function(function, arguments),
            ReplayEvent::End { outcome } => format!("the end: {}", end_of(outcome)),
            ReplayEvent::InvalidAnswer { function, problem } => format!(
                "an answer of {} that is invalid: {}",
                shorten(function, VALUE_MAX),
                shorten(problem, VALUE_MAX)
            ),
        }
    }

    fn function(&self, function: &str, arguments: &[Value]) -> String {
        let arguments = arguments.iter().map(|argument| self.plain(argument));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let function = shorten(function, VALUE_MAX);
        format!("{function}({})", shorten(&arguments, VALUE_MAX))
    }

    /// A value of a host call.
    pub(super) fn value(&self, value: &Value) -> String {
        shorten(&self.plain(value), VALUE_MAX)
    }

    fn plain(&self, value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let mut entries = members.iter();
                if let (Some((name, only)), None) = (entries.next(), entries.next()) {
                    match (name.as_str(), only) {
                        ("bytes" | "blob", _) => {
                            let bytes = self.0.bytes_of(value);
                            return bytes.map_or_else(|| "bytes".to_owned(), printed);
                        }
                        ("handle", Value::Number(number)) => return format!("#{number}"),
                        ("some" | "returned", value) => return self.plain(value),
                        _ => {}
                    }
                }
                let members = members.iter();
                let members = members.map(|(name, value)| format!("{name}: {}", self.plain(value)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.plain(item));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        }
    }
}

/// A list of bytes: as text if it is text, with its length.
fn printed(bytes: Vec<u8>) -> String {
    let count = bytes.len();
    match String::from_utf8(bytes) {
        Ok(text) => format!("\"{}\" ({count} bytes)", escape_within(&text, BYTES_MAX)),
        Err(_) => format!("{count} bytes"),
    }
}

/// How a call ended.
pub(super) fn end_of(outcome: &RecordedOutcome) -> String {
    let (what, value) = match outcome {
        RecordedOutcome::Output { value } => ("the output is", value.to_string()),
        RecordedOutcome::Pending { handle } => ("it is pending with the handle", handle.clone()),
        RecordedOutcome::Failed { error } => ("it failed with", error.to_string()),
        RecordedOutcome::Stopped { reason, message } => {
            ("the host stopped it", format!("{reason}: {message}"))
        }
    };
    format!("{what} {}", shorten(&value, VALUE_MAX))
}
