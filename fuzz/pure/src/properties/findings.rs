//! What holds of findings in a file.

use toolhost_manifest::bundle::{Diagnostic, Place, YamlSource};

use super::shown;

/// Most findings: of errors and of remarks, and one that says how many are left out.
const MOST: usize = 2_001;

/// Longest message, in bytes: it may name a place 64 levels deep.
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
        shown::is_one_line(&finding.message, MESSAGE_MAX);
        assert!(!finding.help.is_empty());
        shown::is_one_line(&finding.help, HELP_MAX);
        is_in(&finding.place, source);
        for related in &finding.related {
            shown::is_one_line(&related.message, HELP_MAX);
            is_in(&related.place, source);
        }
        let at = finding.place.position.map(|at| at.span.offset);
        assert!(before <= at, "findings out of order: {findings:?}");
        before = at;
        shown::is_one_line(&finding.to_string(), MESSAGE_MAX + PATH_MAX);
        assert!(serde_json::to_string(finding).is_ok());
    }
}

/// A place lies within the text, at a character's beginning; its line and column say the same.
pub(super) fn is_in(place: &Place, source: &YamlSource) {
    shown::is_one_line(&place.document_path, PATH_MAX);
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
    // A lone carriage return ends a line for some and not for others.
    if !text.replace("\r\n", "").contains('\r') {
        let line = above.matches('\n').count() + 1;
        assert_eq!(at.line as usize, line, "the line of {place:?}");
        let column = above.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        assert_eq!(at.column as usize, column, "the column of {place:?}");
    }
}
