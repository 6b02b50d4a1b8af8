//! Errors with a place and a suggestion.

use std::io::{self, ErrorKind};

use jq_engine::Rejected;
use toolhost_guest::ToolError;

/// A file that cannot be read.
pub(crate) fn file(error: io::Error, path: &str) -> ToolError {
    let suggestion = match error.kind() {
        ErrorKind::NotFound => "paths are relative to the workdir; check the name",
        _ => "pass the path of a file within the workdir",
    };
    ToolError::from(error).at(path).suggestion(suggestion)
}

pub(crate) fn too_large(path: &str, most: u64) -> ToolError {
    ToolError::new(format!("is larger than {} MiB: {path}", most >> 20))
        .name("TooLargeError")
        .code("TOO_LARGE")
        .suggestion("cut the file into parts first")
}

pub(crate) fn too_deep(name: &str, most: usize) -> ToolError {
    ToolError::new(format!("{name}: nested more than {most} deep"))
        .name("TooDeepError")
        .code("TOO_DEEP")
        .suggestion("take what is within from another source, or select the inner part; `tojson` makes a text of it")
}

/// Neither or both of `path` and `json`.
pub(crate) fn source() -> ToolError {
    ToolError::new("pass either `path` or `json`")
        .name("InvalidInputError")
        .code("INVALID_INPUT")
        .suggestion("`path` for a file of the workdir, `json` for a text, `nullInput` for neither")
}

/// What is not JSON: `line 3, column 9, near …`.
pub(crate) fn json(reason: &str, bytes: &[u8], name: &str) -> ToolError {
    if reason.starts_with("Exceeds depth limit") {
        return too_deep(name, jq_engine::json::MAX_DEPTH);
    }
    let number = |word: &str| {
        let (_, rest) = reason.rsplit_once(word)?;
        rest.split(|char: char| !char.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let (line, column): (usize, usize) =
        (number("line ").unwrap_or(1), number("column ").unwrap_or(0));
    let text = bytes
        .split(|byte| *byte == b'\n')
        .nth(line.saturating_sub(1))
        .unwrap_or_default();
    let (from, to) = (
        column.saturating_sub(20).min(text.len()),
        text.len().min(column + 20),
    );
    let near = String::from_utf8_lossy(text.get(from..to).unwrap_or_default());
    let near = if near.is_empty() {
        String::new()
    } else {
        format!(", near `{near}`")
    };
    let suggestion = match format_of(name) {
        Some(format) => format!("pass `inputFormat`: {format}"),
        None => "correct the JSON at that place".to_owned(),
    };
    document(name, &format!("{reason}{near}"))
        .name("JsonError")
        .suggestion(suggestion)
}

/// The format, other than JSON, that the name of a file tells.
fn format_of(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "yaml" | "yml" => Some("yaml"),
        "toml" => Some("toml"),
        "csv" => Some("csv"),
        "tsv" => Some("tsv"),
        "txt" | "log" | "md" => Some("text"),
        _ => None,
    }
}

/// A document that is not of its format.
pub(crate) fn document(name: &str, reason: &str) -> ToolError {
    ToolError::new(format!("{name}: {reason}"))
        .name("DocumentError")
        .code("INVALID_JSON")
        .suggestion("correct the document at that place, or name its format with `inputFormat`")
}

/// Results that the output format cannot say.
pub(crate) fn output(reason: &str) -> ToolError {
    ToolError::new(reason.to_owned())
        .name("OutputFormatError")
        .code("INVALID_OUTPUT_FORMAT")
        .suggestion("shape the results for that format in the query, or choose another")
}

/// A query that is not jq, or names what does not exist.
pub(crate) fn syntax(rejected: &Rejected) -> ToolError {
    let Rejected {
        reason,
        line,
        column,
        near,
    } = rejected;
    let at = if near.is_empty() {
        "at the end".to_owned()
    } else {
        format!("at `{near}`")
    };
    ToolError::new(format!(
        "query: line {line} column {column}, {at}: {reason}"
    ))
    .name("InvalidQueryError")
    .code("INVALID_QUERY")
    .suggestion("write it as for jq 1.7; strings in double quotes")
}

/// An error of jq, such as an index into a number.
pub(crate) fn run(message: &str, result: usize) -> ToolError {
    ToolError::new(format!("query: {message}, after {result} results"))
        .name("QueryError")
        .code("QUERY_FAILED")
        .suggestion(
            "look at the shape first, with `keys`, `type` or `.[0]`; `?` skips what does not fit",
        )
}
