//! Workflow commands of GitHub Actions: annotations, and what keeps other output from being read as a
//! command.
//!
//! The runner reads each line of both streams. A line that begins with `::`, after blanks, may be a
//! command, and so may be all that follows `##[` anywhere in a line.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::environment;
use crate::terminal::text;

/// Whether a runner reads the output.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// What a command begins with.
const START: &str = "::";

/// What an older kind of command begins with.
const OLD_START: &str = "##[";

/// Longest title of an annotation, in columns.
const TITLE_MAX: usize = 200;

/// Longest line of an annotation, in columns.
const LINE_MAX: usize = 1_000;

/// Most lines of an annotation.
const LINES_MAX: usize = 30;

/// From now on, no output but an [`Annotation`] is a command.
pub(crate) fn start() {
    IS_READ.store(true, Ordering::Relaxed);
}

/// As [`start`], if the process runs in GitHub Actions. Returns whether it does.
pub(crate) fn start_if_present() -> bool {
    let is_present = environment::value("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if is_present {
        start();
    }
    is_present
}

/// Escapes what a runner would read as a command, if one reads the output.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if IS_READ.load(Ordering::Relaxed) {
        escaped(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Like [`plain`], for a JSON text. The value stays the same.
pub(crate) fn plain_json(json: &str) -> Cow<'_, str> {
    if IS_READ.load(Ordering::Relaxed) && json.contains(OLD_START) {
        Cow::Owned(json.replace(OLD_START, r"#\u0023["))
    } else {
        Cow::Borrowed(json)
    }
}

fn escaped(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with(START) || line.contains(OLD_START);
    if !text.split(['\n', '\r']).any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(['\n', '\r']) {
        let content = line.trim_start();
        let (blanks, _) = line.split_at(line.len() - content.len());
        plain += blanks;
        match content.strip_prefix(':') {
            Some(rest) if rest.starts_with(':') => plain += &format!("\\u{{3a}}{rest}"),
            Some(_) | None => plain += content,
        }
    }
    Cow::Owned(without_old_start(&plain))
}

fn without_old_start(text: &str) -> String {
    text.replace(OLD_START, "#\\u{23}[")
}

/// An error that is displayed at a line of a file.
#[derive(Debug, Default)]
pub(crate) struct Annotation {
    /// The path from the workspace.
    pub(crate) file: String,
    pub(crate) line: Option<u32>,
    pub(crate) title: String,
    /// Lines of any text.
    pub(crate) message: String,
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "::error file={}", property(&self.file))?;
        if let Some(line) = self.line {
            write!(f, ",line={line}")?;
        }
        let line = |line: &str| text::cut(&text::line(line), LINE_MAX);
        let lines: Vec<String> = self.message.lines().take(LINES_MAX).map(line).collect();
        let message = data(&lines.join("\n"));
        let title = text::cut(&self.title, TITLE_MAX);
        write!(f, ",title={}::{message}", property(&title))
    }
}

/// Escapes the value of a property.
fn property(value: &str) -> String {
    let value = data(&text::line(value));
    value.replace(':', "%3A").replace(',', "%2C")
}

/// Escapes the text of a command.
fn data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in without_old_start(text).chars() {
        match c {
            '%' | '\r' | '\n' => {
                // Writing to a `String` does not fail.
                let _ = write!(escaped, "%{:02X}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_read_as_a_command() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected);
        check("a::b\n a :: b", "a::b\n a :: b");
        check("::error::x", "\\u{3a}:error::x");
        check(
            "a\n \t\u{a0}::add-mask::x\n",
            "a\n \t\u{a0}\\u{3a}:add-mask::x\n",
        );
        check("a\r::error::x", "a\r\\u{3a}:error::x");
        check("a ##[error]x ##[y]", "a #\\u{23}[error]x #\\u{23}[y]");
        check(":::a", "\\u{3a}::a");
        check("\n\n  \n::a::", "\n\n  \n\\u{3a}:a::");
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::json!({"a": "##[error]::x", "##[b]": 1});
        let text = value.to_string();
        let plain = text.replace(OLD_START, r"#\u0023[");
        assert!(!plain.contains(OLD_START));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&plain).unwrap(),
            value
        );
    }

    #[test]
    fn an_annotation_is_one_line_whose_parts_are_escaped() {
        let annotation = Annotation {
            file: "a,b:c%.yaml".to_owned(),
            line: Some(7),
            title: "x::y,line=1\n::error::z".to_owned(),
            message: "100%\nnext\r::error::x\u{1b}[2J ##[error]y".to_owned(),
        };
        assert_eq!(
            annotation.to_string(),
            "::error file=a%2Cb%3Ac%25.yaml,line=7,title=x%3A%3Ay%2Cline=1 %3A%3Aerror%3A%3Az::\
             100%25%0Anext\\u{d}::error::x\\u{1b}[2J #\\u{23}[error]y"
        );
    }
}
