//! Writes whole lines to stderr, and keeps the progress line below them.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is written to stderr besides errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// What guests log at info and above, and notes.
    Normal,
    /// Also what guests print, and log at debug.
    Verbose,
    /// Everything, including the host's own steps.
    All,
}

/// Whether the progress line is displayed.
static IS_DISPLAYED: Mutex<bool> = Mutex::new(false);

/// Moves to the start of the line, and clears it.
const ERASE: &str = "\r\u{1b}[K";

/// Writes text, with a line break at the end. Ignores errors, as stderr may be closed.
pub(crate) fn write(text: &str) {
    let mut is_displayed = lock();
    let erase = match std::mem::take(&mut *is_displayed) {
        true => ERASE,
        false => "",
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stderr(), "{erase}{text}{end}");
}

/// Writes or replaces the progress line; `None` erases it.
pub(crate) fn progress(line: Option<&str>) {
    let mut is_displayed = lock();
    let text = match line {
        Some(line) => format!("{ERASE}{line}"),
        None if *is_displayed => ERASE.to_owned(),
        None => return,
    };
    *is_displayed = line.is_some();
    let mut stderr = std::io::stderr();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Columns of the terminal, if stderr is one.
pub(crate) fn columns() -> Option<usize> {
    columns_of(std::io::stderr())
}

/// Columns of the terminal, if the stream is one.
pub(crate) fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(stream)?;
    (columns > 0).then_some(usize::from(columns))
}

fn lock() -> MutexGuard<'static, bool> {
    IS_DISPLAYED.lock().unwrap_or_else(PoisonError::into_inner)
}
