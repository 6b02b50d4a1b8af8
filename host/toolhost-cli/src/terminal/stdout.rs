//! What programs read: stdout, each answer written at once.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use serde_json::Value;
use toolhost::text;

use crate::terminal::stderr;

/// Writes JSON: over several lines on a terminal, on one line for a program.
pub(crate) fn json(value: &Value) -> Result<()> {
    let json = if std::io::stdout().is_terminal() {
        format!("{value:#}")
    } else {
        value.to_string()
    };
    write(&text::escape_json(&json))
}

/// Writes text that is safe to show, with a line break at its end.
///
/// A reader that has gone away wants no more, which is no error.
pub(crate) fn write(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(format!("{text}\n").as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("the answer cannot be written to stdout")
        }
        _ => Ok(()),
    }
}

/// Columns of the terminal; none where stdout is none.
pub(crate) fn columns() -> Option<usize> {
    std::io::stdout()
        .is_terminal()
        .then(|| stderr::columns_of(std::io::stdout()))?
}
