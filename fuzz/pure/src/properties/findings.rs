//! Properties of the findings in a file.

use toolhost_manifest::bundle::{Diagnostic, Place, YamlSource};

use super::display;

/// Largest number of findings: errors, remarks, and one with the number of omitted ones.
const MOST: usize = 2_001;

/// Longest message, in bytes: it can contain a path of 64 levels.
const MESSAGE_MAX: usize = 64 << 10;

/// Longest help, in bytes.
const HELP_MAX: usize = 2 << 10;

/// Longest path in the file, in bytes.
const PATH_MAX: usize = 4 << 10;

pub(super) fn hold(findings: &[Diagnostic], source: &YamlSource) {
    assert!(findings.len() <= MOST, "{} findings", findings.len());
    let mut before = None;
    for finding in findings {
        assert!(!finding.message.is_empty());
        display::is_one_line(&finding.message, MESSAGE_MAX);
        assert!(!finding.help.is_empty());
        display::is_one_line(&finding.help, HELP_MAX);
        is_in(&finding.place, source);
        for related in &finding.related {
            display::is_one_line(&related.message, HELP_MAX);
            is_in(&related.place, source);
        }
        let at = finding.place.position.map(|at| at.span.offset);
        assert!(before <= at, "findings out of order: {findings:?}");
        before = at;
        display::is_one_line(&finding.to_string(), MESSAGE_MAX + PATH_MAX);
        assert!(serde_json::to_string(finding).is_ok());
    }
}

/// Asserts that a position lies in the text at the start of a character, and matches its line and column.
pub(super) fn is_in(place: &Place, source: &YamlSource) {
    display::is_one_line(&place.document_path, PATH_MAX);
    assert_eq!(place.file, source.name());
    let Some(at) = place.position else { return };
    let text = source.text();
    let end = at.span.offset.checked_add(at.span.length);
    let spanned = end.and_then(|end| text.get(at.span.offset..end));
    assert!(
        spanned.is_some(),
        "{place:?} is not in {} bytes",
        text.len()
    );
    let Some(above) = text.get(..at.span.offset) else {
        return;
    };
    // YAML and editors disagree on whether a lone carriage return ends a line.
    if !text.replace("\r\n", "").contains('\r') {
        let line = above.matches('\n').count() + 1;
        assert_eq!(at.line as usize, line, "the line of {place:?}");
        let column = above.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        assert_eq!(at.column as usize, column, "the column of {place:?}");
    }
}
