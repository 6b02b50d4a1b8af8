//! Writes whole lines to stderr, and keeps the progress line below them.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::environment;
use crate::terminal::workflow::{self, Annotation};

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

/// The line of the terminal on which the cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    /// The progress line.
    Progress,
    /// A question, and the part of the answer that the user has typed.
    Question,
    /// Empty, and no progress line is written any more.
    Closed,
}

static LINE: Mutex<Line> = Mutex::new(Line::Empty);

/// Moves to the start of the line, and clears it.
const ERASE: &str = "\r\u{1b}[K";

/// Writes text, with a line break at the end. Ignores errors, as stderr may be closed.
pub(crate) fn write(text: &str) {
    write_raw(&workflow::plain(text));
}

/// Writes an annotation on a line of its own.
pub(crate) fn annotate(annotation: &Annotation) {
    write_raw(&annotation.to_string());
}

fn write_raw(text: &str) {
    let mut line = lock();
    let before = leave(&mut line);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stderr(), "{before}{text}{end}");
}

/// Writes a question. The answer is on the same line.
pub(crate) fn ask(question: &str) {
    let mut line = lock();
    put(&format!("{}{question}", leave(&mut line)));
    if *line == Line::Empty {
        *line = Line::Question;
    }
}

/// Notes that the user ended the line of the question.
pub(crate) fn answered() {
    let mut line = lock();
    if *line == Line::Question {
        *line = Line::Empty;
    }
}

/// Writes or replaces the progress line; `None` erases it.
pub(crate) fn progress(text: Option<&str>) {
    let mut line = lock();
    match (text, *line) {
        (Some(text), Line::Empty | Line::Progress) => {
            *line = Line::Progress;
            put(&format!("{ERASE}{text}"));
        }
        (None, Line::Progress) => put(leave(&mut line)),
        (None, Line::Empty) | (_, Line::Question | Line::Closed) => {}
    }
}

/// Erases the progress line, or ends the line of a question. No other progress line is written.
pub(crate) fn close_progress() {
    let mut line = lock();
    put(leave(&mut line));
    *line = Line::Closed;
}

/// Erases the progress line, and runs `print`, which writes to the same terminal. No progress line is
/// written meanwhile.
pub(crate) fn without_progress<T>(print: impl FnOnce() -> T) -> T {
    let mut line = lock();
    put(leave(&mut line));
    print()
}

/// Whether the progress line is displayed, unless `--quiet` is set.
pub(crate) fn has_progress() -> bool {
    is_terminal() && !environment::is_dumb_terminal()
}

/// Returns what moves the cursor to an empty line.
fn leave(line: &mut Line) -> &'static str {
    let (before, next) = match *line {
        Line::Empty => ("", Line::Empty),
        Line::Progress => (ERASE, Line::Empty),
        Line::Question => ("\n", Line::Empty),
        Line::Closed => ("", Line::Closed),
    };
    *line = next;
    before
}

fn put(text: &str) {
    if !text.is_empty() {
        let mut stderr = std::io::stderr();
        // As above: stderr may be closed.
        let _ = stderr
            .write_all(text.as_bytes())
            .and_then(|()| stderr.flush());
    }
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
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(stream.as_fd())?;
    (columns > 0).then_some(usize::from(columns))
}

fn lock() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}
