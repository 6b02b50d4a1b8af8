//! Errors with a place and a suggestion.

use std::io::{self, ErrorKind};

use jaq_core::{compile, load};
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
        .suggestion("take what is within from another source, or cut the document into parts")
}

/// Neither or both of `path` and `json`.
pub(crate) fn source() -> ToolError {
    ToolError::new("pass either `path` or `json`")
        .name("InvalidInputError")
        .code("INVALID_INPUT")
        .suggestion("`path` for a file of the workdir, `json` for a text")
}

/// What is not JSON: `line 3 column 9, at "…": expected `,``.
pub(crate) fn json(error: &serde_json::Error, bytes: &[u8], name: &str) -> ToolError {
    let near = bytes
        .split(|byte| *byte == b'\n')
        .nth(error.line().saturating_sub(1))
        .map(|line| {
            let from = error.column().saturating_sub(20).min(line.len());
            let to = line.len().min(error.column() + 20);
            String::from_utf8_lossy(line.get(from..to).unwrap_or_default()).into_owned()
        });
    let near = near.filter(|near| !near.is_empty());
    let near = near.map_or_else(String::new, |near| format!(", near `{near}`"));
    ToolError::new(format!("{name}: {error}{near}"))
        .name("JsonError")
        .code("INVALID_JSON")
        .suggestion("correct the JSON at that place")
}

/// A query that is not jq.
pub(crate) fn syntax(query: &str, errors: load::Errors<&str, ()>) -> ToolError {
    let first = errors.into_iter().next().map(|(_, error)| error);
    let message = match first {
        Some(load::Error::Lex(errors)) => errors.into_iter().next().map(|(expected, found)| {
            place(query, found, &format!("expected {}", expected.as_str()))
        }),
        Some(load::Error::Parse(errors)) => errors.into_iter().next().map(|(expected, found)| {
            place(query, found, &format!("expected {}", expected.as_str()))
        }),
        Some(load::Error::Io(errors)) => errors
            .into_iter()
            .next()
            .map(|(found, reason)| place(query, found, &reason)),
        None => None,
    };
    invalid(message.unwrap_or_else(|| "query: is not jq".to_owned()))
}

/// A query that uses an unsupported feature.
pub(crate) fn undefined(query: &str, errors: compile::Errors<&str, ()>) -> ToolError {
    let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
    let message = first.map(|(found, kind)| {
        let what = match kind {
            compile::Undefined::Filter(arity) => format!("there is no filter `{found}/{arity}`"),
            _ => format!("there is no {} `{found}`", kind.as_str()),
        };
        place(query, found, &what)
    });
    invalid(message.unwrap_or_else(|| "query: is not jq".to_owned()))
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

fn invalid(message: String) -> ToolError {
    ToolError::new(message)
        .name("InvalidQueryError")
        .code("INVALID_QUERY")
        .suggestion("write it as for jq 1.7; strings in double quotes")
}

/// `query: line 1 column 5, at `…`: what`. `found` is a part of the query.
fn place(query: &str, found: &str, what: &str) -> String {
    let offset = (found.as_ptr() as usize).saturating_sub(query.as_ptr() as usize);
    let before = query.get(..offset).unwrap_or(query);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    let rest: String = query
        .get(offset..)
        .unwrap_or_default()
        .chars()
        .take(20)
        .collect();
    let at = if rest.is_empty() {
        "at the end".to_owned()
    } else {
        format!("at `{rest}`")
    };
    format!("query: line {line} column {column}, {at}: {what}")
}
