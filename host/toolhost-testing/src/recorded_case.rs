//! Makes a test case of a recorded call.

mod fixtures;

use serde_json::{Value, json};
use toolhost::manifest::YamlSource;
use toolhost::recording::{CallRecording, Operation};
use toolhost_contract::{JsonLimits, text};

use self::fixtures::Fixtures;
use crate::case_file::CaseFile;
use crate::case_files::BYTES_MAX;
use crate::work_tree::Content;

/// A test case of a recorded call: the text of a case file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedCase {
    /// The text of the case file.
    pub text: String,
    /// A name for the file, without its ending: `recorded-count`.
    pub stem: String,
    /// What the case does not have of the call, each on one line.
    pub notes: Vec<String>,
}

/// Why no case can be made of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordedCaseError {
    /// The recorded call polled or cancelled a pending call.
    #[error("the recording is of a poll or a cancellation of a pending call, not of a call")]
    NotACall,
    /// The arguments are not a JSON object.
    #[error("the arguments of the recording are not a JSON object")]
    Arguments,
    /// A case file cannot have the values of the recording.
    #[error("a case file cannot hold the values of the recording: {0}")]
    Values(String),
}

impl RecordedCase {
    /// Makes a case of a recording: its arguments, the files that the call read, and its result. `file` names
    /// the recording.
    ///
    /// # Errors
    /// [`RecordedCaseError`] if the recording is not of a call, or a case file cannot hold its values.
    pub fn of(recording: &CallRecording, file: &str) -> Result<Self, RecordedCaseError> {
        let Operation::Handler { name, input } = &recording.recording.operation else {
            return Err(RecordedCaseError::NotACall);
        };
        let args: Value = JsonLimits::ARGUMENTS.parse(input).unwrap_or_default();
        if !args.is_object() {
            return Err(RecordedCaseError::Arguments);
        }
        let fixtures = Fixtures::of(recording);
        let mut notes = fixtures.notes.clone();
        notes.extend(left_out(recording));
        let mut case = vec![
            format!(
                "# Made by `toolhost test --from {}`.",
                text::shorten(file, 100)
            ),
            format!(
                "- name: {}",
                json!(format!("recorded call of {}", recording.tool))
            ),
            format!("  tool: {}", json!(recording.tool)),
            format!("  args: {}", plain(&args)),
        ];
        let context = context(&recording.recording.context);
        case.extend(context.map(|context| format!("  context: {}", plain(&context))));
        let files = fixtures.files();
        if !files.is_empty() {
            case.push("  files:".to_owned());
        }
        for (path, content) in files {
            case.push(format!(
                "    {}: {}",
                plain(&json!(path)),
                content_of(&content)
            ));
        }
        case.push("  expect:".to_owned());
        case.extend(expect(&recording.result).map(|line| format!("    {line}")));
        let text = case.join("\n") + "\n";
        if text.len() as u64 > BYTES_MAX {
            let reason = format!("they are more than {BYTES_MAX} bytes");
            return Err(RecordedCaseError::Values(reason));
        }
        let source = YamlSource::new("the case", &text);
        if let Err(findings) = CaseFile::parse(&source) {
            let first = findings.first().map(ToString::to_string);
            return Err(RecordedCaseError::Values(first.unwrap_or_default()));
        }
        Ok(Self {
            text,
            stem: format!("recorded-{name}"),
            notes,
        })
    }
}

/// JSON on one line, which is YAML too.
fn plain(value: &Value) -> String {
    text::escape_json(&value.to_string()).into_owned()
}

/// Returns the members of a context that a case can have.
fn context(context: &Value) -> Option<Value> {
    let keys = ["agentName", "instanceKey", "turnId", "traceId"];
    let members = keys.into_iter().filter_map(|key| {
        let text = context.get(key)?.as_str().filter(|text| !text.is_empty())?;
        Some((key.to_owned(), json!(text)))
    });
    let members: toolhost::JsonObject = members.collect();
    (!members.is_empty()).then_some(Value::Object(members))
}

/// A file as a case has it: as text, unless it has characters that YAML cannot have.
fn content_of(content: &Content) -> String {
    let bytes = match content {
        Content::Directory => return "{dir: true}".to_owned(),
        Content::File(bytes) => bytes,
    };
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !text::needs_escape(c);
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(is_plain) => json!(text).to_string(),
        Ok(_) | Err(_) => format!("{{base64: {}}}", json!(data_encoding::BASE64.encode(bytes))),
    }
}

/// Returns the lines of the expected result.
fn expect(result: &Value) -> impl Iterator<Item = String> {
    let mut lines = Vec::new();
    if let Some(output) = result.get("output") {
        lines.push(format!("output: {}", plain(output)));
    } else if let Some(error) = result.get("error") {
        let of = |key: &str| error.get(key).cloned().unwrap_or_default();
        let error = json!({"code": of("code"), "message": of("message")});
        lines.push(format!("error: {}", plain(&error)));
    } else {
        lines.push("status: pending".to_owned());
    }
    lines.into_iter()
}

/// Returns notes about what the call used and the case does not have.
fn left_out(recording: &CallRecording) -> Vec<String> {
    let mut notes = Vec::new();
    let called = |interface: &str| {
        let mut calls = recording.recording.calls.iter();
        calls.any(|call| call.function.starts_with(interface))
    };
    if !recording.can_be_replayed() {
        notes.push(
            "the recording is a summary without host calls: add the files that the call read"
                .to_owned(),
        );
    }
    if called("wasi:http/outgoing-handler") {
        notes.push(
            "the call sent HTTP requests: add their responses to `http`, and a `policy`".to_owned(),
        );
    }
    if called("goondan:tool/agents") {
        notes.push("the call used other agents: a case has none".to_owned());
    }
    if !recording.grants.env.is_empty() {
        let names = recording.grants.env.iter().map(String::as_str);
        let names = text::listed(names, 10);
        notes.push(format!(
            "the call had environment variables ({names}): add a `policy` with `env`, or pass --policy"
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
