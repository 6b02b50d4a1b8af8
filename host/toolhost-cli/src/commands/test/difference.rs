//! The lines of a difference: `-` is expected, `+` is the actual text.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};
use toolhost_testing::{Mismatch, ValueDifference};

use crate::terminal::{Style, text};

/// Most lines displayed of a difference.
const LINES_MAX: usize = 40;

/// Longest value displayed, in columns.
const VALUE_MAX: usize = 200;

/// How long two texts are compared precisely: lines without order take time with the square of their number.
const TIME_MAX: Duration = Duration::from_millis(500);

/// A line of a difference.
enum Line {
    Expected(String),
    Actual(String),
    Both(String),
}

impl Line {
    fn format(&self, style: Style) -> String {
        match self {
            Self::Expected(line) => style.expected(&format!("- {line}")),
            Self::Actual(line) => style.actual(&format!("+ {line}")),
            Self::Both(line) => format!("  {line}"),
        }
    }
}

/// Returns the lines of a difference, if it needs more than the line of the mismatch.
pub(super) fn lines(mismatch: &Mismatch, style: Style) -> Vec<String> {
    let lines = match &mismatch.texts {
        Some((expected, got)) => of_texts(expected, got),
        None => mismatch.differences.iter().flat_map(of_values).collect(),
    };
    if lines.is_empty() {
        return lines.into_iter().map(|line| line.format(style)).collect();
    }
    let what = text::line(&mismatch.what);
    let mut formatted = vec![format!("{what} (- expected, + got):")];
    let shown = lines.iter().take(LINES_MAX);
    formatted.extend(shown.map(|line| format!("  {}", line.format(style))));
    if lines.len() > LINES_MAX {
        formatted.push(format!("  … {} more lines", lines.len() - LINES_MAX));
    }
    formatted
}

/// The path within a value, and what differs there.
fn of_values(difference: &ValueDifference) -> Vec<Line> {
    let path = text::cut(&text::line(&difference.pointer), VALUE_MAX);
    let mut lines = vec![Line::Both(path)];
    let (expected, got) = (&difference.expected, &difference.got);
    let texts = expected.as_ref().zip(got.as_ref());
    let texts = texts.and_then(|(expected, got)| expected.as_str().zip(got.as_str()));
    match texts {
        Some((expected, got)) if expected.contains('\n') || got.contains('\n') => {
            lines.extend(of_texts(expected, got));
        }
        Some(_) | None => {
            let value =
                |value: &serde_json::Value| text::cut(&text::line(&value.to_string()), VALUE_MAX);
            lines.extend(expected.as_ref().map(|it| Line::Expected(value(it))));
            lines.extend(got.as_ref().map(|it| Line::Actual(value(it))));
        }
    }
    lines
}

/// The lines that differ, and two lines around them.
fn of_texts(expected: &str, got: &str) -> Vec<Line> {
    let ends_differ = expected.ends_with('\n') != got.ends_with('\n');
    let diff = TextDiff::configure()
        .timeout(TIME_MAX)
        .diff_lines(expected, got);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(2) {
        if !lines.is_empty() {
            lines.push(Line::Both("…".to_owned()));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = text::line(change.value().trim_end_matches('\n'));
            let line = if ends_differ && change.missing_newline() {
                format!("{line}  (no line break at the end)")
            } else {
                line
            };
            lines.push(match change.tag() {
                ChangeTag::Delete => Line::Expected(line),
                ChangeTag::Insert => Line::Actual(line),
                ChangeTag::Equal => Line::Both(line),
            });
        }
    }
    lines
}
