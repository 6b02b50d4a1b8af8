//! Writes results to stdout.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use serde_json::Value;
use toolhost::text;

use crate::terminal::{stderr, workflow};

/// Writes JSON: on several lines to a terminal, else on one line.
pub(crate) fn json(value: &Value) -> Result<()> {
    let json = if is_terminal() {
        format!("{value:#}")
    } else {
        value.to_string()
    };
    write_raw(&workflow::plain_json(&text::escape_json(&json)))
}

/// Writes JSON on one line.
pub(crate) fn json_line(value: &Value) -> Result<()> {
    write_raw(&workflow::plain_json(&text::escape_json(
        &value.to_string(),
    )))
}

/// Adds a member to a JSON object; leaves another value as it is.
pub(crate) fn set(json: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(members) = json {
        members.insert(name.to_owned(), value.into());
    }
}

/// Writes text and a line break. The caller has escaped the text.
///
/// A closed pipe is not an error.
pub(crate) fn write(text: &str) -> Result<()> {
    write_raw(&workflow::plain(text))
}

fn write_raw(text: &str) -> Result<()> {
    let print = || {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(format!("{text}\n").as_bytes());
        written.and_then(|()| stdout.flush())
    };
    // Anything but a terminal may block for long, and has no progress line to erase.
    let written = if is_terminal() {
        stderr::without_progress(print)
    } else {
        print()
    };
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("stdout cannot be written")
        }
        _ => Ok(()),
    }
}

pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Columns of the terminal, if stdout is one.
pub(crate) fn columns() -> Option<usize> {
    stderr::columns_of(std::io::stdout())
}
