//! What people read: stderr, and the one progress line at its end. Lines are written whole, whoever
//! writes them.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether the progress line is on the stderr.
static SHOWN: Mutex<bool> = Mutex::new(false);

/// To the beginning of the line, and nothing on it.
const ERASE: &str = "\r\u{1b}[K";

/// Writes text as it is, with a line break where it has none. A stderr that is closed is no reason
/// to stop.
pub(crate) fn write(text: &str) {
    let mut shown = lock();
    let erase = if std::mem::take(&mut *shown) {
        ERASE
    } else {
        ""
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stderr(), "{erase}{text}{end}");
}

/// Writes or replaces the progress line; none erases it.
pub(crate) fn progress(line: Option<&str>) {
    let mut shown = lock();
    let text = match line {
        Some(line) => format!("{ERASE}{line}"),
        None if *shown => ERASE.to_owned(),
        None => return,
    };
    *shown = line.is_some();
    let mut stderr = std::io::stderr();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// Whether people read stderr on a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Columns of the terminal; none where stderr is none.
pub(crate) fn columns() -> Option<usize> {
    columns_of(std::io::stderr())
}

/// Columns of the terminal that a stream goes to.
pub(crate) fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(stream)?;
    (columns > 0).then_some(usize::from(columns))
}

fn lock() -> MutexGuard<'static, bool> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
