//! Formats diagnostics for people: with the line of the file, the place in it, and the help.

use std::fmt;
use std::sync::Arc;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource};
use miette::{ThemeCharacters, ThemeStyles};
use toolhost::manifest::{Diagnostic, Severity, YamlSource};
use toolhost_manifest::bundle::{Place, Position};

use crate::environment;
use crate::terminal::colours::{ColorChoice, Colours};
use crate::terminal::{stderr, stdout, text};

/// Longest line that is quoted, in bytes. For a longer line only the place is given.
const LINE_MAX: usize = 400;

/// Longest path within a document, in columns.
const PATH_MAX: usize = 100;

/// Most findings with quoted lines: each one scans the whole file.
const QUOTED_MAX: usize = 100;

/// Colours and width of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colours: Colours,
    /// Columns to wrap at; `None` if the stream is not a terminal.
    columns: Option<usize>,
}

impl Style {
    pub(crate) fn of_stderr(choice: ColorChoice) -> Self {
        Self {
            colours: choice.decide(stderr::is_terminal(), environment::value),
            columns: stderr::columns(),
        }
    }

    pub(crate) fn of_stdout(choice: ColorChoice) -> Self {
        Self {
            colours: choice.decide(stdout::is_terminal(), environment::value),
            columns: stdout::columns(),
        }
    }

    /// Whether words have colours.
    pub(crate) fn is_coloured(self) -> bool {
        self.colours == Colours::Ansi
    }

    /// Formats a word about an error.
    pub(crate) fn red(self, word: &str) -> String {
        self.sgr("1;31", word)
    }

    /// Formats a word about a success.
    pub(crate) fn green(self, word: &str) -> String {
        self.sgr("32", word)
    }

    /// Formats a word about a warning.
    pub(crate) fn yellow(self, word: &str) -> String {
        self.sgr("33", word)
    }

    /// Formats a word about a note or a hint.
    pub(crate) fn cyan(self, word: &str) -> String {
        self.sgr("36", word)
    }

    /// Formats a line of a difference that was expected.
    pub(crate) fn expected(self, line: &str) -> String {
        self.sgr("31", line)
    }

    /// Formats a line of a difference that is there.
    pub(crate) fn actual(self, line: &str) -> String {
        self.sgr("32", line)
    }

    fn sgr(self, code: &str, word: &str) -> String {
        match self.colours {
            Colours::Ansi => format!("\u{1b}[{code}m{word}\u{1b}[0m"),
            Colours::Plain => word.to_owned(),
        }
    }

    fn handler(self) -> GraphicalReportHandler {
        let styles = match self.colours {
            Colours::Ansi => ThemeStyles::ansi(),
            Colours::Plain => ThemeStyles::none(),
        };
        let theme = GraphicalTheme {
            characters: ThemeCharacters::unicode(),
            styles,
        };
        let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
        match self.columns {
            Some(columns) => handler.with_width(columns.max(40)),
            None => handler.with_wrap_lines(false),
        }
    }
}

/// Formats findings: the first ones with quoted lines, each followed by an empty line, the rest on one
/// line each.
pub(crate) fn render(findings: &[Diagnostic], sources: &[YamlSource], style: Style) -> String {
    let handler = style.handler();
    let lines = |source: &YamlSource| {
        let text = text::source(source.text());
        Arc::new(NamedSource::new(text::line(source.name()), text))
    };
    let lines: Vec<Arc<NamedSource<String>>> = sources.iter().map(lines).collect();
    let mut text = String::new();
    for finding in findings.iter().take(QUOTED_MAX) {
        let mut both = sources.iter().zip(&lines);
        let source = both.find(|(source, _)| source.name() == finding.place.file);
        let mut drawn = String::new();
        match handler.render_report(&mut drawn, report(finding, source).as_ref()) {
            Ok(()) => text += &drawn,
            Err(fmt::Error) => text += &format!("{}\n", text::line(&finding.to_string())),
        }
        text.push('\n');
    }
    for finding in findings.iter().skip(QUOTED_MAX) {
        text += &format!("{}\n", text::line(&finding.to_string()));
    }
    text
}

/// Returns a finding as a report of miette. `source` is the file of the finding.
fn report(
    finding: &Diagnostic,
    source: Option<(&YamlSource, &Arc<NamedSource<String>>)>,
) -> miette::Report {
    let (source, lines) = source.unzip();
    let place = &finding.place;
    let mut help = text::line(&finding.help);
    let mut message = text::line(&finding.message);
    let mut labels = Vec::new();
    match source.and_then(|source| span(source, place)) {
        Some(span) => {
            let path = text::cut(&text::line(&place.document_path), PATH_MAX);
            let label = Some(path).filter(|path| !path.is_empty());
            labels.push(LabeledSpan::new_primary_with_span(label, span));
        }
        None => message = format!("{}: {message}", location(place)),
    }
    for related in &finding.related {
        let message = text::line(&related.message);
        let source = source.filter(|source| source.name() == related.place.file);
        match source.and_then(|source| span(source, &related.place)) {
            Some(span) => labels.push(LabeledSpan::new_with_span(Some(message), span)),
            None => help += &format!("\n{message}: {}", location(&related.place)),
        }
    }
    let lines = lines.filter(|_| !labels.is_empty());
    let severity = match finding.severity {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
        Severity::Note => miette::Severity::Advice,
    };
    let report = MietteDiagnostic::new(message)
        .with_code(finding.code.as_str())
        .with_severity(severity)
        .with_help(help)
        .with_labels(labels);
    match lines {
        Some(lines) => miette::Report::new(report).with_source_code(Arc::clone(lines)),
        None => miette::Report::new(report),
    }
}

/// Formats a place as `file:line:column`.
fn location(place: &Place) -> String {
    let at = place
        .position
        .map(|at| format!(":{}:{}", at.line, at.column));
    text::line(&format!("{}{}", place.file, at.unwrap_or_default()))
}

/// Returns the part of a place on its first line, unless the lines around it are too long to quote.
fn span(source: &YamlSource, place: &Place) -> Option<(usize, usize)> {
    let Position { span, .. } = place.position?;
    let (before, after) = source.text().split_at_checked(span.offset)?;
    let neighbours = before.rsplit('\n').take(2).chain(after.split('\n').take(2));
    if neighbours.map(str::len).any(|length| length > LINE_MAX) {
        return None;
    }
    let line = after.split('\n').next().unwrap_or_default().trim_end();
    Some((span.offset, span.length.min(line.len())))
}

#[cfg(test)]
mod tests;
